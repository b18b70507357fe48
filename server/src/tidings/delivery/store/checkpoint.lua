-- KEYS[1]: up to where a chat was handled. ARGV: first and last of what was handled now, seconds to keep the mark.
-- Moves only if there is no hole between the mark and `first`. Returns the mark as it is then.
local mark = redis.call('GET', KEYS[1])
local first, last = tonumber(ARGV[1]), tonumber(ARGV[2])
if mark then
  mark = tonumber(mark)
  if mark < first - 1 then
    return mark
  end
  last = math.max(mark, last)
end
redis.call('SET', KEYS[1], string.format('%.0f', last), 'EX', ARGV[3])
return last

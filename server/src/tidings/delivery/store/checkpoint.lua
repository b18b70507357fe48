-- KEYS[1]: the delivery checkpoint of a chat. ARGV: first and last processed sequence, TTL in seconds.
-- Advances only if there is no gap between the checkpoint and `first`. Returns the resulting checkpoint.
local checkpoint = redis.call('GET', KEYS[1])
local first, last = tonumber(ARGV[1]), tonumber(ARGV[2])
if checkpoint then
  checkpoint = tonumber(checkpoint)
  if checkpoint < first - 1 then
    return checkpoint
  end
  last = math.max(checkpoint, last)
end
redis.call('SET', KEYS[1], string.format('%.0f', last), 'EX', ARGV[3])
return last

-- KEYS[1]: a user's routes. ARGV: gateway, lease in ms, then device and epoch of each route that is to live on.
-- Returns for each 0: it does; 1: it is gone, or was for a while; 2: the device is elsewhere by now.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local answers, renewed = {}, false
for i = 3, #ARGV, 2 do
  local route = redis.call('HGET', KEYS[1], ARGV[i])
  local answer = 1
  if route then
    local gateway, epoch, ends = string.match(route, '^(%S+) (%d+) (%d+)$')
    if gateway ~= ARGV[1] or epoch ~= ARGV[i + 1] then
      answer = 2
    elseif tonumber(ends) > now_ms then
      answer, renewed = 0, true
      redis.call('HSET', KEYS[1], ARGV[i], string.format('%s %s %.0f', gateway, epoch, now_ms + tonumber(ARGV[2])))
    end
  end
  answers[#answers + 1] = answer
end
if renewed then
  redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[2]), redis.call('PTTL', KEYS[1])))
end
return answers

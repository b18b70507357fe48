-- KEYS: routes and presence of a user. ARGV: device, gateway, epoch, TTL of the presence in ms, 1 if its gateway closed it.
-- Deletes the route if gateway and epoch match. Returns the number of deleted routes.
local route = redis.call('HGET', KEYS[1], ARGV[1])
local wanted = ARGV[2] .. ' ' .. ARGV[3] .. ' '
if not route or string.sub(route, 1, #wanted) ~= wanted then
  return 0
end
local time = redis.call('TIME')
local now_ms = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('HSET', KEYS[2], 'seen', now_ms)
if ARGV[5] == '1' then
  redis.call('HSET', KEYS[2], 'closed', now_ms)
end
redis.call('HDEL', KEYS[2], 'away:' .. ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return redis.call('HDEL', KEYS[1], ARGV[1])

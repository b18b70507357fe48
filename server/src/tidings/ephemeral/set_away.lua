-- KEYS: routes and presence of a user. ARGV: device, epoch of its route, 1 to set its away flag, 0 to clear it.
-- Changes nothing if the route does not exist any more. Returns whether something has changed.
local route = redis.call('HGET', KEYS[1], ARGV[1])
if not route or string.match(route, '^%S+ (%d+) ') ~= ARGV[2] then
  return 0
end
local field = 'away:' .. ARGV[1]
if ARGV[3] ~= '1' then
  return redis.call('HDEL', KEYS[2], field)
end
local before = redis.call('HGET', KEYS[2], field)
redis.call('HSET', KEYS[2], field, ARGV[2])
return before == ARGV[2] and 0 or 1

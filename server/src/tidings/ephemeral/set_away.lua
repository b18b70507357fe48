-- KEYS: a user's routes, and what is known of his presence. ARGV: device, epoch of its route, 1 if it is away.
-- A route that is not there any more changes nothing. Returns whether something has changed.
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

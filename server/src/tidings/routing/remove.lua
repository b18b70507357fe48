-- KEYS[1]: a user's routes. ARGV: device, gateway, epoch. Deletes this very route and no other; returns how many.
local route = redis.call('HGET', KEYS[1], ARGV[1])
local wanted = ARGV[2] .. ' ' .. ARGV[3] .. ' '
if route and string.sub(route, 1, #wanted) == wanted then
  return redis.call('HDEL', KEYS[1], ARGV[1])
end
return 0

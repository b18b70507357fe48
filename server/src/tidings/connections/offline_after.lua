-- KEYS: routes and presence of a user. The presence has "seen", when a device was last connected, and "closed", when a
-- gateway last closed a route itself. ARGV: how long a user may take to reconnect after their gateway vanished, in ms.
-- Returns -1 if a device is connected; else how long to wait until the user counts as offline, in ms.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if tonumber(string.match(all[i + 1], ' (%d+)$')) > now_ms then
    return -1
  end
end
local known = redis.call('HMGET', KEYS[2], 'seen', 'closed')
if not known[1] or (known[2] and tonumber(known[2]) >= tonumber(known[1])) then
  return 0
end
return math.max(0, tonumber(known[1]) + tonumber(ARGV[1]) - now_ms)

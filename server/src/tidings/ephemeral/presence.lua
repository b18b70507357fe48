-- KEYS: routes and presence of a user. The presence has "seen", and "away:<device>" with the epoch of the route on which
-- the device reported it; with another epoch the field is ignored.
-- Returns "online" or "away"; or "offline" and, if known, when a device was last connected and how long ago, in ms.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local status = 'offline'
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local epoch, ends = string.match(all[i + 1], '^%S+ (%d+) (%d+)$')
  if tonumber(ends) > now_ms then
    if redis.call('HGET', KEYS[2], 'away:' .. all[i]) ~= epoch then
      return { 'online' }
    end
    status = 'away'
  end
end
local seen = status == 'offline' and redis.call('HGET', KEYS[2], 'seen')
if not seen then
  return { status }
end
return { status, seen, string.format('%.0f', math.max(0, now_ms - tonumber(seen))) }

-- Registers the route of a device.
-- KEYS[1]: the routes of a user, a hash from device to "<gateway> <epoch> <end of lease, ms>".
-- KEYS[2]: the presence of the user; its field "seen" is when a device was last connected, in ms.
-- ARGV: device, gateway, lease in ms, epoch of the route that this socket had before (0: new socket), TTL of KEYS[2] in ms.
-- Returns the epoch, then gateway and epoch of the route that was replaced, if any. Epoch 0: the device has the route of
-- another socket, and nothing was changed, because only a new socket replaces it.
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now_ms = math.floor(now_us / 1000)

local all, before = redis.call('HGETALL', KEYS[1]), nil
for i = 1, #all, 2 do
  if all[i] == ARGV[1] then
    before = all[i + 1]
  elseif tonumber(string.match(all[i + 1], ' (%d+)$')) <= now_ms then
    -- Race: the gateway of this expired route renews it after the delete. It registers the device again, as it does if
    -- it finds the route expired.
    redis.call('HDEL', KEYS[1], all[i])
  end
end

local epoch, gateway, old = now_us, false, false
if before then
  gateway, old = string.match(before, '^(%S+) (%d+) ')
  if ARGV[4] ~= '0' and (gateway ~= ARGV[2] or old ~= ARGV[4]) then
    return { '0', gateway, old }
  end
  -- The clock of Redis can be set back. A newer route must always have the higher epoch.
  epoch = math.max(epoch, tonumber(old) + 1)
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %.0f %.0f', ARGV[2], epoch, now_ms + tonumber(ARGV[3])))
-- Race: another gateway, with a longer lease, registered a device of this user. A shorter TTL of the key would delete
-- its route early.
redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[3]), redis.call('PTTL', KEYS[1])))
redis.call('HSET', KEYS[2], 'seen', string.format('%.0f', now_ms))
redis.call('HDEL', KEYS[2], 'closed')
redis.call('PEXPIRE', KEYS[2], ARGV[5])
if not before then
  return { string.format('%.0f', epoch) }
end
return { string.format('%.0f', epoch), gateway, old }

-- KEYS[1]: a user's routes, a hash of "<gateway> <epoch> <lease end, ms>" by device.
-- KEYS[2]: what is known of his presence; "seen" in it is when he was last there, in ms.
-- ARGV: device, gateway, lease in ms, and for a socket that had a route before the epoch of that (0: it is new).
-- Returns the epoch, then gateway and epoch of the route that it replaces, if any. Epoch 0: another socket's route
-- stands there, and only a new socket takes over from it. ARGV[5]: how long to keep what is known, in ms.
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now_ms = math.floor(now_us / 1000)

local all, before = redis.call('HGETALL', KEYS[1]), nil
for i = 1, #all, 2 do
  if all[i] == ARGV[1] then
    before = all[i + 1]
  elseif tonumber(string.match(all[i + 1], ' (%d+)$')) <= now_ms then
    redis.call('HDEL', KEYS[1], all[i])
  end
end

local epoch, gateway, old = now_us, false, false
if before then
  gateway, old = string.match(before, '^(%S+) (%d+) ')
  if ARGV[4] ~= '0' and (gateway ~= ARGV[2] or old ~= ARGV[4]) then
    return { '0', gateway, old }
  end
  -- clocks are set back now and then: a newer route must never have the lower epoch
  epoch = math.max(epoch, tonumber(old) + 1)
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %.0f %.0f', ARGV[2], epoch, now_ms + tonumber(ARGV[3])))
redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[3]), redis.call('PTTL', KEYS[1])))
redis.call('HSET', KEYS[2], 'seen', string.format('%.0f', now_ms))
redis.call('PEXPIRE', KEYS[2], ARGV[5])
if not before then
  return { string.format('%.0f', epoch) }
end
return { string.format('%.0f', epoch), gateway, old }

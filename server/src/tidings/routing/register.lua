-- KEYS[1]: a user's routes, a hash of "<gateway> <epoch> <lease end, ms>" by device.
-- ARGV: device, gateway, lease in ms. Returns the epoch, then gateway and epoch of the route that it replaces, if any.
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
  -- clocks are set back now and then: a newer route must never have the lower epoch
  epoch = math.max(epoch, tonumber(old) + 1)
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %.0f %.0f', ARGV[2], epoch, now_ms + tonumber(ARGV[3])))
redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[3]), redis.call('PTTL', KEYS[1])))
if not before then
  return { string.format('%.0f', epoch) }
end
return { string.format('%.0f', epoch), gateway, old }

-- KEYS[1]: the routes of a user. Returns device, gateway and epoch of each route whose lease has not expired.
local all = redis.call('HGETALL', KEYS[1])
if #all == 0 then
  return {}
end
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local found = {}
for i = 1, #all, 2 do
  local gateway, epoch, ends = string.match(all[i + 1], '^(%S+) (%d+) (%d+)$')
  if tonumber(ends) > now_ms then
    found[#found + 1] = all[i]
    found[#found + 1] = gateway
    found[#found + 1] = epoch
  end
end
return found

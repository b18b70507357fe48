-- KEYS: routes and presence of a user.
-- ARGV: gateway, lease in ms, TTL of the presence in ms, then device and epoch of each route to renew.
-- Returns per route: 0 renewed; 1 missing, or its lease had expired; 2 the device has a newer route.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local answers, renewed = {}, false
for i = 4, #ARGV, 2 do
  local route = redis.call('HGET', KEYS[1], ARGV[i])
  -- Race: a worker looks up the routes after a lease expired and before this renewal, and pushes nothing. An expired
  -- route therefore counts as missing, so that its device resumes.
  local answer = 1
  if route then
    local gateway, epoch, ends = string.match(route, '^(%S+) (%d+) (%d+)$')
    if gateway ~= ARGV[1] or epoch ~= ARGV[i + 1] then
      answer = 2
    elseif tonumber(ends) > now_ms then
      answer, renewed = 0, true
      redis.call('HSET', KEYS[1], ARGV[i], string.format('%s %s %.0f', gateway, epoch, now_ms + tonumber(ARGV[2])))
    end
  end
  answers[#answers + 1] = answer
end
if renewed then
  redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[2]), redis.call('PTTL', KEYS[1])))
  redis.call('HSET', KEYS[2], 'seen', string.format('%.0f', now_ms))
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
return answers

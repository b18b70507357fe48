-- KEYS[1]: gateways, a sorted set by the end of their registration in ms. ARGV: length of a claim in ms, most gateways.
-- Returns gateways whose registration has ended, and claims them: they are returned again only after the claim.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local gone = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now_ms), 'LIMIT', 0, ARGV[2])
for _, gateway in ipairs(gone) do
  redis.call('ZADD', KEYS[1], string.format('%.0f', now_ms + tonumber(ARGV[1])), gateway)
end
return gone

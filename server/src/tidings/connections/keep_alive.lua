-- KEYS[1]: gateways, a sorted set by the end of their registration in ms. ARGV: gateway, length of the registration in ms.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call('ZADD', KEYS[1], string.format('%.0f', now_ms + tonumber(ARGV[2])), ARGV[1])

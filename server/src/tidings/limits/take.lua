-- KEYS: the buckets, each "<level> <at_us>" at its last use. A bucket without a key is full.
-- ARGV: for each bucket its capacity, its refill per microsecond and the price, in units. All are whole numbers
-- below 2^53, so arithmetic with doubles is exact; larger sums are cut to the capacity.
-- Returns 1 or 0, then the level of each bucket afterwards. Writes nothing unless every bucket has enough.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local stored = redis.call('MGET', unpack(KEYS))
local levels, enough = {}, true
for i = 1, #KEYS do
  local capacity, refill, price = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  local level = capacity
  if stored[i] then
    local left, at = string.match(stored[i], '^(%d+) (%d+)$')
    local elapsed = math.max(0, now - tonumber(at))
    level = math.min(capacity, tonumber(left) + elapsed * refill)
  end
  levels[i] = level
  enough = enough and level >= price
end

local answer = { enough and 1 or 0 }
for i = 1, #KEYS do
  if enough then
    local capacity, refill, price = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
    levels[i] = levels[i] - price
    -- The key expires a minute after the bucket is full, because clocks are set back now and then.
    local keep_ms = math.ceil((capacity - levels[i]) / refill / 1000) + 60000
    redis.call('SET', KEYS[i], string.format('%.0f %.0f', levels[i], now), 'PX', string.format('%.0f', keep_ms))
  end
  answer[i + 1] = levels[i]
end
return answer

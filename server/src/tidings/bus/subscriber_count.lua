-- KEYS[1]: a channel. Returns how many listen on it, as a publish would find them.
return redis.call('PUBSUB', 'SHARDNUMSUB', KEYS[1])[2]

-- KEYS[1]: a channel. Returns the number of subscribers that a publish would reach.
return redis.call('PUBSUB', 'SHARDNUMSUB', KEYS[1])[2]

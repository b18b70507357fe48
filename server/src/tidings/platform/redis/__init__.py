"""A client for Redis and Valkey, single node or cluster: commands, Lua scripts, sharded pub/sub.

Start at `client.RedisClient`. docs/explanation/redis-client.md says why it exists and how it handles failures.
"""

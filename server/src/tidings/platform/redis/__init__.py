"""Redis or Valkey, one node or a cluster: commands, Lua by file, sharded pub/sub. `client.Redis` is the door.

Why it is ours and how it behaves in trouble: docs/explanation/redis-client.md.
"""

"""How often somebody may come: token buckets, shared through Redis, or this process's own while Redis is away."""

"""Rate limits: token buckets in Redis, or in this process's memory while Redis is unavailable."""

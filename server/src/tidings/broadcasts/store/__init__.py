"""Broadcasts in DynamoDB, and snapshots of their logs in Redis."""

from tidings.broadcasts.store.log import DynamoLog
from tidings.broadcasts.store.profiles import DynamoProfiles
from tidings.broadcasts.store.segments import DynamoSegments
from tidings.broadcasts.store.snapshots import NoSnapshots, RedisSnapshots

__all__ = ["DynamoLog", "DynamoProfiles", "DynamoSegments", "NoSnapshots", "RedisSnapshots"]

"""Broadcasts in DynamoDB, and snapshots of their logs in Redis."""

from tidings.broadcasts.store.log import DynamoBroadcastLog
from tidings.broadcasts.store.profiles import DynamoProfileStore
from tidings.broadcasts.store.segments import DynamoSegmentStore
from tidings.broadcasts.store.snapshots import NoSnapshots, RedisSnapshots

__all__ = ["DynamoBroadcastLog", "DynamoProfileStore", "DynamoSegmentStore", "NoSnapshots", "RedisSnapshots"]

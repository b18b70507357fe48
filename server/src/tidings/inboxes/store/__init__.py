"""Inboxes in DynamoDB: what they are, what stands in them, what notifications say."""

from tidings.inboxes.broadcasts.log_store import DynamoReadTracker
from tidings.inboxes.store.config import DynamoDefaultsStore, DynamoInboxStore, RedisConfigInvalidation
from tidings.inboxes.store.contents import DynamoContentStore
from tidings.inboxes.store.repository import DynamoInboxRepository

__all__ = [
    "DynamoContentStore",
    "DynamoDefaultsStore",
    "DynamoInboxRepository",
    "DynamoInboxStore",
    "DynamoReadTracker",
    "RedisConfigInvalidation",
]

"""Inboxes in DynamoDB: configurations, rows and counts, contents."""

from tidings.inboxes.broadcasts.log_store import DynamoReadTracker
from tidings.inboxes.store.config import DynamoInboxStore, RedisConfigInvalidation
from tidings.inboxes.store.contents import DynamoContentStore
from tidings.inboxes.store.erasure import DynamoInboxEraser
from tidings.inboxes.store.preferences import DynamoPreferenceStore
from tidings.inboxes.store.repository import DynamoInboxRepository

__all__ = [
    "DynamoContentStore",
    "DynamoInboxEraser",
    "DynamoInboxRepository",
    "DynamoInboxStore",
    "DynamoPreferenceStore",
    "DynamoReadTracker",
    "RedisConfigInvalidation",
]

"""Inboxes in DynamoDB: what they are, what stands in them, what notices say."""

from tidings.notices.store.config_news import RedisConfigInvalidation
from tidings.notices.store.contents import DynamoContentStore
from tidings.notices.store.defaults import DynamoDefaultsStore
from tidings.notices.store.inboxes import DynamoInboxStore
from tidings.notices.store.readers import DynamoReadTracker
from tidings.notices.store.shelf import DynamoInboxRepository

__all__ = [
    "DynamoContentStore",
    "DynamoDefaultsStore",
    "DynamoInboxRepository",
    "DynamoInboxStore",
    "DynamoReadTracker",
    "RedisConfigInvalidation",
]

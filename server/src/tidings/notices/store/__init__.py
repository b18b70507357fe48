"""Inboxes in DynamoDB: what they are, what stands in them, what notices say."""

from tidings.notices.store.config_news import RedisConfigNews
from tidings.notices.store.contents import DynamoContents
from tidings.notices.store.defaults import DynamoDefaults
from tidings.notices.store.inboxes import DynamoInboxes
from tidings.notices.store.readers import DynamoReaders
from tidings.notices.store.shelf import DynamoShelf

__all__ = [
    "DynamoContents",
    "DynamoDefaults",
    "DynamoInboxes",
    "DynamoReaders",
    "DynamoShelf",
    "RedisConfigNews",
]

"""Chats and memberships in DynamoDB."""

from tidings.chats.store.rows import DynamoRows
from tidings.chats.store.shelf import DynamoShelf

__all__ = ["DynamoRows", "DynamoShelf"]

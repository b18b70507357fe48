"""Chats and memberships in DynamoDB."""

from tidings.chats.store.rows import DynamoRows

__all__ = ["DynamoRows"]

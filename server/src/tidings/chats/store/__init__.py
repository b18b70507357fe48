"""Chats and memberships in DynamoDB."""

from tidings.chats.store.rows import DynamoChatStore
from tidings.chats.store.shelf import DynamoChatReader

__all__ = ["DynamoChatReader", "DynamoChatStore"]

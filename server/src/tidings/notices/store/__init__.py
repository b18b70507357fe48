"""Inboxes in DynamoDB."""

from tidings.notices.store.shelf import DynamoShelf

__all__ = ["DynamoShelf"]

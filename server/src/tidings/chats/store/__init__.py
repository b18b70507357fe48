"""Chats, memberships and invites in DynamoDB."""

from tidings.chats.store.chats import DynamoChatStore
from tidings.chats.store.erasure import DynamoMembershipEraser
from tidings.chats.store.invites import DynamoInviteStore

__all__ = ["DynamoChatStore", "DynamoInviteStore", "DynamoMembershipEraser"]

"""How long a chat keeps the content of its messages, and how far the sweeper is in its log."""

from dataclasses import dataclass, fields

from msgspec import Struct


class ChatRetention(Struct, frozen=True, kw_only=True):
    """The part of a chat's row that concerns retention.

    days: the chat's own limit; None: that of the tenant for chats of its type.
    is_held: a legal hold of the chat.
    expired_up_to: all messages up to this sequence have expired.
    oldest_ms: no entry after `expired_up_to` is older than this. None: unknown.
    archived_up_to, unarchived_ms: the same for the archive.
    """

    days: int | None = None
    is_held: bool = False
    expired_up_to: int = 0
    oldest_ms: int | None = None
    archived_up_to: int = 0
    unarchived_ms: int | None = None


@dataclass(slots=True)
class RetentionStats:
    """What sweeps have done. `chats`: those whose limit was compared; `due`: those whose log was read."""

    chats: int = 0
    due: int = 0
    expired: int = 0
    failed: int = 0

    def add(self, other: "RetentionStats") -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

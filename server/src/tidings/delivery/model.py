"""What a chat-list row knows. Every part of it only goes forward, each by a sequence of its own.

So rows can be written by anybody, in any order and any number of times, and come out the same.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple, NewType

from msgspec import Meta, Struct

from tidings.chats.model import ChatType
from tidings.kernel.ids import ChatId, ChatKey, MessageId, TenantId, UserId
from tidings.messages.model import Entry, EntryKind


class LogPosition(NamedTuple):
    """A place in a log: its sequence, and how many messages there are up to it."""

    sequence: int
    ordinal: int


class JoinPosition(NamedTuple):
    sequence: int
    ordinal: int
    at_ms: int


class LastMessageRef(Struct, frozen=True, kw_only=True, gc=False):
    """The newest message that a row shows. `version` is the entry that says last what it says: itself or a change.

    `preview` is sealed. None: there is nothing to read, because it expires (`expires_at_s`) or was redacted.
    """

    sequence: int
    version: int
    at_ms: int
    sender: UserId
    preview: bytes | None = None
    expires_at_s: int | None = None

    @property
    def rank(self) -> tuple[int, int]:
        return self.sequence, self.version


class RowUpdate(Struct, frozen=True, kw_only=True, gc=False):
    """What entries mean for one row, and what a row has of them: of every kind the newest. None: none of this kind."""

    head: LogPosition | None = None
    shown: LastMessageRef | None = None
    own: LogPosition | None = None
    joined: JoinPosition | None = None
    removed: int | None = None
    is_large: bool = False
    other: UserId | None = None
    """In a direct chat: who the other one is. Never changes."""
    epoch: int = 0
    """Under which it was last written. What is of another epoch may know entries that the log lost."""


class ChatRow(Struct, frozen=True, kw_only=True, gc=False):
    """A user's row of a chat: what delivery wrote (`known`), how far the user got, and what he made of the chat."""

    chat: ChatId
    known: RowUpdate
    delivered: LogPosition | None = None
    read: LogPosition | None = None
    read_at_ms: int | None = None
    """When the read watermark last moved."""
    muted_until_ms: int | None = None
    is_pinned: bool = False
    is_archived: bool = False

    @property
    def read_up_to(self) -> int:
        """Who writes has read what stands above: unread says the same."""
        return max((mark.sequence for mark in (self.read, self.known.own) if mark), default=0)

    @property
    def delivered_up_to(self) -> int:
        return max(self.delivered.sequence if self.delivered else 0, self.read_up_to)

    def read_message_at_ms(self, message: Entry) -> int | None:
        """Return when the user marked this message as read; None if that is not known.

        A row keeps only the last move of its read watermark, so the time is known of the newest message that the
        watermark covers. It may have covered older messages before.
        """
        is_newest_read = self.read is not None and self.read.ordinal == message.ordinal
        return self.read_at_ms if is_newest_read else None


class WatermarkUpdate(NamedTuple):
    """A row after a watermark was to be raised. `has_risen`: it was this call that raised it, or it may have been."""

    row: ChatRow
    has_risen: bool


class WatermarkAdvanced(NamedTuple):
    """A member got further, and now stands there. `is_read`: it was `read` that rose, which his own devices show too."""

    chat: ChatKey
    user: UserId
    delivered: int
    read: int
    is_read: bool
    is_large: bool


class ChatFlags(Struct, frozen=True, kw_only=True):
    """What a user makes of a chat. None: leave it. `muted_until_ms` 0: not muted."""

    muted_until_ms: int | None = None
    is_pinned: bool | None = None
    is_archived: bool | None = None


class LastMessageState(StrEnum):
    ACTIVE = "active"
    EPHEMERAL = "ephemeral"
    EXPIRED = "expired"
    REDACTED = "redacted"
    UNREADABLE = "unreadable"


class LastMessage(Struct, frozen=True, kw_only=True):
    """The message that stands under a chat's name. `text` only where there is something to read."""

    sequence: int
    at_ms: int
    sender: UserId
    state: LastMessageState
    text: str = ""


class ChatListItem(Struct, frozen=True, kw_only=True):
    """A chat as its list shows it. `members`: some of the others, a few at most; of a direct chat the other one."""

    chat: ChatKey
    type: ChatType
    at_ms: int
    unread: int
    is_member: bool
    last: LastMessage | None = None
    name: str | None = None
    member_count: int | None = None
    members: tuple[UserId, ...] = ()
    head_sequence: int = 0
    message_count: int = 0
    read_sequence: int = 0
    delivered_sequence: int = 0
    muted_until_ms: int | None = None
    is_pinned: bool = False
    is_archived: bool = False
    is_large: bool = False


class ListCursor(NamedTuple):
    """Where a page ended: below this chat, as it stood then."""

    is_pinned: bool
    at_ms: int
    chat: ChatId


class UnreadExplanation(NamedTuple):
    """How an unread count comes about: messages up to `head`, less those up to the highest of the other marks.

    `counts_after`: the name of that mark; None: the user has none of them. Each mark names the entry it comes from.
    """

    unread: int
    head: LogPosition
    read: LogPosition | None
    own: LogPosition | None
    joined: LogPosition | None
    counts_after: Literal["read", "own", "joined"] | None


class MemberProgress(NamedTuple):
    """What a member list shows of a member. In a large chat, nobody's watermarks are shown: they are None."""

    joined_at_ms: int | None
    delivered: int | None = None
    read: int | None = None
    read_at_ms: int | None = None


class DeliveryStatus(StrEnum):
    SENT = "SENT"
    DELIVERED = "DELIVERED"
    READ = "READ"


class MessageStatus(Struct, frozen=True, kw_only=True):
    """Of one message. `read_by` are in `delivered_to` too. `has_receipts` False: a large chat, nobody counts there."""

    sequence: int
    status: DeliveryStatus
    delivered_to: tuple[UserId, ...] = ()
    read_by: tuple[UserId, ...] = ()
    read_at_ms: tuple[tuple[UserId, int], ...] = ()
    """Of those in `read_by` of whom it is known."""
    has_receipts: bool = True


OfflineQueueKey = NewType("OfflineQueueKey", str)
"""Where a message stands in a user's queue; they sort by time."""


class OfflineQueueBatch(NamedTuple):
    """Messages of one chat, for a user who has no route."""

    chat: ChatKey
    user: UserId
    messages: tuple[Entry, ...]

    @property
    def person(self) -> tuple[TenantId, UserId]:
        return self.chat.tenant, self.user


class OfflineQueueMessage(NamedTuple):
    """A message in a user's queue. Its content is sealed; what expires has none here, it stands apart."""

    key: OfflineQueueKey
    chat: ChatKey
    entry: Entry


class OfflineQueuePage(NamedTuple):
    """Some of a queue, oldest first. `after` goes into the next call; None: this was the end."""

    waiting: tuple[OfflineQueueMessage, ...]
    after: OfflineQueueKey | None


class OfflineMessage(Struct, frozen=True, kw_only=True):
    """A message for a user none of whose devices could be reached. May come more than once: `message_id` tells.

    `badge`: messages that the user has not read, in all chats. `preview`: the first words, if the tenant allows it.
    `collapse_key`: notifications with the same one stand for each other, the newer replaces the older.
    """

    version: Literal[1] = 1
    tenant: TenantId
    recipient: UserId
    chat: ChatId
    message_id: MessageId
    sequence: Annotated[int, Meta(ge=1)]
    sender: UserId
    kind: EntryKind
    at: str
    badge: Annotated[int, Meta(ge=0)]
    collapse_key: str
    is_muted: bool = False
    is_mentioned: bool = False
    preview: str | None = None


@dataclass(slots=True)
class DeliveryStats:
    """`deferred`: entries whose truth was written and nothing else, because Redis did not answer; they come again."""

    handled: int = 0
    repeated: int = 0
    backfilled: int = 0
    pushed: int = 0
    stale_route: int = 0
    queued: int = 0
    resume_signalled: int = 0
    offline: int = 0
    deferred: int = 0

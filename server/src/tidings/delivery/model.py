"""Chat rows, watermarks, and the offline queue.

Each part of a chat row has its own sequence and only moves forward. So any worker may write rows, in any order and any
number of times, with the same result.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple, NewType

from msgspec import Meta, Struct

from tidings.chats.model import ChatType
from tidings.kernel.ids import ChatId, ChatKey, MessageId, TenantId, UserId
from tidings.messages.model import Entry, EntryKind


class LogPosition(NamedTuple):
    """A position in a log: the sequence, and the number of messages up to it."""

    sequence: int
    ordinal: int


class JoinPosition(NamedTuple):
    sequence: int
    ordinal: int
    at_ms: int


class LastMessageRef(Struct, frozen=True, kw_only=True, gc=False):
    """The newest message that a row shows. `version`: the sequence of the message or of its last change.

    `preview` is encrypted. It is None for an ephemeral (`expires_at_s`) or redacted message.
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
    """The newest value of each part of a row; as an update or as stored. None: not changed, or never set.

    The head of a group has only `head`, `shown`, `removed` (the last leave of any member), `is_large`, `entry_at_ms`,
    `quiet_at_ms` and `epoch`.
    """

    head: LogPosition | None = None
    shown: LastMessageRef | None = None
    own: LogPosition | None = None
    joined: JoinPosition | None = None
    removed: int | None = None
    is_large: bool = False
    other: UserId | None = None
    """The other user of a direct chat. Never changes."""
    entry_at_ms: int | None = None
    """The time of the entry at `head`. Only in heads."""
    quiet_at_ms: int | None = None
    """In a row: `head` is that of the group, so readers skip the head; the time of its last message, or 0.

    In a head: rows of members may be such copies. A worker raises the rows of all members before it raises this head.
    """
    epoch: int = 0
    """The epoch of the last write. A row of another epoch may name entries that a restore removed from the log."""


type NotifyMode = Literal["all", "mentions", "none"]
"""The messages of a chat that notify a user."""


class ChatRow(Struct, frozen=True, kw_only=True, gc=False):
    """A user's row of a chat: the part that delivery writes (`known`), the user's watermarks and flags."""

    chat: ChatId
    known: RowUpdate
    delivered: LogPosition | None = None
    read: LogPosition | None = None
    read_at_ms: int | None = None
    """When the read watermark last moved."""
    muted_until_ms: int | None = None
    is_pinned: bool = False
    is_archived: bool = False
    notify: NotifyMode | None = None
    """The user's choice for push notifications of the chat. None: the default in their preferences."""

    @property
    def read_up_to(self) -> int:
        """Return the read sequence. A user who sends a message has read everything before it."""
        return max((mark.sequence for mark in (self.read, self.known.own) if mark), default=0)

    @property
    def delivered_up_to(self) -> int:
        return max(self.delivered.sequence if self.delivered else 0, self.read_up_to)

    def read_message_at_ms(self, message: Entry) -> int | None:
        """Return when the user marked this message as read; None if unknown.

        A row stores only the time of the last advance. So the time is known only for the newest message below the read
        watermark.
        """
        is_newest_read = self.read is not None and self.read.ordinal == message.ordinal
        return self.read_at_ms if is_newest_read else None


class WatermarkUpdate(NamedTuple):
    """The row after an attempt to raise a watermark. `has_risen`: this call raised it, or may have raised it."""

    row: ChatRow
    has_risen: bool


class WatermarkAdvanced(NamedTuple):
    """A member's watermarks after one advanced; 0 means unchanged or none.

    `is_read`: the read watermark advanced; the user's devices show it.
    """

    chat: ChatKey
    user: UserId
    delivered: int
    read: int
    is_read: bool
    is_large: bool


class ChatFlags(Struct, frozen=True, kw_only=True):
    """A user's flags of a chat. None: unchanged. `muted_until_ms` 0: not muted."""

    muted_until_ms: int | None = None
    is_pinned: bool | None = None
    is_archived: bool | None = None
    notify: NotifyMode | None = None


class LastMessageState(StrEnum):
    ACTIVE = "active"
    EPHEMERAL = "ephemeral"
    EXPIRED = "expired"
    REDACTED = "redacted"
    ERASED = "erased"
    UNREADABLE = "unreadable"


class LastMessage(Struct, frozen=True, kw_only=True):
    """The last message of a chat in the list. `text` is set only if the state is `ACTIVE`."""

    sequence: int
    at_ms: int
    sender: UserId
    state: LastMessageState
    text: str = ""


class ChatListItem(Struct, frozen=True, kw_only=True):
    """A chat as the list shows it. `members`: at most a few of the other members."""

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
    notify: NotifyMode | None = None
    is_large: bool = False


class ListCursor(NamedTuple):
    """The sort position of the last chat of a page."""

    is_pinned: bool
    at_ms: int
    chat: ChatId


class UnreadExplanation(NamedTuple):
    """The derivation of an unread count: messages up to `head`, minus those up to the highest other position.

    `counts_after`: the name of that position; None if the user has none.
    """

    unread: int
    head: LogPosition
    read: LogPosition | None
    own: LogPosition | None
    joined: LogPosition | None
    counts_after: Literal["read", "own", "joined"] | None


class UnreadTotals(NamedTuple):
    """Unread messages of a user in all chats, and the number of chats that have some."""

    messages: int
    chats: int


class MemberProgress(NamedTuple):
    """A member's join time and watermarks, for a member list. Watermarks are None in large chats."""

    joined_at_ms: int | None
    delivered: int | None = None
    read: int | None = None
    read_at_ms: int | None = None


class DeliveryStatus(StrEnum):
    SENT = "SENT"
    DELIVERED = "DELIVERED"
    READ = "READ"


class MessageStatus(Struct, frozen=True, kw_only=True):
    """The status of one message. `delivered_to` includes `read_by`. `has_receipts` is False in large chats."""

    sequence: int
    status: DeliveryStatus
    delivered_to: tuple[UserId, ...] = ()
    read_by: tuple[UserId, ...] = ()
    read_at_ms: tuple[tuple[UserId, int], ...] = ()
    """Read times of the users in `read_by`, where known."""
    has_receipts: bool = True


OfflineQueueKey = NewType("OfflineQueueKey", str)
"""The key of a message in a user's offline queue. Keys sort by time."""


class OfflineQueueBatch(NamedTuple):
    """Messages of one chat, for a user without a route."""

    chat: ChatKey
    user: UserId
    messages: tuple[Entry, ...]

    @property
    def user_key(self) -> tuple[TenantId, UserId]:
        return self.chat.tenant, self.user


class OfflineQueueMessage(NamedTuple):
    """A message in a user's queue. `content` is encrypted, and None for an ephemeral message."""

    key: OfflineQueueKey
    chat: ChatKey
    entry: Entry


class OfflineQueuePage(NamedTuple):
    """A page of a queue, oldest first. `after` is the cursor of the next page, None at the end."""

    waiting: tuple[OfflineQueueMessage, ...]
    after: OfflineQueueKey | None


class OfflineCheck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Users who may be offline, and messages that they may have missed: decide later whether to notify them.

    With `chat`, its entries `first` to `last`. Without, the messages of all chats since `since_ms`.
    `at_ms`: when the check was published. `is_mention`: the entries mention the users, and the chat may be large.
    """

    tenant: TenantId
    users: Annotated[tuple[UserId, ...], Meta(min_length=1)]
    at_ms: int
    chat: ChatId | None = None
    first: Annotated[int, Meta(ge=0)] = 0
    last: Annotated[int, Meta(ge=0)] = 0
    since_ms: int = 0
    is_mention: bool = False


class OfflineMessage(Struct, frozen=True, kw_only=True):
    """An event for a user without a connected device. Events may repeat: deduplicate by `message_id`.

    `badge`: unread messages in all chats of the user. `preview`: the start of the text, if the tenant allows it.
    `collapse_key`: a newer notification replaces an older one with the same key.
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
    """Counters of a worker. `deferred`: entries whose rows are written and whose pushes are done later."""

    handled: int = 0
    repeated: int = 0
    backfilled: int = 0
    pushed: int = 0
    stale_route: int = 0
    queued: int = 0
    resume_signalled: int = 0
    offline: int = 0
    deferred: int = 0


class MissedRange(NamedTuple):
    """Entries of `(after, up_to]` that a row or head lacks: process them, then the run again."""

    after: int
    up_to: int

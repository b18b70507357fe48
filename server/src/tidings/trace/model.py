"""What can be found out of a message, and what is told of it. Its content is in neither."""

from enum import StrEnum
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from tidings.chats.model import Membership
from tidings.connections.model import GatewayId
from tidings.delivery.model import ChatRow
from tidings.kernel.ids import ChatKey, DeviceId, UserId
from tidings.messages.model import Entry, EntryKind


class DeviceRoute(NamedTuple):
    """A route as it stands now. `has_subscriber`: somebody listens at its gateway; if nobody does, the gateway is gone."""

    device: DeviceId
    gateway: GatewayId
    since_ms: int
    has_subscriber: bool


class RowWithTimes(NamedTuple):
    """A member's row, and when one of its watermarks was last moved."""

    row: ChatRow
    at_ms: int | None


class OfflineQueueItem(NamedTuple):
    """The message stands in a user's pending queue. `since_ms` None: that can't be told, because it expires."""

    since_ms: int | None


class UserEvidence(Struct, frozen=True, kw_only=True):
    """What is known of one user. `membership` None: has never been in the chat."""

    user: UserId
    membership: Membership | None
    moved: RowWithTimes | None = None
    connected: tuple[DeviceRoute, ...] = ()
    last_seen_ms: int | None = None
    """When a device of theirs was last connected. None: one is connected now, or Redis does not know."""
    queued: OfflineQueueItem | None = None


class FoundEvent(NamedTuple):
    """The message's event, where it stands in its partition."""

    offset: int
    at_ms: int


class PartitionState(Struct, frozen=True, kw_only=True):
    """The message's partition: where its log ends, how far delivery has come, and the event, if it was found.

    `searched` None: it was not looked for, because the topic no longer keeps what is that old.
    """

    partition: int
    end: int
    committed: int
    event: FoundEvent | None = None
    searched: int | None = 0

    @property
    def behind(self) -> int:
        return max(0, self.end - self.committed)


class Evidence(Struct, frozen=True, kw_only=True):
    """Everything that was found. `redis`, `kafka`: why an engine did not answer; then nothing of it is known.

    `mark`: up to where the chat was handled; None: there is none. `head`: of a large chat, as all its members see it.
    """

    chat: ChatKey
    entry: Entry
    now_ms: int
    users: tuple[UserEvidence, ...] = ()
    has_more_users: bool = False
    is_large: bool = False
    head: int | None = None
    mark: int | None = None
    topic: PartitionState | None = None
    redis: str = ""
    kafka: str = ""


class TraceOutcome(StrEnum):
    """Of the whole. `waiting`: whoever does not have it has no device connected. `unlisted`: too many to be listed."""

    ARRIVED = "arrived"
    WAITING = "waiting"
    IN_PROGRESS = "in_progress"
    UNKNOWN = "unknown"
    UNLISTED = "unlisted"


class RecipientState(StrEnum):
    """Of one recipient."""

    SENDER = "sender"
    READ = "read"
    DELIVERED = "delivered"
    NOT_ACKED = "not_acked"
    NOT_HANDLED = "not_handled"
    STALE_ROUTE = "stale_route"
    WAITING = "waiting"
    OFFLINE = "offline"
    NOT_RECIPIENT = "not_recipient"
    UNKNOWN = "unknown"


class DeviceTrace(Struct, frozen=True, kw_only=True):
    id: DeviceId
    gateway: GatewayId
    connected_since: str
    is_gateway_there: bool


class RecipientTrace(Struct, frozen=True, kw_only=True):
    """`verdict` is for people, the rest for programs. Times are spelled as everywhere; null: there is none, or unknown.

    Watermarks are the user's: which of his devices acknowledged is kept nowhere. `row_sequence` null: there is no row.
    """

    user: UserId
    state: RecipientState
    verdict: str
    notes: tuple[str, ...] = ()
    devices: tuple[DeviceTrace, ...] = ()
    row_sequence: int | None = None
    delivered_sequence: int | None = None
    read_sequence: int | None = None
    watermark_moved_at: str | None = None
    last_seen_at: str | None = None
    waiting_since: str | None = None
    is_waiting: bool = False
    muted_until: str | None = None
    is_archived: bool = False


class PublishTrace(Struct, frozen=True, kw_only=True):
    """`at`, `offset` null: the event was not found. `behind`: events of this partition that delivery has not handled."""

    verdict: str
    at: str | None = None
    partition: int | None = None
    offset: int | None = None
    behind: int | None = None


class HandlingTrace(Struct, frozen=True, kw_only=True):
    """`is_handled` null: that is not known (any more)."""

    verdict: str
    is_handled: bool | None
    mark: int | None = None


class Trace(Struct, frozen=True, kw_only=True):
    """Where a message is, the short answer first."""

    version: int = 1
    message_id: str
    tenant: str
    outcome: TraceOutcome
    verdict: str
    kind: EntryKind
    sender: UserId
    committed_at: str
    edited_at: str | None
    redacted_at: str | None
    expires_at: str | None
    is_expired: bool
    is_large: bool
    published: PublishTrace
    handled: HandlingTrace
    recipients: tuple[RecipientTrace, ...]
    has_more_recipients: bool
    cost: dict[str, float] | UnsetType = UNSET

"""Evidence about a message, and the trace that follows from it. Neither has the content."""

from enum import StrEnum
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from tidings.chats.model import ChatType, Membership, chat_type
from tidings.connections.model import GatewayId
from tidings.delivery.model import ChatRow
from tidings.kernel.ids import ChatKey, DeviceId, UserId
from tidings.messages.model import Entry, EntryKind
from tidings.push.model import PushAction, PushKind, PushOutcome, PushResult


class DeviceRoute(NamedTuple):
    """A current route. `has_subscriber`: its gateway is subscribed, so its process runs."""

    device: DeviceId
    gateway: GatewayId
    since_ms: int
    has_subscriber: bool


class RowWithTimes(NamedTuple):
    """A member's row, and when one of its watermarks last moved."""

    row: ChatRow
    at_ms: int | None


class OfflineQueueItem(NamedTuple):
    """The message is in a user's offline queue. `since_ms` is None for expiring messages: their time is unknown."""

    since_ms: int | None


class UserEvidence(Struct, frozen=True, kw_only=True):
    """Evidence about one user. `membership` is None if the user never was in the chat."""

    user: UserId
    membership: Membership | None
    moved: RowWithTimes | None = None
    connected: tuple[DeviceRoute, ...] = ()
    last_seen_ms: int | None = None
    """When a device was last connected. None: a device is connected now, or Redis does not know."""
    queued: OfflineQueueItem | None = None
    pushes: tuple[PushResult, ...] = ()
    """What happened to the push notifications, for 7 days."""


class FoundEvent(NamedTuple):
    """Position and time of the message's event in its partition."""

    offset: int
    at_ms: int


class PartitionState(Struct, frozen=True, kw_only=True):
    """The partition of the message: its end, the offset committed by delivery, and the event if it was found.

    `searched` is None if the message is older than the retention of the topic, so the event was not searched.
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
    """Everything that was found. `redis`, `kafka`: why the engine did not answer, else empty.

    `mark`: the delivery checkpoint of the chat. `head`: the delivered head of a group.
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

    @property
    def is_group(self) -> bool:
        """Whether the chat has one head for all members, and no offline queue."""
        return chat_type(self.chat.chat) is ChatType.GROUP


class TraceOutcome(StrEnum):
    """Outcome for all recipients. `waiting`: recipients without the message are offline. `unlisted`: the chat is large."""

    ARRIVED = "arrived"
    WAITING = "waiting"
    IN_PROGRESS = "in_progress"
    UNKNOWN = "unknown"
    UNLISTED = "unlisted"


class RecipientState(StrEnum):
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


class PushAttemptTrace(Struct, frozen=True, kw_only=True):
    """One request to a push provider. `status` is null without an answer; `provider_id` is the provider's own id."""

    at: str
    action: PushAction
    status: int | None
    answer: str = ""
    provider_id: str = ""


class PushTrace(Struct, frozen=True, kw_only=True):
    """The push notification to one device; `device` is null for a decision about all of them.

    `attempts`: the requests to the provider, oldest first.
    """

    device: DeviceId | None
    outcome: PushOutcome
    verdict: str
    at: str
    provider: PushKind | None = None
    attempts: tuple[PushAttemptTrace, ...] = ()


class RecipientTrace(Struct, frozen=True, kw_only=True):
    """`verdict` is for people, the other fields are for programs. Times are in RFC 3339; null means none or unknown.

    Watermarks belong to the user: which device acknowledged is not stored. `row_sequence` is null without a row.
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
    pushes: tuple[PushTrace, ...] = ()


class PublishTrace(Struct, frozen=True, kw_only=True):
    """`at` and `offset` are null if the event was not found. `behind`: unprocessed events of the partition."""

    verdict: str
    at: str | None = None
    partition: int | None = None
    offset: int | None = None
    behind: int | None = None


class HandlingTrace(Struct, frozen=True, kw_only=True):
    """`is_handled` is null if it is unknown."""

    verdict: str
    is_handled: bool | None
    mark: int | None = None


class Trace(Struct, frozen=True, kw_only=True):
    """Where a message is."""

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

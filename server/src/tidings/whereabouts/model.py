"""What can be found out of a message, and what is told of it. Its content is in neither."""

from enum import StrEnum
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from tidings.chats.model import Membership
from tidings.delivery.model import Row
from tidings.kernel.ids import ChatKey, DeviceId, UserId
from tidings.messages.model import Entry, Kind
from tidings.routing.model import GatewayId


class Connected(NamedTuple):
    """A route as it stands now. `is_heard`: somebody listens at its gateway; if nobody does, the gateway is gone."""

    device: DeviceId
    gateway: GatewayId
    since_ms: int
    is_heard: bool


class Moved(NamedTuple):
    """A member's row, and when one of its watermarks was last moved."""

    row: Row
    at_ms: int | None


class Kept(NamedTuple):
    """The message stands in a user's pending queue. `since_ms` None: that can't be told, because it expires."""

    since_ms: int | None


class Person(Struct, frozen=True, kw_only=True):
    """What is known of one user. `membership` None: has never been in the chat."""

    user: UserId
    membership: Membership | None
    moved: Moved | None = None
    connected: tuple[Connected, ...] = ()
    last_seen_ms: int | None = None
    """When a device of theirs was last connected. None: one is connected now, or Redis does not know."""
    kept: Kept | None = None


class Event(NamedTuple):
    """The message's event, where it stands in its partition."""

    offset: int
    at_ms: int


class Topic(Struct, frozen=True, kw_only=True):
    """The message's partition: where its log ends, how far delivery has come, and the event, if it was found.

    `searched` None: it was not looked for, because the topic no longer keeps what is that old.
    """

    partition: int
    end: int
    committed: int
    event: Event | None = None
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
    people: tuple[Person, ...] = ()
    has_more_people: bool = False
    is_large: bool = False
    head: int | None = None
    mark: int | None = None
    topic: Topic | None = None
    redis: str = ""
    kafka: str = ""


class Outcome(StrEnum):
    """Of the whole. `waiting`: whoever does not have it has no device connected. `unlisted`: too many to be listed."""

    ARRIVED = "arrived"
    WAITING = "waiting"
    ON_ITS_WAY = "on_its_way"
    UNKNOWN = "unknown"
    UNLISTED = "unlisted"


class State(StrEnum):
    """Of one recipient."""

    WROTE = "wrote"
    READ = "read"
    DELIVERED = "delivered"
    NOT_ACKED = "not_acked"
    NOT_HANDLED = "not_handled"
    STALE_ROUTE = "stale_route"
    WAITING = "waiting"
    AWAY = "away"
    NOT_FOR = "not_for"
    UNKNOWN = "unknown"


class Device(Struct, frozen=True, kw_only=True):
    id: DeviceId
    gateway: GatewayId
    connected_since: str
    is_gateway_there: bool


class Recipient(Struct, frozen=True, kw_only=True):
    """`verdict` is for people, the rest for programs. Times are spelled as everywhere; null: there is none, or unknown.

    Watermarks are the user's: which of his devices acknowledged is kept nowhere. `row_sequence` null: there is no row.
    """

    user: UserId
    state: State
    verdict: str
    notes: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    row_sequence: int | None = None
    delivered_sequence: int | None = None
    read_sequence: int | None = None
    watermark_moved_at: str | None = None
    last_seen_at: str | None = None
    waiting_since: str | None = None
    is_waiting: bool = False
    muted_until: str | None = None
    is_archived: bool = False


class Published(Struct, frozen=True, kw_only=True):
    """`at`, `offset` null: the event was not found. `behind`: events of this partition that delivery has not handled."""

    verdict: str
    at: str | None = None
    partition: int | None = None
    offset: int | None = None
    behind: int | None = None


class Handled(Struct, frozen=True, kw_only=True):
    """`is_handled` null: that is not known (any more)."""

    verdict: str
    is_handled: bool | None
    mark: int | None = None


class Trace(Struct, frozen=True, kw_only=True):
    """Where a message is, the short answer first."""

    version: int = 1
    message_id: str
    tenant: str
    outcome: Outcome
    verdict: str
    kind: Kind
    sender: UserId
    committed_at: str
    edited_at: str | None
    redacted_at: str | None
    expires_at: str | None
    is_expired: bool
    is_large: bool
    published: Published
    handled: Handled
    recipients: tuple[Recipient, ...]
    has_more_recipients: bool
    cost: dict[str, float] | UnsetType = UNSET

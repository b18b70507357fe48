"""Webhook endpoints, their events, the queue and the delivery log."""

from enum import StrEnum
from typing import Annotated, Final, NamedTuple, NewType

import msgspec
from msgspec import Meta, Struct

from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.kernel.security import Secret

EndpointId = NewType("EndpointId", str)

MAX_ENDPOINTS: Final = 20
"""Endpoints of a tenant."""
MAX_BACKLOG: Final = 100_000
"""Chats with queued events of an endpoint. Above it the endpoint is disabled."""


class EventType(StrEnum):
    MESSAGE_CREATED = "message.created"
    MESSAGE_EDITED = "message.edited"
    MESSAGE_REDACTED = "message.redacted"
    REACTION_CHANGED = "reaction.changed"
    MEMBER_JOINED = "member.joined"
    MEMBER_LEFT = "member.left"
    MEMBER_ROLE_CHANGED = "member.role_changed"
    MEMBER_BLOCKED = "member.blocked"
    MEMBER_MUTED = "member.muted"
    MEMBER_BANNED = "member.banned"
    CHAT_RULES_CHANGED = "chat.rules_changed"
    CHAT_CREATED = "chat.created"
    CHAT_RENAMED = "chat.renamed"
    ENTRY_LOST = "entry.lost"
    MESSAGE_READ = "message.read"
    NOTIFICATION_DELIVERED = "notification.delivered"
    NOTIFICATION_READ = "notification.read"
    JOB_ENDED = "job.ended"
    USER_CREATED = "user.created"
    USER_UPDATED = "user.updated"
    USER_SUSPENDED = "user.suspended"
    USER_UNSUSPENDED = "user.unsuspended"
    REPORT_CREATED = "report.created"
    PUSH_FINISHED = "push.finished"
    PRESENCE_CHANGED = "presence.changed"
    ENDPOINT_DISABLED = "endpoint.disabled"
    """Another endpoint of the tenant was disabled because it failed for too long."""
    TEST = "test"
    """Sent at the tenant's request, to every endpoint. It cannot be chosen."""


CHOSEN_TYPES: Final = tuple(each for each in EventType if each is not EventType.TEST)
FREQUENT_TYPES: Final = frozenset(
    {EventType.MESSAGE_READ, EventType.PUSH_FINISHED, EventType.PRESENCE_CHANGED}
)
"""An endpoint receives these only if it names them."""
DEFAULT_TYPES: Final = tuple(each for each in CHOSEN_TYPES if each not in FREQUENT_TYPES)


class EndpointStatus(StrEnum):
    ENABLED = "enabled"
    DISABLED = "disabled"


class EndpointName(NamedTuple):
    tenant: TenantId
    id: EndpointId


class EndpointSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`disabled_reason` is empty for an endpoint that the tenant disabled."""

    url: Annotated[str, Meta(max_length=1024)]
    events: tuple[EventType, ...] = DEFAULT_TYPES
    description: Annotated[str, Meta(max_length=256)] = ""
    status: EndpointStatus = EndpointStatus.ENABLED
    disabled_reason: str = ""
    disabled_at_ms: int | None = None


class SigningSecret(Struct, frozen=True):
    """A secret that signs events. During a rotation the former secret signs too, until `expires_at_ms`."""

    value: Secret
    expires_at_ms: int | None = None


class Endpoint(Struct, frozen=True, kw_only=True):
    """The first of `secrets` is the current one. `version` is incremented with each change."""

    name: EndpointName
    settings: EndpointSettings
    secrets: tuple[SigningSecret, ...]
    version: int
    created_at_ms: int
    updated_at_ms: int

    @property
    def is_enabled(self) -> bool:
        return self.settings.status is EndpointStatus.ENABLED

    def wants(self, event: "WebhookEvent") -> bool:
        """Return whether the endpoint receives the event: of a chosen type, and not older than the endpoint."""
        return event.type in self.settings.events and event.at_ms >= self.created_at_ms


class WebhookEvent(Struct, frozen=True, kw_only=True):
    """An event. `id` is the same in every attempt and for every endpoint. `body` is the JSON that is sent."""

    id: str
    type: EventType
    at_ms: int
    body: bytes
    chat: ChatId | None = None
    sequence: int = 0


class QueueKind(StrEnum):
    """The kind of an item in the queue."""

    RUN = "run"
    """Entries of a chat."""
    REPLAYED = "replayed"
    """The same, for a replay."""
    EVENT = "event"
    """One event that is not in a log; the item contains it."""
    REPLAY = "replay"
    """A request to queue the runs of a replay."""


class _TypeOfBody(Struct):
    type: EventType


_decode_type = msgspec.json.Decoder(_TypeOfBody).decode


class QueuedItem(Struct, frozen=True, kw_only=True):
    """An item of an endpoint's queue. `key`: the chat of a run, the id of an event or request.

    Entries from `first` to `last` of the chat wait. `attempts` counts those of the first of them. A worker claims the
    item by moving `due_ms` forward, and loses the claim when that time has passed. An event with an `order` replaces one
    with the same key only if that has a lower order.
    """

    endpoint: EndpointName
    kind: QueueKind
    key: str
    first: int = 0
    last: int = 0
    attempts: int = 0
    due_ms: int = 0
    tried_ms: int = 0
    status: int | None = None
    reason: str = ""
    body: bytes = b""
    order: int = 0
    since_ms: int = 0

    @property
    def chat(self) -> ChatKey:
        return ChatKey(self.endpoint.tenant, ChatId(self.key))

    @property
    def event_type(self) -> EventType | None:
        """The type of an event that the item contains. None for the other kinds."""
        return _decode_type(self.body).type if self.body else None


class Backlog(Struct, frozen=True, kw_only=True):
    """An endpoint with queued items. `version` changes whenever an item is queued.

    failing_ms: since when every attempt has failed. 0: the last one succeeded.
    retry_ms: items that were tried before this time are due now, at the tenant's request.
    """

    endpoint: EndpointName
    version: int
    due_ms: int = 0
    leased_ms: int = 0
    failing_ms: int = 0
    retry_ms: int = 0


class DisabledEndpoint(NamedTuple):
    """An endpoint that was disabled automatically."""

    endpoint: EndpointName
    reason: str
    at_ms: int


class DeliveryOutcome(StrEnum):
    DELIVERED = "delivered"
    RETRYING = "retrying"
    FAILED = "failed"
    """The last attempt failed. The event is not sent again, except by a replay."""


class Attempt(Struct, frozen=True, kw_only=True):
    """The answer of an endpoint. `status` is None if none arrived; `reason` is empty for a success."""

    latency_ms: int
    status: int | None = None
    reason: str = ""
    retry_after_ms: int = 0
    body: bytes = b""

    @property
    def is_ok(self) -> bool:
        return not self.reason

    @property
    def is_gone(self) -> bool:
        """Return whether the endpoint asks to be disabled."""
        return self.status == _GONE


_GONE = 410


class Delivery(Struct, frozen=True, kw_only=True):
    """An entry of the delivery log: one attempt."""

    endpoint: EndpointName
    event: str
    type: EventType
    at_ms: int
    attempt: int
    outcome: DeliveryOutcome
    latency_ms: int
    chat: ChatId | None = None
    sequence: int = 0
    status: int | None = None
    reason: str = ""
    next_ms: int | None = None


class DeliveryPage(NamedTuple):
    """Deliveries, newest first. `next`: where the next page starts."""

    deliveries: list[Delivery]
    next: str | None

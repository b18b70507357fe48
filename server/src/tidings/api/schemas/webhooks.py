"""Schemas of webhooks: endpoints, the delivery log and the queue."""

from typing import Annotated, Any, Literal, Self

from fastapi import Path
from pydantic import Field
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import ApiModel, Cursor, Time, with_examples
from tidings.api.schemas.chat_list import TimeText
from tidings.api.schemas.notifications import ULID
from tidings.kernel.clock import format_ms, format_ms_or_none
from tidings.webhooks.model import (
    CHOSEN_TYPES,
    DEFAULT_TYPES,
    Attempt,
    Delivery,
    DeliveryPage,
    Endpoint,
    EndpointId,
    EndpointSettings,
    EndpointStatus,
    EventType,
    QueuedItem,
    WebhookEvent,
)
from tidings.webhooks.service import MAX_OVERLAP_S, OVERLAP_S

_AT = "2026-11-15T02:11:21.957Z"
ENDPOINT_ID = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
_ENDPOINT: JsonDict = {
    "id": ENDPOINT_ID,
    "url": "https://app.example/tidings",
    "events": ["message.created"],
    "description": "",
    "status": "enabled",
    "created_at": _AT,
    "updated_at": _AT,
}
_SECRET: JsonDict = {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
_DELIVERY: JsonDict = {
    "event": "evt_0123456789abcdef0123456789abcdef",
    "type": "message.created",
    "at": _AT,
    "attempt": 1,
    "outcome": "retrying",
    "status": 503,
    "latency_ms": 12,
    "reason": "the endpoint answered 503",
    "next_at": _AT,
    "chat": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
    "sequence": 7,
}

type EventTypeName = Literal[
    "message.created",
    "message.edited",
    "message.redacted",
    "reaction.changed",
    "member.joined",
    "member.left",
    "member.role_changed",
    "member.blocked",
    "member.muted",
    "member.banned",
    "chat.rules_changed",
    "chat.created",
    "chat.renamed",
    "entry.lost",
    "message.read",
    "notification.delivered",
    "notification.read",
    "job.ended",
    "user.created",
    "user.updated",
    "user.suspended",
    "user.unsuspended",
    "report.created",
    "push.finished",
    "presence.changed",
    "endpoint.disabled",
]
type StatusName = Literal["enabled", "disabled"]

EndpointInPath = Annotated[
    EndpointId, Path(pattern=ULID, description="The id of an endpoint.", examples=[ENDPOINT_ID])
]
Url = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1024,
        description="Receives a POST for each event. `https`, at a public address.",
        examples=["https://app.example/tidings"],
    ),
]
Events = Annotated[
    list[EventTypeName],
    Field(min_length=1, max_length=len(CHOSEN_TYPES), description="The event types to send."),
]
Description = Annotated[str, Field(max_length=256)]


def event_types(names: list[EventTypeName]) -> tuple[EventType, ...]:
    """Return the types without repeated ones, in their own order."""
    return tuple(each for each in CHOSEN_TYPES if each.value in names)


class CreateWebhookBody(ApiModel):
    """A new endpoint. Without `events`, it receives all but `message.read`, `push.finished` and `presence.changed`."""

    model_config = with_examples({"url": "https://app.example/tidings", "events": ["message.created"]})

    url: Url
    events: Events | None = None
    description: Description = ""

    def settings(self) -> EndpointSettings:
        events = DEFAULT_TYPES if self.events is None else event_types(self.events)
        return EndpointSettings(url=self.url, events=events, description=self.description)


class UpdateWebhookBody(ApiModel):
    """Changes of an endpoint. Fields that are not given keep their values."""

    model_config = with_examples({"status": "enabled"})

    url: Url | None = None
    events: Events | None = None
    description: Description | None = None
    status: StatusName | None = None

    @property
    def new_status(self) -> EndpointStatus | None:
        return None if self.status is None else EndpointStatus(self.status)


class WebhookResponse(ApiModel):
    """An endpoint. `disabled_reason` says why it was disabled automatically."""

    model_config = with_examples(_ENDPOINT)

    id: str
    url: str
    events: list[EventTypeName]
    description: str
    status: StatusName
    disabled_reason: str | None = None
    disabled_at: Time | None = None
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, endpoint: Endpoint) -> Self:
        return cls(**_fields(endpoint))


class WebhookSecretResponse(WebhookResponse):
    """An endpoint with its new secret, which is not shown again."""

    model_config = with_examples(_ENDPOINT | _SECRET)

    secret: Annotated[str, Field(description="Verifies the signatures of events.")]

    @classmethod
    def of(cls, endpoint: Endpoint) -> Self:
        return cls(**_fields(endpoint), secret=endpoint.secrets[0].value.reveal())


def _fields(endpoint: Endpoint) -> dict[str, Any]:
    settings = endpoint.settings
    return {
        "id": endpoint.name.id,
        "url": settings.url,
        "events": [each.value for each in settings.events],
        "description": settings.description,
        "status": settings.status.value,
        "disabled_reason": settings.disabled_reason or None,
        "disabled_at": format_ms_or_none(settings.disabled_at_ms),
        "created_at": format_ms(endpoint.created_at_ms),
        "updated_at": format_ms(endpoint.updated_at_ms),
    }


class WebhooksResponse(ApiModel):
    model_config = with_examples({"endpoints": [_ENDPOINT]})

    endpoints: list[WebhookResponse]
    cursor: Cursor | None = None


class RotateSecretBody(ApiModel):
    model_config = with_examples({"overlap_seconds": 86_400})

    overlap_seconds: Annotated[
        int,
        Field(ge=0, le=MAX_OVERLAP_S, description="How long events are signed with the former secret too."),
    ] = OVERLAP_S


class ReplayBody(ApiModel):
    model_config = with_examples({"since": _AT})

    since: Annotated[TimeText, Field(description="A time within the last 48 hours, with `Z` or an offset.")]

    @property
    def since_ms(self) -> int:
        return round(self.since.timestamp() * 1000)


class WebhookAttemptResponse(ApiModel):
    """The answer to a test. `reason` is given if it failed."""

    model_config = with_examples(
        {"event": _DELIVERY["event"], "is_delivered": True, "status": 204, "latency_ms": 12}
    )

    event: str
    is_delivered: bool
    status: int | None = None
    latency_ms: int
    reason: str | None = None

    @classmethod
    def of(cls, event: WebhookEvent, attempt: Attempt) -> Self:
        return cls(
            event=event.id,
            is_delivered=attempt.is_ok,
            status=attempt.status,
            latency_ms=attempt.latency_ms,
            reason=attempt.reason or None,
        )


class DeliveryResponse(ApiModel):
    """One attempt. After `retrying`, another follows at `next_at`; after `failed`, none."""

    model_config = with_examples(_DELIVERY)

    event: str
    type: str
    at: Time
    attempt: int
    outcome: Literal["delivered", "retrying", "failed"]
    status: Annotated[int | None, Field(description="The HTTP status of the answer, if one arrived.")] = None
    latency_ms: int
    reason: str | None = None
    next_at: Time | None = None
    chat: str | None = None
    sequence: int | None = None

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        return cls(
            event=delivery.event,
            type=delivery.type.value,
            at=format_ms(delivery.at_ms),
            attempt=delivery.attempt,
            outcome=delivery.outcome.value,
            status=delivery.status,
            latency_ms=delivery.latency_ms,
            reason=delivery.reason or None,
            next_at=format_ms_or_none(delivery.next_ms),
            chat=delivery.chat,
            sequence=delivery.sequence or None,
        )


class DeliveriesResponse(ApiModel):
    model_config = with_examples({"deliveries": [_DELIVERY], "cursor": "kM2cVZ8m0vJr1mJ4yq0O2WJlbg"})

    deliveries: list[DeliveryResponse]
    cursor: Cursor | None = None

    @classmethod
    def of(cls, page: DeliveryPage, cursor: str | None) -> Self:
        return cls(deliveries=[DeliveryResponse.of(each) for each in page.deliveries], cursor=cursor)


class QueuedResponse(ApiModel):
    """Events that wait: entries of a chat from `first` to `last`, an event, or a replay that starts soon."""

    kind: Literal["run", "replayed", "event", "replay"]
    key: Annotated[str, Field(description="The chat of a run; the id of an event or replay.")]
    type: Annotated[str | None, Field(description="The type of an event that is not an entry of a chat.")] = (
        None
    )
    first: int
    last: int
    attempts: Annotated[int, Field(description="Failed attempts of the first event.")]
    next_at: Time
    status: int | None = None
    reason: str | None = None

    @classmethod
    def of(cls, item: QueuedItem) -> Self:
        return cls(
            kind=item.kind.value,
            key=item.key,
            type=item.event_type,
            first=item.first,
            last=item.last,
            attempts=item.attempts,
            next_at=format_ms(item.due_ms),
            status=item.status,
            reason=item.reason or None,
        )


class QueueResponse(ApiModel):
    """The first 1,000 items of an endpoint's queue."""

    model_config = with_examples(
        {
            "waiting": [
                {
                    "kind": "run",
                    "key": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
                    "first": 7,
                    "last": 9,
                    "attempts": 2,
                    "next_at": _AT,
                    "status": 503,
                    "reason": "the endpoint answered 503",
                }
            ]
        }
    )

    waiting: list[QueuedResponse]

"""Schemas of the original inbox API, with its field names and times in Unix seconds."""

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import ApiModel, UserName, with_examples
from tidings.api.schemas.broadcasts import SegmentName
from tidings.api.schemas.inboxes import HostName, Label, Message
from tidings.api.schemas.notifications import CategoryName, CountsResponse, NotificationName
from tidings.inboxes.broadcasts.estimates import ReachEstimate
from tidings.inboxes.broadcasts.service import BroadcastRequest, BroadcastResult
from tidings.inboxes.config import Inbox
from tidings.inboxes.model import EVERYONE, NotificationContent
from tidings.inboxes.queries import VisibleNotification
from tidings.inboxes.sender import MAX_USERS, SendNotificationRequest, SendNotificationResult

_ID = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
_SENT: JsonDict = {
    "host_system_id": "external_id_123",
    "category": "notification",
    "sender": "admin_user",
    "audiences": {"kind": "users", "label": "Premium Users", "uids": ["user456", "user789"]},
    "message": {"title": "New Feature Available"},
}
_ROW: JsonDict = {**_SENT, "id": _ID, "received": 1640995200, "delivered": 1640995201, "readat": None}
_COUNTS: JsonDict = {"unread": 1, "unseen": 1, "categories": {"notification": 1}}

UnixSeconds = Annotated[int, Field(ge=0, le=9_999_999_999, examples=[1640995200])]


class LegacyAudiencesBody(ApiModel):
    """Recipients: specific users (`uids`), everyone, or a segment."""

    kind: Literal["users", "everyone", "segment"] = "users"
    label: Label | None = None
    uids: Annotated[list[UserName], Field(max_length=MAX_USERS, default_factory=list)]
    segment: SegmentName | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.kind == "users") != bool(self.uids) or (self.kind == "segment") != (
            self.segment is not None
        ):
            raise ValueError("`uids` requires the kind `users`, and `segment` the kind `segment`")
        return self


class LegacyNotificationBody(ApiModel):
    model_config = with_examples(_SENT)

    audiences: LegacyAudiencesBody
    message: Message
    category: CategoryName | None = None
    sender: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    host_system_id: HostName | None = None

    def to_broadcast_request(self) -> BroadcastRequest:
        return BroadcastRequest(
            segment=self.audiences.segment,
            message=self.message,
            category=self.category,
            sender=self.sender,
            label=self.audiences.label,
            host_system_id=self.host_system_id,
        )

    def to_request(self) -> SendNotificationRequest:
        return SendNotificationRequest(
            user_ids=self.audiences.uids,
            message=self.message,
            category=self.category,
            sender=self.sender,
            label=self.audiences.label,
            host_system_id=self.host_system_id,
        )


class LegacySentResponse(ApiModel):
    """A sent message. For a broadcast, `job` is empty and `recipients` is an estimate."""

    model_config = with_examples({"id": _ID, "job": _ID, "recipients": 2})

    id: str
    job: str
    recipients: int
    sequence: int | None = None

    @classmethod
    def of(cls, sent: SendNotificationResult) -> Self:
        return cls(id=sent.notification, job=sent.job, recipients=sent.total)

    @classmethod
    def of_broadcast(cls, sent: BroadcastResult, reach: ReachEstimate) -> Self:
        return cls(id=sent.notification, job="", recipients=reach.users, sequence=sent.status.sequence)


class LegacyNotificationIdBody(ApiModel):
    model_config = with_examples({"id": _ID})

    id: NotificationName


class LegacyRedactedResponse(ApiModel):
    model_config = with_examples({"id": _ID, "job": _ID})

    id: str
    job: str


class LegacyMarkBody(ApiModel):
    """Either `ids`, or `before` with an optional `category`."""

    model_config = with_examples({"ids": [_ID]}, {"before": 1640995200, "category": "notification"})

    ids: Annotated[list[NotificationName], Field(min_length=1, max_length=100)] | None = None
    before: UnixSeconds | None = None
    category: CategoryName | None = None

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Self:
        if (self.ids is None) == (self.before is None) or (self.ids is not None and self.category):
            raise ValueError("use either `ids`, or `before` with an optional `category`")
        return self


class LegacyAudiences(ApiModel):
    """Recipients. `uids` contains only the calling user."""

    kind: Literal["users", "everyone", "segment"]
    label: str | None = None
    uids: list[str]


class LegacyRow(ApiModel):
    id: str
    host_system_id: str | None
    category: str | None
    sender: str | None
    audiences: LegacyAudiences
    received: UnixSeconds
    delivered: UnixSeconds
    readat: UnixSeconds | None
    message: Annotated[dict[str, JsonValue], Field(examples=[{"title": "New Feature Available"}])]

    @classmethod
    def of(cls, notification: VisibleNotification, inbox: Inbox, user: str) -> Self:
        row, content = notification.row, notification.content
        return cls(
            id=row.id,
            host_system_id=row.host_system_id,
            category=inbox.name_of(row.category),
            sender=content.sender,
            audiences=LegacyAudiences(kind=_kind(content), label=content.label, uids=[user]),
            received=row.sent_ms // 1000,
            delivered=(row.delivered_ms or 0) // 1000,
            readat=None if notification.read_ms is None else notification.read_ms // 1000,
            message=notification.message,
        )


def _kind(content: NotificationContent) -> Literal["users", "everyone", "segment"]:
    if content.reach is None:
        return "users"
    return "everyone" if content.reach == EVERYONE else "segment"


class LegacyRowsResponse(ApiModel):
    model_config = with_examples({"messages": [_ROW], "counts": _COUNTS})

    messages: list[LegacyRow]
    counts: CountsResponse

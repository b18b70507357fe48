"""The first inbox API's own names: its attributes in rows and answers, times in whole seconds."""

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator
from pydantic.config import JsonDict

from tidings.api.schemas.ids import UserName
from tidings.api.schemas.inboxes import HostName, Label, Message
from tidings.api.schemas.notices import CategoryName, CountsShown, NoticeName, shows
from tidings.api.schemas.shape import Shape
from tidings.notices.config import Inbox
from tidings.notices.read import Notice
from tidings.notices.send import MAX_USERS, Sent, Wish

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


class AudiencesWanted(Shape):
    kind: Literal["users"] = "users"
    label: Label | None = None
    uids: Annotated[list[UserName], Field(min_length=1, max_length=MAX_USERS)]


class StackNotice(Shape):
    """`audiences.kind` is `users`: the others come with broadcasts."""

    model_config = shows(_SENT)

    audiences: AudiencesWanted
    message: Message
    category: CategoryName | None = None
    sender: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    host_system_id: HostName | None = None

    def wish(self) -> Wish:
        return Wish(
            uids=self.audiences.uids,
            message=self.message,
            category=self.category,
            sender=self.sender,
            label=self.audiences.label,
            host_system_id=self.host_system_id,
        )


class StackSent(Shape):
    model_config = shows({"id": _ID, "job": _ID, "recipients": 2})

    id: str
    job: str
    recipients: int

    @classmethod
    def of(cls, sent: Sent) -> Self:
        return cls(id=sent.notice, job=sent.job, recipients=sent.total)


class StackNamed(Shape):
    model_config = shows({"id": _ID})

    id: NoticeName


class StackRedacted(Shape):
    model_config = shows({"id": _ID, "job": _ID})

    id: str
    job: str


class StackMark(Shape):
    """`ids`, or `before` and perhaps a `category`."""

    model_config = shows({"ids": [_ID]}, {"before": 1640995200, "category": "notification"})

    ids: Annotated[list[NoticeName], Field(min_length=1, max_length=100)] | None = None
    before: UnixSeconds | None = None
    category: CategoryName | None = None

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Self:
        if (self.ids is None) == (self.before is None) or (self.ids is not None and self.category):
            raise ValueError("`ids`, or `before` with or without a `category`")
        return self


class Audiences(Shape):
    """`uids`: of all who got it a user sees himself."""

    kind: Literal["users"]
    label: str | None = None
    uids: list[str]


class StackRow(Shape):
    id: str
    host_system_id: str | None
    category: str | None
    sender: str | None
    audiences: Audiences
    received: UnixSeconds
    delivered: UnixSeconds
    readat: UnixSeconds | None
    message: Annotated[dict[str, JsonValue], Field(examples=[{"title": "New Feature Available"}])]

    @classmethod
    def of(cls, notice: Notice, inbox: Inbox, user: str) -> Self:
        row, content = notice.row, notice.content
        return cls(
            id=row.id,
            host_system_id=row.host_system_id,
            category=inbox.name_of(row.category),
            sender=content.sender,
            audiences=Audiences(kind="users", label=content.label, uids=[user]),
            received=row.sent_ms // 1000,
            delivered=(row.delivered_ms or 0) // 1000,
            readat=None if notice.read_ms is None else notice.read_ms // 1000,
            message=notice.message,
        )


class StackRows(Shape):
    model_config = shows({"messages": [_ROW], "counts": _COUNTS})

    messages: list[StackRow]
    counts: CountsShown

"""Chats and members over HTTP."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from tidings.api.schemas.accounts import PhoneNumber
from tidings.api.schemas.api_model import (
    SHOWN,
    ApiModel,
    ClientKeyName,
    Cursor,
    Position,
    Time,
    UserName,
    format_ms_or_none,
)
from tidings.chats.model import ChatType, Membership
from tidings.chats.queries import ChatView
from tidings.delivery.model import ChatListItem as Line
from tidings.delivery.model import LastMessage, MemberProgress
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatKey

_CHAT: JsonDict = {
    "id": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
    "type": "group",
    "name": "Lunch",
    "member_count": 3,
    "created_by": "anna",
    "role": "owner",
    "message_count": 6,
}
_MEMBER: JsonDict = {
    "user": "anna",
    "role": "owner",
    "joined_at": "2026-11-14T09:00:00.000Z",
    "delivered_sequence": 7,
    "read_sequence": 7,
    "read_at": "2026-11-15T14:05:00.000Z",
}
_KEY = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"

Name = Annotated[
    str,
    Field(min_length=1, max_length=128, pattern=SHOWN, description="Shown to people.", examples=["Lunch"]),
]
RoleName = Literal["owner", "admin", "member"]


class IdempotentBody(ApiModel):
    """What a change may carry. Without a key each request is a change of its own."""

    client_message_id: ClientKeyName | None = None
    after: Annotated[
        Position | None,
        Field(description="The head that the client held when it first tried; the same in every try."),
    ] = None


_DIRECT: JsonDict = {"type": "direct", "user": "ben"}
_GROUP: JsonDict = {
    "type": "group",
    "name": "Lunch",
    "members": ["ben", "cleo"],
    "client_message_id": _KEY,
}
CREATE_EXAMPLES = [_DIRECT, _GROUP]


class CreateGroupBody(ApiModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_GROUP]})

    type: Literal["group"]
    name: Name
    members: Annotated[
        list[UserName], Field(max_length=1000, description="Beside the caller, who becomes the owner.")
    ] = Field(default_factory=list)
    client_message_id: ClientKeyName | None = None


class CreateDirectBody(ApiModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_DIRECT]})

    type: Literal["direct"]
    user: UserName


class RenameBody(IdempotentBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Dinner", "client_message_id": _KEY}]})

    name: Name


class AddMembersBody(IdempotentBody):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"users": ["dora"], "client_message_id": _KEY}]}
    )

    users: Annotated[list[UserName], Field(min_length=1, max_length=200)]


class NewMemberByPhone(IdempotentBody):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"phone_number": "+4915112345678", "client_message_id": _KEY}]}
    )

    phone_number: PhoneNumber


class ChangeRoleBody(IdempotentBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "admin"}]})

    role: Literal["admin", "member"]


class TransferBody(IdempotentBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"user": "ben"}]})

    user: UserName


class LastMessageResponse(ApiModel):
    """The newest message, as far as there is something to read of it."""

    sequence: int
    at: Time
    sender: str
    state: Literal["active", "ephemeral", "expired", "redacted", "unreadable"]
    text: Annotated[str | None, Field(description="Its beginning.")] = None

    @classmethod
    def of(cls, last: LastMessage) -> Self:
        return cls(
            sequence=last.sequence,
            at=format_ms(last.at_ms),
            sender=last.sender,
            state=last.state.value,
            text=last.text or None,
        )


class ChatResponse(ApiModel):
    """A chat as a member sees it."""

    model_config = ConfigDict(json_schema_extra={"examples": [_CHAT]})

    id: str
    type: Literal["direct", "group"]
    name: str | None = None
    member_count: int
    created_by: str
    role: Annotated[RoleName, Field(description="What the caller is in it.")]
    message_count: Annotated[int, Field(description="Messages in the chat, as far as delivery has come.")]
    last: Annotated[
        LastMessageResponse | None, Field(description="The newest message, as in the chat list.")
    ] = None

    @classmethod
    def of(cls, looked: ChatView, bus: Line | None) -> Self:
        chat, own = looked
        return cls(
            id=chat.key.chat,
            type=_type(chat.type),
            name=chat.name,
            member_count=chat.member_count,
            created_by=chat.created_by,
            role=_role(own),
            message_count=0 if bus is None else bus.message_count,
            last=None if bus is None or bus.last is None else LastMessageResponse.of(bus.last),
        )


class ChatCreatedResponse(ApiModel):
    """A chat that is there now, whether it was before or not."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": _CHAT["id"]}]})

    id: str

    @classmethod
    def of(cls, key: ChatKey) -> Self:
        return cls(id=key.chat)


class MemberResponse(ApiModel):
    """A member. What delivery has not written yet is absent; in a large chat so are all watermarks."""

    user: str
    role: RoleName
    joined_at: Annotated[Time | None, Field(description="When they last joined.")] = None
    delivered_sequence: int | None = None
    read_sequence: int | None = None
    read_at: Annotated[Time | None, Field(description="When they last marked messages as read.")] = None

    @classmethod
    def of(cls, row: Membership, progress: MemberProgress | None) -> Self:
        if progress is None:
            return cls(user=row.user, role=_role(row))
        return cls(
            user=row.user,
            role=_role(row),
            joined_at=format_ms_or_none(progress.joined_at_ms),
            delivered_sequence=progress.delivered,
            read_sequence=progress.read,
            read_at=format_ms_or_none(progress.read_at_ms),
        )


class MembersResponse(ApiModel):
    """Members by their ids."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"members": [_MEMBER], "cursor": "kM2cVZ8m"}]})

    members: list[MemberResponse]
    cursor: Annotated[Cursor | None, Field(description="Of the next page; absent on the last one.")] = None


class BlocksResponse(ApiModel):
    """Whom the caller blocks, by their ids."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"users": ["dora"]}]})

    users: list[str]
    cursor: Annotated[Cursor | None, Field(description="Of the next page; absent on the last one.")] = None


class PageParams(ApiModel):
    """Which page of a list."""

    cursor: Cursor | None = None
    limit: Annotated[int, Field(ge=1, le=200, strict=False)] = 50


def _type(kind: ChatType) -> Literal["direct", "group"]:
    return "direct" if kind is ChatType.DIRECT else "group"


def _role(row: Membership) -> RoleName:
    return row.role.value

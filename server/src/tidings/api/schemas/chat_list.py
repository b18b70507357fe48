"""Schemas of the chat list, watermarks and delivery status."""

import re
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import ApiModel, Cursor, Sequence, Time, with_examples
from tidings.api.schemas.chats import LastMessageResponse
from tidings.api.schemas.chats import PageParams as PageAsked
from tidings.delivery.model import (
    ChatFlags,
    ListCursor,
    LogPosition,
    MessageStatus,
    UnreadExplanation,
)
from tidings.delivery.watermarks import WatermarkResult
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatId

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]")
_AT = "2026-11-15T02:11:21.957Z"
_CHAT: JsonDict = {
    "id": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
    "type": "group",
    "name": "Lunch",
    "active_at": _AT,
    "unread": 3,
    "is_member": True,
    "member_count": 3,
    "members": ["ben", "cleo"],
    "last": {"sequence": 7, "at": _AT, "sender": "ben", "state": "active", "text": "Hey everyone!"},
    "head_sequence": 7,
    "message_count": 6,
    "read_sequence": 4,
    "delivered_sequence": 7,
    "is_pinned": False,
    "is_archived": False,
}

FilterName = Literal["active", "unread", "pinned", "muted", "archived", "left"]
StatusName = Literal["SENT", "DELIVERED", "READ"]


class ChatListParams(PageAsked):
    filter: Annotated[
        FilterName,
        Field(description="Which chats to list. `active`: chats that are neither archived nor left."),
    ] = "active"
    limit: Annotated[int, Field(ge=1, le=100, strict=False)] = 50


class ChatListItemResponse(ApiModel):
    """A chat in the chat list. `members` has some of the other members; in a direct chat, the other user."""

    id: str
    type: Literal["direct", "group"]
    name: str | None = None
    active_at: Time
    unread: int
    is_member: bool
    member_count: int | None = None
    members: list[str]
    last: LastMessageResponse | None = None
    head_sequence: int
    message_count: Annotated[int, Field(description="Messages in the chat up to `head_sequence`.")]
    read_sequence: int
    delivered_sequence: int
    muted_until: Time | None = None
    is_pinned: bool
    is_archived: bool
    notify: Literal["all", "mentions", "none"] | None = None


class ChatListResponse(ApiModel):
    """Chats of a user: pinned chats first, then by newest activity."""

    model_config = with_examples({"chats": [_CHAT], "unread_chats": 1})

    chats: list[ChatListItemResponse]
    unread_chats: Annotated[
        int,
        Field(
            description="Number of chats with unread messages in the whole filtered list, not only on this page."
        ),
    ]
    cursor: Annotated[
        Cursor | None, Field(description="Cursor of the next page. Absent on the last page.")
    ] = None


def _require_date(value: object) -> object:
    """Refuse numbers, which pydantic would accept as seconds or milliseconds, also in quotes."""
    if not (isinstance(value, str) and _DATE.match(value)):
        raise ValueError("not a time like 2026-12-31T00:00:00Z")
    return value


TimeText = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_require_date)]


def to_ms_or_none(at: TimeText | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)


class ChatSettingsBody(ApiModel):
    """The user's own settings of a chat. Fields that are not given keep their values. Unmute with `null`."""

    model_config = ConfigDict(
        json_schema_extra={
            "minProperties": 1,
            "examples": [{"muted_until": "2026-12-31T00:00:00Z", "is_pinned": True}],
        }
    )

    is_pinned: bool | None = None
    is_archived: bool | None = None
    notify: Annotated[
        Literal["all", "mentions", "none"] | None,
        Field(description="The messages that cause a push notification. By default as in your preferences."),
    ] = None
    muted_until: Annotated[TimeText | None, Field(description="A time with `Z` or an offset from UTC.")] = (
        None
    )

    def flags(self) -> ChatFlags:
        muted_until_ms = 0 if self.muted_until is None else int(self.muted_until.timestamp() * 1000)
        return ChatFlags(
            is_pinned=self.is_pinned,
            is_archived=self.is_archived,
            notify=self.notify,
            muted_until_ms=muted_until_ms if "muted_until" in self.model_fields_set else None,
        )


class WatermarkBody(ApiModel):
    model_config = with_examples({"sequence": 7})

    sequence: Sequence


class WatermarkResponse(ApiModel):
    """The watermark after the request, which may be higher than requested, and the unread count."""

    model_config = with_examples({"sequence": 7, "unread": 0})

    sequence: int
    unread: int

    @classmethod
    def of(cls, reached: WatermarkResult) -> Self:
        return cls(sequence=reached.sequence, unread=reached.unread)


class LogPositionResponse(ApiModel):
    """An entry, and the number of messages up to it."""

    sequence: int
    ordinal: int

    @classmethod
    def of(cls, marker: LogPosition | None) -> Self | None:
        return None if marker is None else cls(sequence=marker.sequence, ordinal=marker.ordinal)


class UnreadExplanationResponse(ApiModel):
    """`unread` is the ordinal of `head` minus the highest ordinal of `read`, `own` and `joined`, and at least 0."""

    model_config = with_examples(
        {
            "unread": 2,
            "head": {"sequence": 9, "ordinal": 7},
            "read": {"sequence": 6, "ordinal": 5},
            "joined": {"sequence": 1, "ordinal": 0},
            "counts_after": "read",
        }
    )

    unread: int
    head: Annotated[
        LogPositionResponse, Field(description="The newest entry of the chat that delivery has processed.")
    ]
    read: Annotated[
        LogPositionResponse | None, Field(description="The last entry that the user marked as read.")
    ] = None
    own: Annotated[LogPositionResponse | None, Field(description="The user's own last message.")] = None
    joined: Annotated[
        LogPositionResponse | None, Field(description="The entry with which the user last joined.")
    ] = None
    counts_after: Annotated[
        Literal["read", "own", "joined"] | None,
        Field(description="The position from which unread messages are counted."),
    ] = None

    @classmethod
    def of(cls, found: UnreadExplanation) -> Self:
        return cls(
            unread=found.unread,
            head=LogPositionResponse(sequence=found.head.sequence, ordinal=found.head.ordinal),
            read=LogPositionResponse.of(found.read),
            own=LogPositionResponse.of(found.own),
            joined=LogPositionResponse.of(found.joined),
            counts_after=found.counts_after,
        )


class MessageStatusResponse(ApiModel):
    """The delivery status of a message. It is `READ` once all recipients have read it.

    In a large chat, there are no receipts (`has_receipts`), and the status stays `SENT`.
    """

    model_config = with_examples(
        {
            "sequence": 7,
            "status": "DELIVERED",
            "delivered_to": ["ben", "cleo"],
            "read_by": ["ben"],
            "read_at": {"ben": "2026-11-15T14:05:00.000Z"},
            "has_receipts": True,
        }
    )

    sequence: int
    status: StatusName
    delivered_to: list[str]
    read_by: list[str]
    read_at: Annotated[
        dict[str, Time],
        Field(
            description="When users in `read_by` marked the message as read, if known. The server stores the time of "
            "each user's last mark in a chat, so it is known for the newest message that the mark covers."
        ),
    ]
    has_receipts: bool

    @classmethod
    def of(cls, status: MessageStatus) -> Self:
        return cls(
            sequence=status.sequence,
            status=status.status.value,
            delivered_to=list(status.delivered_to),
            read_by=list(status.read_by),
            read_at={user: format_ms(at_ms) for user, at_ms in status.read_at_ms},
            has_receipts=status.has_receipts,
        )


def encode_position(cursor: ListCursor | None) -> str | None:
    return None if cursor is None else f"{int(cursor.is_pinned)} {cursor.at_ms} {cursor.chat}"


def decode_position(text: str | None) -> ListCursor | None:
    """Decode a position from a decrypted cursor."""
    if text is None:
        return None
    is_pinned, at_ms, chat = text.split(" ")
    return ListCursor(is_pinned == "1", int(at_ms), ChatId(chat))

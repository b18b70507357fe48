"""Messages and the other entries of a log over HTTP."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import ApiModel, Position, Sequence, Time, UserName
from tidings.api.schemas.chat_list import StatusName
from tidings.api.schemas.chats import IdempotentBody
from tidings.messages.sender import MAX_MENTIONS, MAX_TTL_S, Content, SendResult

_KEY = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
_ID = "gLAJWK6M7H3QFQ3PWXCZ5GZQD.7"
_ENTRY: JsonDict = {
    "id": _ID,
    "sequence": 7,
    "kind": "message",
    "sender": "anna",
    "created_at": "2026-11-15T02:11:21.957Z",
    "state": "active",
    "status": "DELIVERED",
    "text": "Hello!",
    "mentions": ["ben"],
    "reactions": [{"emoji": "👍", "count": 2, "users": ["ben", "cleo"]}],
}

KindName = Literal[
    "create", "message", "edit", "redaction", "reaction", "join", "leave", "role", "rename", "block"
]
Data = Annotated[
    dict[str, JsonValue], Field(description="The app's own, nested at most 8 deep; 4 KB with the text.")
]


class ContentBody(IdempotentBody):
    """What a message says. A text or data, or both; 4 KB in all."""

    text: Annotated[str, Field(max_length=4096, examples=["Hello!"])] = ""
    data: Data | None = None
    reply_to: Annotated[Sequence | None, Field(description="The sequence of a message in the same chat.")] = (
        None
    )
    mentions: Annotated[list[UserName], Field(max_length=MAX_MENTIONS)] = Field(default_factory=list)

    def content(self) -> Content:
        return Content(text=self.text, data=self.data, reply_to=self.reply_to, mentions=tuple(self.mentions))


class SendMessageBody(ContentBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "Hello!", "client_message_id": _KEY},
                {
                    "text": "See you @ben",
                    "mentions": ["ben"],
                    "reply_to": 5,
                    "ttl_seconds": 86400,
                    "after": 6,
                },
                {"data": {"location": {"lat": 52.52, "lon": 13.4}}, "content_type": "application/geo+json"},
            ]
        }
    )

    content_type: Annotated[
        str | None, Field(min_length=1, max_length=64, pattern=r"^[!-~]+$", examples=["text/plain"])
    ] = None
    ttl_seconds: Annotated[
        int | None, Field(ge=1, le=MAX_TTL_S, description="Nobody sees the content after that.")
    ] = None


class EditMessageBody(ContentBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Hello, all!"}]})


class MessageSentResponse(ApiModel):
    """Committed. The same for every try of the message."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": _ID, "sequence": 7}]})

    id: str
    sequence: int

    @classmethod
    def of(cls, sent: SendResult) -> Self:
        return cls(id=sent.message_id, sequence=sent.sequence)


class MessageChangedResponse(ApiModel):
    """Committed: the change is itself an entry of the log, at this sequence."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"sequence": 9}]})

    sequence: int


class ReactionResponse(ApiModel):
    """`users` are the first few who reacted, of all emoji of the message together."""

    emoji: str
    count: int
    users: list[str]


class EntryResponse(ApiModel):
    """An entry of a chat's log. Which fields it has depends on its kind."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ENTRY]})

    id: str
    sequence: int
    kind: KindName
    sender: str
    created_at: Time
    state: Annotated[
        Literal["active", "redacted", "expired", "unreadable"],
        Field(description="Of a message: can its content be seen?"),
    ]
    client_message_id: Annotated[str | None, Field(description="Of the caller's own entries.")] = None
    status: Annotated[
        StatusName | None, Field(description="Of a message: how far it got. Not in large chats.")
    ] = None
    text: str | None = None
    data: Data | None = None
    reply_to: int | None = None
    mentions: list[str] | None = None
    content_type: str | None = None
    edited_at: Time | None = None
    redacted_at: Time | None = None
    expires_at: Time | None = None
    reactions: list[ReactionResponse] | None = None
    refers_to: Annotated[
        int | None, Field(description="Of an edit, redaction or reaction: the message's sequence.")
    ] = None
    emoji: Annotated[str | None, Field(description="Of a reaction: `+` or `-`, then the emoji.")] = None
    name: str | None = None
    role: str | None = None
    users: Annotated[list[str] | None, Field(description="Who joined, left, or has another role.")] = None
    member_count: int | None = None


class CoveredRange(ApiModel):
    """The page is complete for this reader above `after`, up to and with `up_to`."""

    after: int
    up_to: int


class HistoryResponse(ApiModel):
    """Newest first. What is not here within `covered_range` is not the caller's to see."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "entries": [_ENTRY],
                    "covered_range": {"after": 6, "up_to": 7},
                    "has_older": True,
                    "has_newer": False,
                }
            ]
        }
    )

    entries: list[EntryResponse]
    covered_range: CoveredRange
    has_older: bool
    has_newer: bool


class HistoryParams(ApiModel):
    """One of `before`, `after`, `around`; none: the newest."""

    before: Annotated[Sequence | None, Field(strict=False, description="Entries below it, newest first.")] = (
        None
    )
    after: Annotated[Position | None, Field(strict=False, description="The oldest entries above it.")] = None
    around: Annotated[Sequence | None, Field(strict=False, description="Entries on both sides of it.")] = None
    limit: Annotated[int, Field(ge=1, le=200, strict=False)] = 50
    status: Annotated[
        bool,
        Field(strict=False, description="Tell of each message how far it got. Without it: two reads less."),
    ] = True

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(given is not None for given in (self.before, self.after, self.around)) > 1:
            raise ValueError("only one of before, after and around")
        return self

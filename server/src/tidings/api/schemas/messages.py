"""Schemas of messages and other log entries."""

from typing import Annotated, Literal, Self, override

from msgspec.structs import replace
from pydantic import Field, JsonValue, model_validator
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import ApiModel, Position, Sequence, Time, UserName, with_examples
from tidings.api.schemas.chat_list import StatusName
from tidings.api.schemas.chats import IdempotentBody
from tidings.messages.model import UPLOAD_ID
from tidings.messages.sender import MAX_MENTIONS, MAX_TTL_S, Content, SendResult
from tidings.schema.tables.limits import MAX_ATTACHMENTS

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
    "create",
    "message",
    "edit",
    "redaction",
    "reaction",
    "join",
    "leave",
    "role",
    "rename",
    "block",
    "mute",
    "ban",
    "rules",
    "lost",
]
Data = Annotated[
    dict[str, JsonValue],
    Field(
        description="Data of your application, nested at most 8 levels deep. At most 4 KB together with the text."
    ),
]


class ContentBody(IdempotentBody):
    """Content of a message: `text`, `data` or both, at most 4 KB in total."""

    text: Annotated[str, Field(max_length=4096, examples=["Hello!"])] = ""
    data: Data | None = None
    reply_to: Annotated[Sequence | None, Field(description="The sequence of a message in the same chat.")] = (
        None
    )
    mentions: Annotated[list[UserName], Field(max_length=MAX_MENTIONS)] = Field(default_factory=list)

    def content(self) -> Content:
        return Content(text=self.text, data=self.data, reply_to=self.reply_to, mentions=tuple(self.mentions))


class SendMessageBody(ContentBody):
    model_config = with_examples(
        {"text": "Hello!", "client_message_id": _KEY},
        {
            "text": "See you @ben",
            "mentions": ["ben"],
            "reply_to": 5,
            "ttl_seconds": 86400,
            "after": 6,
        },
        {"attachments": [_KEY], "text": "The beach"},
        {"data": {"location": {"lat": 52.52, "lon": 13.4}}, "content_type": "application/geo+json"},
    )

    content_type: Annotated[
        str | None, Field(min_length=1, max_length=64, pattern=r"^[!-~]+$", examples=["text/plain"])
    ] = None
    ttl_seconds: Annotated[
        int | None, Field(ge=1, le=MAX_TTL_S, description="Hide the content after this time.")
    ] = None
    attachments: Annotated[
        list[Annotated[str, Field(pattern=UPLOAD_ID)]],
        Field(max_length=MAX_ATTACHMENTS, description="Ids of complete uploads of the sender for this chat."),
    ] = Field(default_factory=list)

    @override
    def content(self) -> Content:
        return replace(super().content(), attachments=tuple(self.attachments))


class EditMessageBody(ContentBody):
    model_config = with_examples({"text": "Hello, all!"})


class MessageSentResponse(ApiModel):
    """A committed message. Retries return the same answer."""

    model_config = with_examples({"id": _ID, "sequence": 7})

    id: str
    sequence: int

    @classmethod
    def of(cls, sent: SendResult) -> Self:
        return cls(id=sent.message_id, sequence=sent.sequence)


class MessageChangedResponse(ApiModel):
    """A committed change. The change is itself an entry of the log, with this sequence."""

    model_config = with_examples({"sequence": 9})

    sequence: int


class ReactionResponse(ApiModel):
    """A reaction. `users` has only the first users who reacted to the message, over all its emoji."""

    emoji: str
    count: int
    users: list[str]


class EntryRulesResponse(ApiModel):
    """The rules of a chat after an entry of the kind `rules`."""

    is_frozen: bool
    slow_mode_seconds: Annotated[int, Field(description="0: no slow mode.")]
    join_rule: Literal["closed", "link", "open"]


class EntryResponse(ApiModel):
    """An entry of a chat's log. Its fields depend on its kind."""

    model_config = with_examples(_ENTRY)

    id: str
    sequence: int
    kind: KindName
    sender: str
    created_at: Time
    state: Annotated[
        Literal["active", "redacted", "expired", "archived", "erased", "unreadable"],
        Field(
            description="Whether the content of a message is available. `archived`: operators of the tenant can read it."
        ),
    ]
    client_message_id: Annotated[str | None, Field(description="Only on the caller's own entries.")] = None
    status: Annotated[
        StatusName | None, Field(description="Delivery status of a message. Absent in large chats.")
    ] = None
    text: str | None = None
    data: Data | None = None
    reply_to: int | None = None
    mentions: list[str] | None = None
    attachments: Annotated[list[str] | None, Field(description="Ids of uploads.")] = None
    content_type: str | None = None
    edited_at: Time | None = None
    redacted_at: Time | None = None
    expires_at: Time | None = None
    reactions: list[ReactionResponse] | None = None
    refers_to: Annotated[
        int | None, Field(description="For an edit, redaction or reaction: the sequence of the message.")
    ] = None
    emoji: Annotated[str | None, Field(description="For a reaction: `+` or `-`, then the emoji.")] = None
    name: str | None = None
    role: str | None = None
    users: Annotated[list[str] | None, Field(description="Users who joined, left or changed their role.")] = (
        None
    )
    member_count: int | None = None
    until: Annotated[Time | None, Field(description="For a mute or ban: when it ends.")] = None
    reason: Annotated[str | None, Field(description="For a mute or ban.")] = None
    rules: EntryRulesResponse | None = None


class CoveredRange(ApiModel):
    """The range for which the page is complete: sequences above `after`, up to and including `up_to`."""

    after: int
    up_to: int


class HistoryResponse(ApiModel):
    """A page of entries, newest first. The caller may not read sequences in `covered_range` that are not in `entries`."""

    model_config = with_examples(
        {
            "entries": [_ENTRY],
            "covered_range": {"after": 6, "up_to": 7},
            "has_older": True,
            "has_newer": False,
        }
    )

    entries: list[EntryResponse]
    covered_range: CoveredRange
    has_older: bool
    has_newer: bool
    archived_up_to: Annotated[
        int | None,
        Field(
            description="The newest archived message of the page: the content of older messages is not in the history either. "
            "Absent if none of the page is archived."
        ),
    ] = None


class HistoryParams(ApiModel):
    """At most one of `before`, `after` and `around`. Without any, the newest entries."""

    before: Annotated[
        Sequence | None, Field(strict=False, description="Return entries before this sequence.")
    ] = None
    after: Annotated[
        Position | None, Field(strict=False, description="Return the oldest entries after this sequence.")
    ] = None
    around: Annotated[
        Sequence | None, Field(strict=False, description="Return entries before and after this sequence.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=200, strict=False)] = 50
    status: Annotated[
        bool,
        Field(
            strict=False,
            description="Include the delivery status of each message, which costs one more read.",
        ),
    ] = False

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(given is not None for given in (self.before, self.after, self.around)) > 1:
            raise ValueError("use only one of `before`, `after` and `around`")
        return self

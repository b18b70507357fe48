"""Schemas of search."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import PART, ApiModel, Cursor, UserName, with_examples
from tidings.api.schemas.chat_list import TimeText, to_ms_or_none
from tidings.api.schemas.messages import EntryResponse
from tidings.kernel.ids import ChatId
from tidings.search import rules
from tidings.search.model import MAX_QUERY_CHARS, SearchQuery
from tidings.search.query import MAX_LIMIT

_CHAT = "gLAJWK6M7H3QFQ3PWXCZ5GZQD"
_RESULT: JsonDict = {
    "chat": _CHAT,
    "message": {
        "id": f"{_CHAT}.7",
        "sequence": 7,
        "kind": "message",
        "sender": "ben",
        "created_at": "2026-11-15T02:11:21.957Z",
        "state": "active",
        "text": "Lunch at noon?",
    },
    "highlights": [{"text": "Lunch", "is_match": True}, {"text": " at noon?", "is_match": False}],
}


class SearchParams(ApiModel):
    q: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=MAX_QUERY_CHARS,
            description="Words that the message must have, in any order. Case and accents do not matter. `lun*` finds all "
            "words that start with `lun`. It can be left out if `has` is given.",
            examples=["lunch noon"],
        ),
    ] = None
    chat: Annotated[
        ChatId | None,
        Field(min_length=1, max_length=64, pattern=PART, description="Only messages in this chat."),
    ] = None
    sender: Annotated[UserName | None, Field(alias="from", description="Only messages of this user.")] = None
    before: Annotated[
        TimeText | None, Field(description="Only messages that were sent before this time.")
    ] = None
    after: Annotated[
        TimeText | None, Field(description="Only messages that were sent at this time or later.")
    ] = None
    has: Annotated[Literal["attachment"] | None, Field(description="Only messages with attachments.")] = None
    cursor: Cursor | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, strict=False)] = 20

    def to_query(self) -> SearchQuery:
        return SearchQuery(
            words=() if self.q is None and self.has else rules.parse_query(self.q or ""),
            chat=self.chat,
            sender=self.sender,
            before_ms=to_ms_or_none(self.before),
            after_ms=to_ms_or_none(self.after),
            has_attachment=self.has == "attachment",
        )


class HighlightResponse(ApiModel):
    """A part of the text. The parts of a result form an extract around the first match."""

    text: str
    is_match: bool


class SearchResultResponse(ApiModel):
    chat: str
    message: EntryResponse
    highlights: list[HighlightResponse]


class SearchResponse(ApiModel):
    """Messages that match, newest first. A page can have fewer messages than `limit`, or none, and have a cursor."""

    model_config = with_examples({"results": [_RESULT]})

    results: list[SearchResultResponse]
    cursor: Annotated[
        Cursor | None, Field(description="Cursor of the next page. Absent on the last page.")
    ] = None

"""Documents of the index, queries and results. The index has words and ids; it never returns text."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry, Interval

MAX_QUERY_CHARS: Final = 256
MAX_QUERY_WORDS: Final = 16
MAX_WORD_CHARS: Final = 64
"""Longer words are cut, in messages and in queries."""
MIN_PREFIX_CHARS: Final = 2
ATTACHMENT_WORD: Final = "has:attachment"
"""Indexed for every message with attachments. It has a colon, so no text has it: only letters and digits are indexed."""


class MessageRef(NamedTuple):
    """The place of a message."""

    chat: ChatKey
    sequence: int


class MessageText(NamedTuple):
    """A log entry, and the text of a message that can be read: None if it was removed, or is no message."""

    entry: Entry
    text: str | None


class ReadableMessage[S](NamedTuple):
    """A message that a user may read. `shown` is what the user receives."""

    message: MessageText
    shown: S


class SearchDocument(Struct, frozen=True, kw_only=True):
    """The indexed form of a message.

    version: the sequence of the log entry that the state is at least as new as. An index that several processes write
        keeps the document with the highest version.
    words: folded, without repeats and in no order.
    expires_ms: when the document must be deleted; None: never.
    """

    ref: MessageRef
    version: int
    sender: UserId
    at_ms: int
    words: tuple[str, ...]
    expires_ms: int | None = None


class DocumentRemoval(Struct, frozen=True):
    """A message that must not be found. `version` as of a document."""

    ref: MessageRef
    version: int


type IndexChange = SearchDocument | DocumentRemoval

type ReadableChats = Mapping[ChatId, Sequence[Interval]]
"""Chats, and the intervals of them that a user may read. No chat is without intervals."""


class QueryWord(NamedTuple):
    """A folded word. `is_prefix`: the start of one."""

    text: str
    is_prefix: bool = False


class SearchQuery(Struct, frozen=True, kw_only=True):
    """A message matches if it has all words and passes all filters. `before_ms` is excluded, `after_ms` is included.

    If `words` is empty, `has_attachment` is set.
    """

    words: tuple[QueryWord, ...]
    chat: ChatId | None = None
    sender: UserId | None = None
    before_ms: int | None = None
    after_ms: int | None = None
    has_attachment: bool = False

    @property
    def indexed_words(self) -> tuple[QueryWord, ...]:
        """Return the words that a document must have."""
        return (*self.words, QueryWord(ATTACHMENT_WORD)) if self.has_attachment else self.words


class CandidateRequest(Struct, frozen=True, kw_only=True):
    """A request to the index: documents of the tenant, inside the intervals of these chats, that match and have not expired.

    below: only candidates whose order is lower, for the next page.
    """

    tenant: TenantId
    query: SearchQuery
    chats: ReadableChats
    now_ms: int
    limit: int
    below: int | None = None


class Candidate(NamedTuple):
    """A message that may match: the index can be stale. `order` sorts candidates, the newest message has the highest."""

    ref: MessageRef
    order: int


class Highlight(NamedTuple):
    """A part of a message's text. Consecutive parts form an extract of it."""

    text: str
    is_match: bool


class FoundMessage[S](NamedTuple):
    """A message that the asker may read, and an extract of its text."""

    chat: ChatKey
    shown: S
    highlights: tuple[Highlight, ...]


class SearchPage[S](NamedTuple):
    """Messages, newest first. `below` is the order of the last one, for the next page; None at the end.

    A page can have fewer messages than asked for and still be followed by another.
    """

    found: tuple[FoundMessage[S], ...]
    below: int | None

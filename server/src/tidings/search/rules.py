"""Pure rules of search: words of a text, parsing of queries, matches and highlights.

Messages and queries are split by the same function, and engines index the words unchanged. So all engines find the same
messages, and a result can be checked against the text that was read.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId
from tidings.messages.model import Interval
from tidings.search.model import (
    ATTACHMENT_WORD,
    MAX_QUERY_CHARS,
    MAX_QUERY_WORDS,
    MAX_WORD_CHARS,
    MIN_PREFIX_CHARS,
    Candidate,
    DocumentRemoval,
    Highlight,
    IndexChange,
    MessageRef,
    MessageText,
    QueryWord,
    ReadableChats,
    SearchDocument,
    SearchQuery,
)

# Scripts that are written without spaces: Thai to Khmer, kana, Han. Each character is a word.
_SINGLE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_LETTER: Final = rf"(?![{_SINGLE}])[^\W_]"
_WORD: Final = re.compile(rf"[{_SINGLE}]|(?:{_LETTER})(?:{_LETTER}|[\u0300-\u036f])*")

_ORDER_BITS: Final = 20
_MAX_AT_MS: Final = (1 << (63 - _ORDER_BITS)) - 1
"""The last time that an order can hold, in the year 2248. An index stores orders as signed integers of 64 bits."""
_CHAT_BITS: Final = 10
_WHOLE: Final = Interval(0)
_EXTRACT_CHARS: Final = 160
_LEAD_CHARS: Final = 40
"""Characters of the extract before the first match."""


class TextWord(NamedTuple):
    """A folded word, and where it is in the text."""

    text: str
    start: int
    end: int


def split_words(text: str) -> Iterator[TextWord]:
    """Return the words of a text in their order."""
    for found in _WORD.finditer(text):
        if folded := _fold(found[0]):
            yield TextWord(folded, found.start(), found.end())


def _fold(word: str) -> str:
    """Remove case, accents and compatibility forms."""
    plain = word.lower() if word.isascii() else unicodedata.normalize("NFKD", word).casefold()
    return "".join(each for each in plain if each.isalnum())[:MAX_WORD_CHARS]


def parse_query(text: str) -> tuple[QueryWord, ...]:
    """Return the words of a query. One with a `*` after it is a prefix. Raises `request_invalid`."""
    if len(text) > MAX_QUERY_CHARS:
        raise _invalid(f"`q` has {len(text)} characters; {MAX_QUERY_CHARS} are allowed.")
    words = dict.fromkeys(
        QueryWord(word.text, text[word.end : word.end + 1] == "*") for word in split_words(text)
    )
    if not words:
        raise _invalid("`q` has neither letters nor digits.")
    if len(words) > MAX_QUERY_WORDS:
        raise _invalid(f"`q` has {len(words)} words; {MAX_QUERY_WORDS} are allowed.")
    for word in words:
        if word.is_prefix and len(word.text) < MIN_PREFIX_CHARS:
            raise _invalid(
                f"`{word.text}*` is too short. A prefix has at least {MIN_PREFIX_CHARS} characters."
            )
    return tuple(words)


def _invalid(reason: str) -> TidingsError:
    return TidingsError(Code.REQUEST_INVALID, reason)


def order_of(ref: MessageRef, at_ms: int) -> int:
    """Return the position of a message among all results: by time, then by sequence, then by a hash of its chat."""
    digest = hashlib.blake2b(ref.chat.chat.encode(), digest_size=4).digest()
    of_chat = int.from_bytes(digest) >> (32 - _CHAT_BITS)
    in_chat = ref.sequence % (1 << (_ORDER_BITS - _CHAT_BITS))
    return first_order_at(at_ms) | in_chat << _CHAT_BITS | of_chat


def is_cut_in_a_tie(found: Sequence[Candidate], limit: int) -> bool:
    """Return whether the candidate after a page has the order of its last one."""
    return len(found) > limit and found[limit].order == found[limit - 1].order


def first_order_at(at_ms: int) -> int:
    """Return the lowest order of a message of this time.

    A filter can name any time. One before 1970 has the lowest order, and one after 2248 that of the last possible time:
    no message is beyond them.
    """
    return min(max(at_ms, 0), _MAX_AT_MS) << _ORDER_BITS


def split_whole(chats: ReadableChats) -> tuple[Sequence[ChatId], Sequence[tuple[ChatId, Interval]]]:
    """Return the chats of which all messages are readable, and the single intervals of the others."""
    whole = [chat for chat, intervals in chats.items() if any(each == _WHOLE for each in intervals)]
    parts = [(chat, each) for chat in chats.keys() - set(whole) for each in chats[chat]]
    return whole, parts


def index_change(ref: MessageRef, message: MessageText | None, version: int) -> IndexChange:
    """Return what the index must have for a message in this state."""
    if message is None or message.text is None:
        return DocumentRemoval(ref, version)
    words = {word.text for word in split_words(message.text)}
    if message.entry.attachments:
        words.add(ATTACHMENT_WORD)
    if not words:
        return DocumentRemoval(ref, version)
    return SearchDocument(
        ref=ref,
        version=version,
        sender=message.entry.sender,
        at_ms=message.entry.created_at_ms,
        # Sorted: the index must not show the order of the words in the message.
        words=tuple(sorted(words)),
        expires_ms=message.entry.visible_until_ms,
    )


def is_match(query: SearchQuery, message: MessageText) -> bool:
    """Return whether a message matches in its present state. The index may have a former one."""
    entry = message.entry
    return (
        message.text is not None
        and query.sender in (None, entry.sender)
        and (query.before_ms is None or entry.created_at_ms < query.before_ms)
        and (query.after_ms is None or entry.created_at_ms >= query.after_ms)
        and (not query.has_attachment or bool(entry.attachments))
        and _has_all(query.words, message.text)
    )


def _has_all(words: Sequence[QueryWord], text: str) -> bool:
    present = {word.text for word in split_words(text)}
    return all(
        any(each.startswith(word.text) for each in present) if word.is_prefix else word.text in present
        for word in words
    )


def highlight(words: Sequence[QueryWord], text: str) -> tuple[Highlight, ...]:
    """Return an extract of the text around the first match, in parts. Every part that matches is marked."""
    exact = {word.text for word in words if not word.is_prefix}
    prefixes = tuple(word.text for word in words if word.is_prefix)
    matches = [
        word
        for word in split_words(text)
        if word.text in exact or (prefixes and word.text.startswith(prefixes))
    ]
    start = max(0, matches[0].start - _LEAD_CHARS) if matches else 0
    end = min(len(text), start + _EXTRACT_CHARS)
    parts: list[Highlight] = []
    at = start
    for match in matches:
        if match.end > end:
            break
        parts += [
            Highlight(text[at : match.start], is_match=False),
            Highlight(text[match.start : match.end], is_match=True),
        ]
        at = match.end
    parts.append(Highlight(text[at:end], is_match=False))
    return tuple(part for part in parts if part.text)

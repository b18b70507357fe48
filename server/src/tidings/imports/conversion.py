"""Parts of all converters: ids, texts of any length, and the report."""

import hashlib
import json
import re
from base64 import b32encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from tidings.imports.model import MESSAGE_ID, NAME_CHARS, MessageLine, ReactionPart
from tidings.kernel.ids import UserId
from tidings.schema.tables.limits import EMOJI, EMOJI_BYTES, PART_BYTES

MAX_TEXT_BYTES: Final = 3_000
"""Encoded bytes of a text. The limit of the content is larger; the rest is for mentions."""
MAX_MENTIONS: Final = 20
_SUFFIX_CHARS: Final = 4
_MESSAGE_ID = re.compile(MESSAGE_ID)


class ConversionReport(msgspec.Struct, kw_only=True):
    """Lines written, and what was left out by reason."""

    users: int = 0
    chats: int = 0
    messages: int = 0
    left_out: Counter[str] = msgspec.field(default_factory=Counter)


class UserIds:
    """The ids of users in Tidings. Ids that the operator does not map are kept."""

    def __init__(self, mapped: Mapping[str, str] | None = None) -> None:
        self._mapped = mapped or {}

    def of(self, foreign: str) -> UserId:
        return UserId(self._mapped.get(foreign, foreign))


def message_id_of(foreign: str) -> str:
    """Return an id that a message may have: the one of the source, or a hash of it."""
    if len(foreign) <= PART_BYTES["client_key"] - _SUFFIX_CHARS and _MESSAGE_ID.fullmatch(foreign):
        return foreign
    return "m-" + b32encode(hashlib.sha256(foreign.encode()).digest()[:15]).decode()


def clip_name(name: str) -> str:
    """Return a name of at most the allowed length, without line breaks."""
    return " ".join(name.split())[:NAME_CHARS] or "-"


def split_message(message: MessageLine) -> Iterator[MessageLine]:
    """Yield the message, or parts of it if its text is too long. Replies and reactions refer to the first part."""
    texts = list(split_text(message.text)) or [""]
    yield msgspec.structs.replace(message, text=texts[0])
    for number, text in enumerate(texts[1:], 2):
        yield MessageLine(
            chat=message.chat,
            id=f"{message.id}-{number}",
            user=message.user,
            at=message.at,
            text=text,
            edited_at=message.edited_at,
        )


def split_text(text: str) -> Iterator[str]:
    """Split a text into parts of at most `MAX_TEXT_BYTES` when encoded, at a blank where there is one."""
    while text:
        size = _fitting(text)
        if size < len(text):
            blank = max(text.rfind(" ", 0, size), text.rfind("\n", 0, size))
            size = blank + 1 if blank > size // 2 else size
        yield text[:size]
        text = text[size:]


def _fitting(text: str) -> int:
    """Return how many characters fit. Escaped and non-ASCII characters take more bytes than one."""
    if len(text) <= MAX_TEXT_BYTES and _encoded_bytes(text) <= MAX_TEXT_BYTES:
        return len(text)
    low, high = 1, min(len(text), MAX_TEXT_BYTES)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _encoded_bytes(text[:middle]) <= MAX_TEXT_BYTES else (low, middle - 1)
    return low


def _encoded_bytes(text: str) -> int:
    return len(msgspec.json.encode(text))


def reaction_parts(
    reactions: Iterable[tuple[str, Iterable[UserId]]], report: ConversionReport
) -> tuple[ReactionPart, ...]:
    """Return reactions by emoji, each user once. Those above the limits are left out."""
    users: dict[str, dict[UserId, None]] = {}
    for emoji, some in reactions:
        if not emoji or len(emoji.encode()) > EMOJI_BYTES or (emoji not in users and len(users) >= EMOJI):
            report.left_out["reactions with a long name, or more than 20 of a message"] += 1
            continue
        users.setdefault(emoji, {}).update(dict.fromkeys(some))
    return tuple(ReactionPart(emoji=emoji, users=tuple(some)) for emoji, some in users.items() if some)


def decode_json[T](data: bytes, kind: type[T]) -> T:
    """Decode a file of an export. Raises `msgspec.DecodeError`, also for invalid UTF-8.

    An escaped half of a surrogate pair, which UTF-8 cannot represent, is replaced.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        try:
            text = json.dumps(json.loads(data), ensure_ascii=False)
        except (ValueError, RecursionError):
            raise msgspec.DecodeError(str(error)) from error
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return msgspec.json.decode(valid.encode(), type=kind)

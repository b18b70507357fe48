"""Ids as types, and ULIDs: where Tidings makes an id itself, it is one of these. Order never comes from them."""

import os
import re
import time
from collections.abc import Callable
from hashlib import blake2b
from typing import Final, NamedTuple, NewType

TenantId = NewType("TenantId", str)
ChatId = NewType("ChatId", str)
UserId = NewType("UserId", str)
DeviceId = NewType("DeviceId", str)
ClientKey = NewType("ClientKey", str)
MessageId = NewType("MessageId", str)

USER_ID_CHARS: Final = 64
USER_ID: Final = r'^(?:\.{0,2}[!"$-)+,0-~-]|\.{3})[!"$-).0-~+,-]*$'
"""The one rule for ids of users and devices, together with `USER_ID_CHARS`.

Printable ASCII without `#`, `*` (parts of keys) and `/`, and neither `.` nor `..`: an id is a segment of a URL's path,
and clients remove dot segments. Written without look-ahead, because not every regular-expression engine has it.
"""
USER_ID_DESCRIPTION: Final = (
    f"1 to {USER_ID_CHARS} printable ASCII characters: no blanks, none of `#`, `*`, `/`, and not `.` or `..`"
)
_USER_ID = re.compile(USER_ID)

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [high + low for high in _CROCKFORD for low in _CROCKFORD]


class ChatKey(NamedTuple):
    """A chat within its tenant: what every key of it is made of."""

    tenant: TenantId
    chat: ChatId


class DeviceKey(NamedTuple):
    """One installation of a client, of a user within his tenant."""

    tenant: TenantId
    user: UserId
    device: DeviceId


def is_user_id(text: str) -> bool:
    return len(text) <= USER_ID_CHARS and _USER_ID.fullmatch(text) is not None


def stable_hash(name: str) -> int:
    """32 bits, the same in every process and release: rows are found by it."""
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest())


def new_ulid() -> str:
    """48 bits of milliseconds, 80 of chance, in 26 characters."""
    return encode_ulid(time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10)))


def encode_ulid(at_ms: int, chance: int) -> str:
    value = (at_ms << 80) | chance
    pairs = [_PAIRS[value >> shift & 1023] for shift in range(120, -1, -10)]
    return "".join(pairs)


def message_id(chat: ChatId, sequence: int) -> MessageId:
    """Spells where the message is, so that finding it takes no index."""
    return MessageId(f"{chat}.{sequence}")


def split_message_id(name: MessageId) -> tuple[ChatId, int] | None:
    """None for what is not a message's id."""
    chat, _, sequence = name.rpartition(".")
    if not chat or not sequence.isdecimal() or not sequence.isascii() or sequence.startswith("0"):
        return None
    return ChatId(chat), int(sequence)


def ulid_ms(ulid: str) -> int:
    """When it was made. For ULIDs of our own alone: anything else raises `ValueError`."""
    at_ms = 0
    for letter in ulid[:10]:
        at_ms = at_ms * 32 + _CROCKFORD.index(letter)
    return at_ms


def min_ulid(at_ms: int) -> str:
    """The lowest that can be made in this millisecond: all that were made before it sort below."""
    return encode_ulid(at_ms, 0)


type Epoch = Callable[[], int]


def initial_epoch() -> int:
    return 0

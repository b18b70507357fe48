"""Ids as types, and ULIDs, which are the ids that Tidings creates itself. No order depends on a ULID."""

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
_PSEUDONYM: Final = re.compile(r"erased-[a-z2-7]{26}")

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [high + low for high in _CROCKFORD for low in _CROCKFORD]


class ChatKey(NamedTuple):
    """A chat within its tenant. Every key of the chat starts with it."""

    tenant: TenantId
    chat: ChatId


class DeviceKey(NamedTuple):
    """One installation of a client, of a user within a tenant."""

    tenant: TenantId
    user: UserId
    device: DeviceId


class ErasedUser(NamedTuple):
    """A user who is being erased, and the pseudonym that replaces their id in one chat."""

    user: UserId
    pseudonym: UserId


def is_user_id(text: str) -> bool:
    return len(text) <= USER_ID_CHARS and _USER_ID.fullmatch(text) is not None


def is_pseudonym(user: UserId) -> bool:
    """Return whether an id is a pseudonym of an erased user. No user is created with such an id."""
    return user.startswith("erased-") and _PSEUDONYM.fullmatch(user) is not None


def stable_hash(name: str) -> int:
    """Hash a name to 32 bits. The value must never change, because keys of stored rows contain it."""
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest())


def new_ulid() -> str:
    """Return 48 bits of milliseconds and 80 random bits, as 26 characters."""
    return encode_ulid(time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10)))


def new_ulid_after(earlier: str) -> str:
    """Return a new ULID that sorts after an earlier one, also within its millisecond."""
    new = new_ulid()
    return new if new > earlier else encode_ulid(ulid_ms(earlier) + 1, int.from_bytes(os.urandom(10)))


def encode_ulid(at_ms: int, random_bits: int) -> str:
    value = (at_ms << 80) | random_bits
    pairs = [_PAIRS[value >> shift & 1023] for shift in range(120, -1, -10)]
    return "".join(pairs)


def message_id(chat: ChatId, sequence: int) -> MessageId:
    """Return an id that contains the message's chat and sequence, so that a look-up needs no index."""
    return MessageId(f"{chat}.{sequence}")


def split_message_id(name: MessageId) -> tuple[ChatId, int] | None:
    """Return the chat and sequence of a message id, or None if `name` is not one."""
    chat, _, sequence = name.rpartition(".")
    if not chat or not sequence.isdecimal() or not sequence.isascii() or sequence.startswith("0"):
        return None
    return ChatId(chat), int(sequence)


def ulid_ms(ulid: str) -> int:
    """Return the time of a ULID of `new_ulid`. Raises `ValueError` for other texts."""
    at_ms = 0
    for letter in ulid[:10]:
        at_ms = at_ms * 32 + _CROCKFORD.index(letter)
    return at_ms


def min_ulid(at_ms: int) -> str:
    """Return the lowest ULID of a millisecond. All ULIDs of earlier milliseconds sort below it."""
    return encode_ulid(at_ms, 0)


type Epoch = Callable[[], int]


def initial_epoch() -> int:
    return 0

"""Keys and channels: `prefix:{tenant#user}:kind…`.

The part in braces determines the slot. So all keys of a user are in one slot, and a Lua script can use them together.
"""

from binascii import crc_hqx
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NewType

Key = NewType("Key", str)
SLOTS = 16384
_NOT_IN_A_TENANT = frozenset("#{}")
_NOT_IN_A_USER = frozenset("{}")
_NOT_IN_A_KIND = frozenset(":")


@lru_cache(maxsize=20_000)
def slot(key: str) -> int:
    """Return the slot of a key in Redis Cluster: the CRC16 (XMODEM) of the part in the first braces."""
    raw = key.encode()
    opened = raw.find(b"{")
    if opened >= 0:
        closed = raw.find(b"}", opened + 1)
        if closed > opened + 1:
            raw = raw[opened + 1 : closed]
    return crc_hqx(raw, 0) % SLOTS


def common_slot(keys: Iterable[Key]) -> int:
    """Return the slot that all keys share. Raises `ValueError` if they differ, with a single node too."""
    slots = {slot(key) for key in keys}
    if len(slots) != 1:
        raise ValueError(f"A call needs keys, all of one slot: {list(keys)}")
    return slots.pop()


@dataclass(frozen=True)
class KeyBuilder:
    """Build keys. The tenant is the first part of each."""

    prefix: str

    def __post_init__(self) -> None:
        if set("{}") & set(self.prefix):
            raise ValueError(f"The key prefix {self.prefix!r} must not contain braces.")

    def key(self, tenant: str, user: str, kind: str, *more: str) -> Key:
        """Return the key of data of a user, of a chat or, with the tenant `_system`, of a gateway."""
        _check(tenant, "tenant", _NOT_IN_A_TENANT)
        _check(user, "user", _NOT_IN_A_USER)
        for part in (kind, *more):
            _check(part, "kind", _NOT_IN_A_KIND)
        return Key(":".join((self.prefix, f"{{{tenant}#{user}}}", kind, *more)))


def _check(part: str, what: str, forbidden: frozenset[str]) -> None:
    """Check that two different keys cannot have the same text."""
    if not part or not forbidden.isdisjoint(part):
        chars = "".join(sorted(forbidden))
        raise ValueError(f"The {what} {part!r} of a key must not be empty and must not contain {chars}.")

"""Keys and channels: `prefix:{tenant#user}:kind…`. The part in braces decides the slot, so that all keys
of a user stand together and one Lua script may use them.
"""

from binascii import crc_hqx
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NewType

Key = NewType("Key", str)
SLOTS = 16384
_NOT_IN_A_TENANT = frozenset("#{}")
_NOT_IN_A_USER = frozenset("{}")
_NOT_IN_A_KIND = frozenset(":")


def slot(key: str) -> int:
    """The slot that Redis Cluster gives a key: CRC16 (XMODEM) of what stands in the first braces."""
    raw = key.encode()
    opened = raw.find(b"{")
    if opened >= 0:
        closed = raw.find(b"}", opened + 1)
        if closed > opened + 1:
            raw = raw[opened + 1 : closed]
    return crc_hqx(raw, 0) % SLOTS


def common_slot(keys: Iterable[Key]) -> int:
    """The slot of all of them; keys of different slots can't be in one call, on a single node neither."""
    slots = {slot(key) for key in keys}
    if len(slots) != 1:
        raise ValueError(f"keys of one call must share one slot (and be there at all): {list(keys)}")
    return slots.pop()


@dataclass(frozen=True)
class KeyBuilder:
    """Builds keys. The tenant stands first and cannot be left out."""

    prefix: str

    def __post_init__(self) -> None:
        if set("{}") & set(self.prefix):
            raise ValueError(f"a key prefix has no braces: {self.prefix!r}")

    def key(self, tenant: str, user: str, kind: str, *more: str) -> Key:
        """The key of something that belongs to a user; or to a chat, or (tenant `_system`) to a gateway."""
        _check(tenant, "tenant", _NOT_IN_A_TENANT)
        _check(user, "user", _NOT_IN_A_USER)
        for part in (kind, *more):
            _check(part, "kind", _NOT_IN_A_KIND)
        return Key(":".join((self.prefix, f"{{{tenant}#{user}}}", kind, *more)))


def _check(part: str, what: str, forbidden: frozenset[str]) -> None:
    """Two different keys must never be written alike."""
    if not part or not forbidden.isdisjoint(part):
        raise ValueError(
            f"a {what} in a key is not empty and has none of {''.join(sorted(forbidden))}: {part!r}"
        )

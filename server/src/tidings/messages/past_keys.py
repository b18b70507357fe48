"""The keys of a chat's past, for a sender whose `after` lies further back than the chat's view reaches.

Such a read takes up to 1,000 entries. It is made outside the lane's turn, so that it holds up nobody but its own
sender, and each user has one at a time. A user's last read is kept for `PAST_KEYS_TTL_S` after its last use, so that an outbox
with many messages for one chat costs one read. The keys of all users together are bounded.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import IdempotencyKey, KeyRecord, PastKeySearch
from tidings.messages.ports import Log
from tidings.messages.rules import MAX_KEY_LOOKBACK

WINDOW_S: Final = 60.0
ENTRIES_PER_WINDOW: Final = 10_000
"""Of one user: ten chats whose `after` is as far back as it may be."""
PAST_KEYS_TTL_S: Final = WINDOW_S
"""No less than the window: a user who is forgotten has nothing left to be charged for."""
MAX_PAST_KEYS: Final = 64_000
"""Of all users together, some 300 bytes each."""


@dataclass(slots=True)
class _UserReads:
    """One user's reads. `keys` are those of (after, up_to] in `chat`."""

    since_s: float
    used_s: float
    entries: int = 0
    chat: ChatKey | None = None
    after: int = 0
    up_to: int = 0
    keys: dict[IdempotencyKey, KeyRecord] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    at_once: int = 0  # calls that hold `turn` or wait for it


class PastKeys:
    def __init__(self, log: Log, clock: Clock, *, keys_kept: int = MAX_PAST_KEYS) -> None:
        self.cached_count = 0
        self._log = log
        self._clock = clock
        self._max_keys = keys_kept
        self._readers: OrderedDict[tuple[TenantId, UserId], _UserReads] = (
            OrderedDict()
        )  # the last used is last

    async def find(self, chat: ChatKey, key: IdempotencyKey, after: int, up_to: int) -> PastKeySearch:
        """Look for the key in (after, up_to]. Raises `rate_limited` if its sender had too many entries read."""
        reader = self._reader(chat.tenant, key.sender)
        reader.at_once += 1
        try:
            async with reader.turn:
                seen = await self._find(reader, chat, key, after, up_to)
        finally:
            reader.at_once -= 1
        self._evict_beyond_limit()
        return PastKeySearch(up_to, seen if seen is not None and seen.sequence > after else None)

    async def _find(
        self, reader: _UserReads, chat: ChatKey, key: IdempotencyKey, after: int, up_to: int
    ) -> KeyRecord | None:
        if reader.chat != chat or not reader.after <= after <= reader.up_to:
            self._store(reader, {})
            reader.chat, reader.after, reader.up_to = chat, after, after
        if reader.up_to < up_to:
            self._charge(reader, up_to - reader.up_to)
            more = await self._log.keys(chat, reader.up_to, up_to)
            reader.after, reader.up_to = max(reader.after, up_to - MAX_KEY_LOOKBACK), up_to
            keys = (*reader.keys.items(), *more)
            self._store(reader, {each: seen for each, seen in keys if seen.sequence > reader.after})
        return reader.keys.get(key)

    def evict_old(self) -> None:
        """Forget the users who have had nothing read for `PAST_KEYS_TTL_S`, and their keys."""
        now_s = self._clock.monotonic()
        while self._readers:
            who, reader = next(iter(self._readers.items()))
            if now_s - reader.used_s < PAST_KEYS_TTL_S or reader.at_once:
                return
            self._store(reader, {})
            del self._readers[who]

    def _store(self, reader: _UserReads, keys: dict[IdempotencyKey, KeyRecord]) -> None:
        self.cached_count += len(keys) - len(reader.keys)
        reader.keys = keys

    def _charge(self, reader: _UserReads, entries: int) -> None:
        now_s = self._clock.monotonic()
        if now_s - reader.since_s >= WINDOW_S:
            reader.since_s, reader.entries = now_s, 0
        if reader.entries + entries > ENTRIES_PER_WINDOW:
            raise TidingsError(
                Code.RATE_LIMITED,
                "Too many messages were sent with an `after` far back: read the chats, then send with a newer one.",
            )
        reader.entries += entries

    def _reader(self, tenant: TenantId, user: UserId) -> _UserReads:
        now_s = self._clock.monotonic()
        reader = self._readers.get((tenant, user))
        if reader is None:
            reader = self._readers[tenant, user] = _UserReads(now_s, now_s)
        reader.used_s = now_s
        self._readers.move_to_end((tenant, user))
        return reader

    def _evict_beyond_limit(self) -> None:
        """Forget the keys of those who used them longest ago. What the users were charged stays known."""
        for reader in self._readers.values():
            if self.cached_count <= self._max_keys:
                return
            if reader.keys and not reader.at_once:
                self._store(reader, {})
                reader.chat = None

"""Search the keys of old entries, for a sender whose `after` is further back than the chat's view reaches.

Such a read covers up to 1,000 entries. It runs outside the append queue's turn, so only its own sender waits, and each
user has one read at a time. A user's last read is cached for `PAST_KEYS_TTL_S` after its last use, so an outbox with
many messages for one chat costs one read. The number of cached keys is bounded for all users together.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import IdempotencyKey, KeyRecord, PastKeySearch
from tidings.messages.ports import MessageLog
from tidings.messages.rules import MAX_KEY_LOOKBACK

WINDOW_S: Final = 60.0
ENTRIES_PER_WINDOW: Final = 10_000
"""Limit per user: ten chats with the oldest allowed `after`."""
PAST_KEYS_TTL_S: Final = WINDOW_S
"""At least the window, so that eviction never resets a user's rate limit early."""
MAX_PAST_KEYS: Final = 64_000
"""For all users together; about 300 bytes each."""


@dataclass(slots=True)
class _UserReads:
    """The reads of one user. `keys` are those of `(after, up_to]` in `chat`."""

    since_s: float
    used_s: float
    entries: int = 0
    chat: ChatKey | None = None
    after: int = 0
    up_to: int = 0
    keys: dict[IdempotencyKey, KeyRecord] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    callers: int = 0  # calls that hold `lock` or wait for it


class PastKeys:
    def __init__(self, log: MessageLog, clock: Clock, *, max_keys: int = MAX_PAST_KEYS) -> None:
        self.cached_count = 0
        self._log = log
        self._clock = clock
        self._max_keys = max_keys
        # least recently used first
        self._readers: OrderedDict[tuple[TenantId, UserId], _UserReads] = OrderedDict()

    async def find(self, chat: ChatKey, key: IdempotencyKey, after: int, up_to: int) -> PastKeySearch:
        """Search the key in `(after, up_to]`. Raises `rate_limited` if its sender has caused too many reads."""
        reader = self._reader(chat.tenant, key.sender)
        reader.callers += 1
        try:
            async with reader.lock:
                seen = await self._find(reader, chat, key, after, up_to)
        finally:
            reader.callers -= 1
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
        """Evict the users without a read in the last `PAST_KEYS_TTL_S`."""
        now_s = self._clock.monotonic()
        while self._readers:
            owner, reader = next(iter(self._readers.items()))
            if now_s - reader.used_s < PAST_KEYS_TTL_S or reader.callers:
                return
            self._store(reader, {})
            del self._readers[owner]

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
                "Too many sends with an old `after`. Read the newer entries of the chats, then send with a newer `after`.",
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
        """Evict the keys of the least recently active users, but not their rate-limit counts."""
        # Race: one user's call waits for the log while another user's call evicts. A reader with active callers is
        # skipped, because its `after` and `up_to` must keep describing its `keys`.
        for reader in self._readers.values():
            if self.cached_count <= self._max_keys:
                return
            if reader.keys and not reader.callers:
                self._store(reader, {})
                reader.chat = None

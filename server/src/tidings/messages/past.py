"""The keys of a chat's past, for a sender whose `after` lies further back than the chat's view reaches.

Such a read takes up to 1,000 entries. It is made outside the lane's turn, so that it holds up nobody but its own
sender, and each user has one at a time. A user's last read is kept for a while: an outbox with many messages for one
chat costs one read.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import Past, Seen, SendKey

if TYPE_CHECKING:
    from tidings.messages.ports import Log

WINDOW_S: Final = 60.0
ENTRIES_PER_WINDOW: Final = 10_000
"""Of one user: ten chats whose `after` is as far back as it may be."""
USERS_KEPT = 64


@dataclass(slots=True)
class _Reader:
    """One user's reads. `keys` are those of (after, up_to] in `chat`."""

    since_s: float
    entries: int = 0
    chat: ChatKey | None = None
    after: int = 0
    up_to: int = 0
    keys: dict[SendKey, Seen] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class PastKeys:
    def __init__(self, log: "Log", clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._readers: OrderedDict[tuple[TenantId, UserId], _Reader] = OrderedDict()

    async def find(self, chat: ChatKey, key: SendKey, after: int, up_to: int) -> Past:
        """Look for the key in (after, up_to]. Raises `rate_limited` if its sender had too many entries read."""
        reader = self._reader(chat.tenant, key.sender)
        async with reader.turn:
            if reader.chat != chat or not reader.after <= after <= reader.up_to:
                reader.chat, reader.after, reader.up_to, reader.keys = chat, after, after, {}
            if reader.up_to < up_to:
                self._charge(reader, up_to - reader.up_to)
                reader.keys |= await self._log.keys(chat, reader.up_to, up_to)
                reader.up_to = up_to
            seen = reader.keys.get(key)
        return Past(up_to, seen if seen is not None and seen.sequence > after else None)

    def _charge(self, reader: _Reader, entries: int) -> None:
        now_s = self._clock.monotonic()
        if now_s - reader.since_s >= WINDOW_S:
            reader.since_s, reader.entries = now_s, 0
        if reader.entries + entries > ENTRIES_PER_WINDOW:
            raise TidingsError(
                Code.RATE_LIMITED,
                "Too many messages were sent with an `after` far back: read the chats, then send with a newer one.",
            )
        reader.entries += entries

    def _reader(self, tenant: TenantId, user: UserId) -> _Reader:
        reader = self._readers.get((tenant, user))
        if reader is None:
            reader = self._readers[tenant, user] = _Reader(self._clock.monotonic())
            self._forget_oldest()
        self._readers.move_to_end((tenant, user))
        return reader

    def _forget_oldest(self) -> None:
        """Never a reader that is in use: its user would have two reads at a time."""
        if len(self._readers) <= USERS_KEPT:
            return
        for who, reader in self._readers.items():
            if not reader.turn.locked():
                del self._readers[who]
                return

"""The repair job, for outages longer than the stream's 24 hours: holds a chat's rows against its log.

What is behind is handled as the delivery worker does it, and published again, so that devices get it too. May be run
at any time, beside everything else, and any number of times: what is not behind is only read.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tidings.kernel.fences import Fence
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry


class Mended(NamedTuple):
    """Entries of `(after, head]` were behind in some row, and are not any more."""

    after: int
    head: int


class Books(Protocol):
    async def head(self, chat: ChatKey) -> int:
        """The log's; strong. 0 where there is no chat."""
        ...

    async def came_to(self, chat: ChatKey, head: int) -> int:
        """What the row that is furthest behind has come to; `head` if none is."""
        ...

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        """Entries of `(after, up_to]`, as many as one read gives; strong."""
        ...


class Missed(Protocol):
    """What some row should have had before."""

    @property
    def after(self) -> int: ...


class Handler(Protocol):
    async def handle(self, chat: ChatKey, entries: Sequence[Entry]) -> Missed | None: ...


class Publish(Protocol):
    async def publish(self, chat: ChatKey, entries: Sequence[Entry]) -> Fence: ...


class Repair:
    def __init__(self, books: Books, rows: Handler, outbox: Publish) -> None:
        self._books = books
        self._rows = rows
        self._outbox = outbox

    async def look(self, chat: ChatKey) -> Mended | None:
        """What `mend` would do. None: nothing."""
        head = await self._books.head(chat)
        after = await self._books.came_to(chat, head) if head else 0
        return Mended(after, head) if after < head else None

    async def mend(self, chat: ChatKey) -> Mended | None:
        """None: nothing was behind."""
        found = await self.look(chat)
        if found is not None:
            await self._handle(chat, found.after, found.head)
        return found

    async def _handle(self, chat: ChatKey, after: int, up_to: int) -> None:
        while after < up_to:
            entries = await self._books.between(chat, after, up_to)
            if not entries:
                return
            missed = await self._rows.handle(chat, entries)
            if missed is not None and missed.after < after:
                await self._handle(chat, missed.after, after)
            # after the rows: whoever gets the event finds the truth written
            await self._outbox.publish(chat, entries)
            after = entries[-1].sequence

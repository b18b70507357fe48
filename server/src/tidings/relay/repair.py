"""The repair job, for outages longer than the stream's 24 hours: holds a chat's rows against its log.

What is behind is handled as the delivery worker does it, and published again, so that devices get it too. May be run
at any time, beside everything else, and any number of times: what is not behind is only read.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from tidings.kernel.fences import OffsetFence
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry


class RepairResult(NamedTuple):
    """Entries of `(after, head]` were behind in some row, and are not any more."""

    after: int
    head: int


class RepairReader(Protocol):
    async def head(self, chat: ChatKey) -> int:
        """The log's; strong. 0 where there is no chat."""
        ...

    async def row_progress(self, chat: ChatKey, head: int) -> int:
        """What the row that is furthest behind has come to; `head` if none is."""
        ...

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        """Entries of `(after, up_to]`, as many as one read gives; strong."""
        ...


class RepairRange(Protocol):
    """What some row should have had before."""

    @property
    def after(self) -> int: ...


class RowHandler(Protocol):
    async def handle(self, chat: ChatKey, entries: Sequence[Entry]) -> RepairRange | None: ...


class EventPublish(Protocol):
    async def publish(self, chat: ChatKey, entries: Sequence[Entry]) -> OffsetFence: ...


class Repair:
    def __init__(self, reader: RepairReader, rows: RowHandler, outbox: EventPublish) -> None:
        self._reader = reader
        self._rows = rows
        self._outbox = outbox

    async def inspect(self, chat: ChatKey) -> RepairResult | None:
        """What `repair` would do. None: nothing."""
        head = await self._reader.head(chat)
        after = await self._reader.row_progress(chat, head) if head else 0
        return RepairResult(after, head) if after < head else None

    async def repair(self, chat: ChatKey) -> RepairResult | None:
        """None: nothing was behind."""
        found = await self.inspect(chat)
        if found is not None:
            await self._handle(chat, found.after, found.head)
        return found

    async def _handle(self, chat: ChatKey, after: int, up_to: int) -> None:
        while after < up_to:
            entries = await self._reader.between(chat, after, up_to)
            if not entries:
                return
            missed = await self._rows.handle(chat, entries)
            if missed is not None and missed.after < after:
                await self._handle(chat, missed.after, after)
            # after the rows: whoever gets the event finds the truth written
            await self._outbox.publish(chat, entries)
            after = entries[-1].sequence


@dataclass(slots=True)
class RepairRun:
    """One chat after the other. `state_path` holds how many were done, so that a walk that was ended goes on there."""

    repair: Callable[[ChatKey], Awaitable[RepairResult | None]]
    chats_per_s: float
    state_path: Path | None = None
    report: Callable[[ChatKey, RepairResult], None] = lambda _, __: None
    seen: int = 0
    repaired: int = 0
    entries: int = 0
    _began_at: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    def skipped(self) -> int:
        """How many an earlier walk has done."""
        return (
            int(self.state_path.read_text() or 0)
            if self.state_path is not None and self.state_path.exists()
            else 0
        )

    async def over(self, chats: AsyncIterator[ChatKey]) -> None:
        done = skip = self.skipped()
        async for chat in chats:
            if skip:
                skip -= 1
                continue
            await self._one(chat)
            done += 1
            if self.state_path is not None:
                self.state_path.write_text(str(done))

    async def _one(self, chat: ChatKey) -> None:
        found = await self.repair(chat)
        self.seen += 1
        if found is not None:
            self.repaired += 1
            self.entries += found.head - found.after
            self.report(chat, found)
        ahead_s = self._began_at + self.seen / self.chats_per_s - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, ahead_s))

"""The repair job, for outages longer than the 24 hours of the stream: compares the rows of a chat with its log.

Missing entries are processed as the delivery worker does it and published again, so that devices receive them. After a
restore or failover, redacted messages that still have their text are emptied. The job can run at any time, concurrently
with all other processes, and any number of times: complete chats are only read.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from tidings.delivery.model import MissedRange
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry
from tidings.relay.model import EventPublisher


class RepairResult(NamedTuple):
    """Entries of `(after, head]` were missing in some row. Messages at `unredacted` had text after their redaction."""

    after: int
    head: int
    unredacted: Sequence[int] = ()


class RepairReader(Protocol):
    """Strongly consistent reads of a chat's log and rows."""

    async def head(self, chat: ChatKey) -> int:
        """Return the head of the log; 0 if the chat does not exist."""
        ...

    async def row_progress(self, chat: ChatKey, head: int) -> int:
        """Return the sequence up to which all rows are complete; `head` if nothing is missing."""
        ...

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        """Read entries of `(after, up_to]`, as many as one read returns."""
        ...


class RedactionRepair(Protocol):
    async def find(self, chat: ChatKey) -> Sequence[int]:
        """Return the sequences of redacted messages that still have their text."""
        ...

    async def finish(self, chat: ChatKey) -> Sequence[int]:
        """Remove what is left of redacted messages. Return the sequences of those that still had their text."""
        ...


type WriteRows = Callable[[ChatKey, Sequence[Entry]], Awaitable[MissedRange | None]]
"""Writes the chat rows of entries. Returns a range that is missing in a row, or None."""


class Repair:
    def __init__(
        self,
        reader: RepairReader,
        write_rows: WriteRows,
        publisher: EventPublisher,
        redactions: RedactionRepair,
    ) -> None:
        self._reader = reader
        self._redactions = redactions
        self._write_rows = write_rows
        self._publisher = publisher

    async def inspect(self, chat: ChatKey) -> RepairResult | None:
        """Return what `repair` would repair, or None."""
        return await self._compare(chat, self._redactions.find)

    async def repair(self, chat: ChatKey) -> RepairResult | None:
        """Finish redactions, write what is missing in the rows and publish it. Return None if nothing was missing."""
        found = await self._compare(chat, self._redactions.finish)
        if found is not None:
            await self._process(chat, found.after, found.head)
        return found

    async def _compare(
        self, chat: ChatKey, redactions: Callable[[ChatKey], Awaitable[Sequence[int]]]
    ) -> RepairResult | None:
        head = await self._reader.head(chat)
        after = await self._reader.row_progress(chat, head) if head else 0
        unredacted = await redactions(chat)
        return RepairResult(after, head, unredacted) if after < head or unredacted else None

    async def _process(self, chat: ChatKey, after: int, up_to: int) -> None:
        while after < up_to:
            entries = await self._reader.between(chat, after, up_to)
            if not entries:
                return
            # Race: a worker writes the same rows at the same time. Both writes are conditional on the row's sequence, so
            # rows only advance, in any order of the two.
            missed = await self._write_rows(chat, entries)
            if missed is not None and missed.after < after:
                await self._process(chat, missed.after, after)
            # Publish after the rows are written: a worker that receives the event relies on them.
            await self._publisher.publish(chat, entries)
            after = entries[-1].sequence


@dataclass(slots=True)
class RepairRun:
    """Repairs one chat after the other. `state_path` stores the number of finished chats, to continue an aborted run."""

    repair: Callable[[ChatKey], Awaitable[RepairResult | None]]
    chats_per_s: float
    state_path: Path | None = None
    report: Callable[[ChatKey, RepairResult], None] = lambda _, __: None
    seen: int = 0
    repaired: int = 0
    entries: int = 0
    _started_at: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    def skipped(self) -> int:
        """Return the number of chats that an earlier run has finished."""
        if self.state_path is None or not self.state_path.exists():
            return 0
        return int(self.state_path.read_text() or 0)

    async def run(self, chats: AsyncIterator[ChatKey]) -> None:
        done = skip = self.skipped()
        async for chat in chats:
            if skip:
                skip -= 1
                continue
            await self._repair_one(chat)
            done += 1
            if self.state_path is not None:
                self.state_path.write_text(str(done))

    async def _repair_one(self, chat: ChatKey) -> None:
        found = await self.repair(chat)
        self.seen += 1
        if found is not None:
            self.repaired += 1
            self.entries += found.head - found.after
            self.report(chat, found)
        ahead_s = self._started_at + self.seen / self.chats_per_s - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, ahead_s))

"""Until a delivery worker reads Kafka: has the rows written by the process that committed, off the ack path.

Best effort. What waits is bounded: past the bound only ranges are kept, and read from the log when their turn comes.
A process that dies loses lateness alone, because the next entry of a chat shows what its rows have missed.
"""

import asyncio
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tidings.delivery.ports import Log
from tidings.delivery.rows import Missed
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry

_log = logging.getLogger(__name__)

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.05, 5.0


class Handler(Protocol):
    async def handle(self, chat: ChatKey, entries: Sequence[Entry]) -> Missed | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Entries and chats that may wait, and chats that are worked on at once."""

    entries: int = 20_000
    chats: int = 100_000
    at_once: int = 16


@dataclass(slots=True)
class _Backlog:
    """What waits of one chat. `is_range`: its entries were let go, `first` to `last` is to be read."""

    first: int
    last: int
    entries: list[Entry] = field(default_factory=list)
    is_range: bool = False

    def let_go(self) -> int:
        freed, self.entries, self.is_range = len(self.entries), [], True
        return freed


class AfterCommit:
    """Given to the lanes as `told`. Of each chat one run at a time, in order, with whatever came in meanwhile."""

    def __init__(self, rows: Handler, log: Log, bounds: Bounds | None = None) -> None:
        self._rows = rows
        self._log = log
        self._bounds = bounds or Bounds()
        self._waiting: dict[ChatKey, _Backlog] = {}
        self._busy: set[ChatKey] = set()
        self._turns: asyncio.Queue[ChatKey] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._held = 0
        self.dropped = 0
        """Times that even a range found no room, or that something is wrong with a chat: late until its next entry."""

    def __call__(self, chat: ChatKey, entries: Sequence[Entry], /) -> None:
        backlog = self._waiting.get(chat)
        if backlog is None:
            if len(self._waiting) >= self._bounds.chats:
                self.dropped += 1
                return
            backlog = self._waiting[chat] = _Backlog(entries[0].sequence, entries[-1].sequence)
            if chat not in self._busy:
                self._turns.put_nowait(chat)
        self._keep(backlog, entries)

    @property
    def is_idle(self) -> bool:
        return not self._waiting and not self._busy

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._bounds.at_once)]

    async def stop(self, within_s: float = 5.0) -> None:
        """What waits is still written, as far as the time allows."""
        try:
            async with asyncio.timeout(within_s):
                await self._turns.join()
        except TimeoutError:
            _log.warning(
                "chat-list rows of %d chats were left for later", len(self._waiting) + len(self._busy)
            )
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _keep(self, backlog: _Backlog, entries: Sequence[Entry]) -> None:
        backlog.last = max(backlog.last, entries[-1].sequence)
        if backlog.is_range:
            return
        if self._held + len(entries) > self._bounds.entries:
            self._held -= backlog.let_go()
            return
        backlog.entries += entries
        self._held += len(entries)

    async def _work(self) -> None:
        while True:
            chat = await self._turns.get()
            backlog = self._waiting.pop(chat)
            self._held -= len(backlog.entries)
            self._busy.add(chat)
            try:
                await self._settle(chat, backlog)
            finally:
                self._busy.discard(chat)
                if chat in self._waiting:
                    self._turns.put_nowait(chat)
                self._turns.task_done()

    async def _settle(self, chat: ChatKey, backlog: _Backlog) -> None:
        tried = 0
        while True:
            try:
                return await self._handle(chat, backlog)
            except TidingsError as error:
                if not error.retryable:
                    return self._give_up(chat)
                wait_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**tried)
                await asyncio.sleep(random.uniform(wait_s / 2, wait_s))  # noqa: S311 - spreads tries, hides nothing
                tried += 1
            except Exception:  # noqa: BLE001 - one chat that can't be handled must not end the worker
                return self._give_up(chat)

    def _give_up(self, chat: ChatKey) -> None:
        self.dropped += 1
        _log.exception("chat-list rows of %s#%s could not be written", *chat)

    async def _handle(self, chat: ChatKey, backlog: _Backlog) -> None:
        if backlog.is_range:
            await self._read_and_handle(chat, backlog.first - 1, backlog.last)
            return
        missed = await self._rows.handle(chat, backlog.entries)
        if missed is not None:
            await self._read_and_handle(chat, *missed)

    async def _read_and_handle(self, chat: ChatKey, after: int, up_to: int) -> None:
        """What is missed before a range that was missed is read, too; at most down to where the log begins."""
        while after < up_to:
            entries = await self._log.between(chat, after, up_to)
            if not entries:
                return
            missed = await self._rows.handle(chat, entries)
            if missed is not None and missed.after < after:
                await self._read_and_handle(chat, missed.after, after)
            after = entries[-1].sequence

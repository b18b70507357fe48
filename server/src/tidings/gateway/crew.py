"""A few at a time: work on many things, each at most once in the queue, by as many tasks as are allowed."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import final

from tidings.gateway.shares import SlotTurn


@final
class WorkQueue[T: Hashable]:
    """`work` decides itself what to do about errors; one that leaves it is reported and the crew goes on.

    Work that steps `aside` gives up its place meanwhile, and gets the next free one before anything new is begun.
    """

    def __init__(
        self,
        work: Callable[[T], Awaitable[None]],
        at_once: int,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._work = work
        self._at_once = at_once
        self._report = report
        self._waiting: dict[T, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._returning: deque[asyncio.Future[None]] = deque()
        self._working = 0
        self.done = 0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._tasks)

    def add(self, item: T) -> None:
        """Once, however often it is said before its turn comes."""
        self._waiting[item] = None
        self._fill()

    async def wait_idle(self, within_s: float) -> None:
        """What is not done by then is left."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=within_s)
        self._waiting.clear()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _fill(self) -> None:
        """Start one more worker if there is work and a place for it."""
        # not by the tasks: one that has just ended is among them until its callback has run
        if self._waiting and self._working < self._at_once:
            self._working += 1
            task = asyncio.get_running_loop().create_task(self._run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        """Work until nothing waits. The place is then free, or goes to work that comes back from `aside`."""
        try:
            while self._waiting and not self._returning:
                item = next(iter(self._waiting))
                del self._waiting[item]
                await self._do(item)
        finally:
            self._leave()

    async def _do(self, item: T) -> None:
        turn = SlotTurn(self._enter, self._leave)
        try:
            with turn:
                await self._work(item)
        except Exception as error:  # noqa: BLE001 - one that fails must not end those behind it
            self._report("work for a device failed", error)
        finally:
            if not turn.is_held:
                # it failed while it was aside: `_run` gives back a place, which this one no longer has
                self._working += 1
        self.done += 1

    def _leave(self) -> None:
        self._working -= 1
        while self._returning:
            back = self._returning.popleft()
            if not back.done():
                self._working += 1
                back.set_result(None)
                return
        self._fill()

    async def _enter(self) -> None:
        if self._working < self._at_once:
            self._working += 1
            return
        back = asyncio.get_running_loop().create_future()
        self._returning.append(back)
        try:
            await back
        except asyncio.CancelledError:
            if back.done() and not back.cancelled():
                self._leave()
            raise

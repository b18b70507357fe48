"""A few at a time: work on many things, each at most once in the queue, by as many tasks as are allowed."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import final


@final
class Crew[T: Hashable]:
    """`work` decides itself what to do about errors; one that leaves it is reported and the crew goes on."""

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
        self._working = 0
        self.done = 0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._tasks)

    def add(self, item: T) -> None:
        """Once, however often it is said before its turn comes."""
        self._waiting[item] = None
        if self._working < self._at_once:
            # not by the tasks: one that has just ended is among them until its callback has run
            self._working += 1
            task = asyncio.get_running_loop().create_task(self._run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def settled(self, within_s: float) -> None:
        """What is not done by then is left."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=within_s)
        self._waiting.clear()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while self._waiting:
                item = next(iter(self._waiting))
                del self._waiting[item]
                await self._do(item)
        finally:
            self._working -= 1

    async def _do(self, item: T) -> None:
        try:
            await self._work(item)
        except Exception as error:  # noqa: BLE001 - one that fails must not end those behind it
            self._report("work for a device failed", error)
        self.done += 1

"""One answer for those who ask for the same thing at the same time. Remembers nothing after that."""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable
from functools import partial
from typing import Any, final

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.fair_shares import SlotTurn


class SingleFlight[K, T]:
    """Those who ask for the same thing at the same time share one answer; one who is cancelled stops it for nobody."""

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Task[T]] = {}

    async def __call__(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await asyncio.shield(self._task(key, work))

    def start(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """Without waiting for it. If one is under way for this key, no second one is started."""
        _ = self._task(key, work)

    def _task(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(work())
            task.add_done_callback(partial(self._drop, key))
        return task

    def __contains__(self, key: K) -> bool:
        return key in self._running

    def _drop(self, key: K, task: asyncio.Task[T]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # looked at, because all who waited may have been cancelled


TRIES = 12
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.005, 0.2


async def retry_on_conflict[T](step: Callable[[], Awaitable[T]]) -> T:
    """Many who change one thing at once each lose some rounds; chance keeps them from losing them all together."""
    for tried in range(TRIES - 1):
        try:
            return await step()
        except TidingsError as error:
            if error.code is not Code.WRITE_CONFLICT:
                raise
        await asyncio.sleep(random.uniform(0, min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**tried)))  # noqa: S311
    return await step()


MAX_CONCURRENT = 25


async def gather_limited[T](calls: Iterable[Awaitable[T]], at_once: int = MAX_CONCURRENT) -> list[T]:
    """All are tried before the first error is told, so that one in trouble does not hold up the others."""
    done = await gather_results(calls, at_once)
    for result in done:
        if isinstance(result, BaseException):
            raise result
    return [result for result in done if not isinstance(result, BaseException)]


async def gather_results[T](
    calls: Iterable[Awaitable[T]], at_once: int = MAX_CONCURRENT
) -> list[T | BaseException]:
    """What each gave or raised, in their order. A task costs more than many a call: one alone gets none."""
    waiting = list(calls)
    if len(waiting) == 1:
        return [await _outcome(waiting[0])]
    if len(waiting) <= at_once:
        return await asyncio.gather(*waiting, return_exceptions=True)
    room = asyncio.Semaphore(at_once)

    async def call(each: Awaitable[T]) -> T:
        async with room:
            return await each

    return await asyncio.gather(*map(call, waiting), return_exceptions=True)


async def _outcome[T](call: Awaitable[T]) -> T | BaseException:
    try:
        return await call
    except Exception as error:  # noqa: BLE001 - told, as those of many are
        return error


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

"""Run concurrent work: single flight, retry on a version conflict, bounded gather, a work queue."""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable
from functools import partial
from typing import Any, final

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.fair_shares import SlotTurn


class SingleFlight[K, T]:
    """Share one task among concurrent calls with the same key.

    Cancelling a caller does not cancel the task. Results are not cached: a call after the end starts a new task.
    """

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Task[T]] = {}

    async def run(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await asyncio.shield(self._task(key, work))

    def start(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """Start the task without waiting for it, unless one is in flight for this key."""
        _ = self._task(key, work)

    def _task(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(work())
            task.add_done_callback(partial(self._drop, key))
        return task

    def forget(self, key: K) -> None:
        """Let the next call start a new task. A task that is in flight continues for its callers."""
        self._running.pop(key, None)

    def is_current(self, key: K) -> bool:
        """Return whether the calling task is the one of this key. False after `forget`."""
        return self._running.get(key) is asyncio.current_task()

    def __contains__(self, key: K) -> bool:
        return key in self._running

    def _drop(self, key: K, task: asyncio.Task[T]) -> None:
        if self._running.get(key) is task:
            del self._running[key]
        if not task.cancelled():
            # Every caller may have been cancelled. Reading the exception keeps asyncio from logging it as lost.
            task.exception()


TRIES = 12
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.005, 0.2


async def retry_on_conflict[T](step: Callable[[], Awaitable[T]]) -> T:
    """Run `step` until it succeeds without a version conflict, at most 12 times.

    `step` must read the row that it changes. The wait between attempts is random, so that writers which collided
    once do not collide again. Raises the last conflict, and any other error of `step` at once.
    """
    for tried in range(TRIES - 1):
        try:
            return await step()
        except TidingsError as error:
            if error.code is not Code.WRITE_CONFLICT:
                raise
        await asyncio.sleep(random.uniform(0, min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**tried)))  # noqa: S311
    return await step()


MAX_CONCURRENT = 25


async def gather_limited[T](calls: Iterable[Awaitable[T]], max_concurrent: int = MAX_CONCURRENT) -> list[T]:
    """Await all calls, at most `max_concurrent` at a time, and return their results in order.

    All calls run to their end, also when one fails. Then the first error in the order of the calls is raised.
    """
    outcomes = await gather_results(calls, max_concurrent)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


async def gather_results[T](
    calls: Iterable[Awaitable[T]], max_concurrent: int = MAX_CONCURRENT
) -> list[T | BaseException]:
    """Await all calls, at most `max_concurrent` at a time, and return the result or error of each, in order."""
    waiting = list(calls)
    if len(waiting) == 1:
        # A task costs more than most calls: a single one is awaited here.
        try:
            return [await waiting[0]]
        except Exception as error:  # noqa: BLE001 - returned, as the errors of several calls are
            return [error]
    if len(waiting) <= max_concurrent:
        return await asyncio.gather(*map(_start_now, waiting), return_exceptions=True)
    slots = asyncio.Semaphore(max_concurrent)

    async def call(each: Awaitable[T]) -> T:
        async with slots:
            return await each

    return await asyncio.gather(*map(call, waiting), return_exceptions=True)


def _start_now[T](call: Awaitable[T]) -> Awaitable[T]:
    """Run a coroutine up to its first wait at once. A task that starts later costs one more turn of the event loop."""
    if not asyncio.iscoroutine(call):
        return call
    return asyncio.Task(call, loop=asyncio.get_running_loop(), eager_start=True)


@final
class WorkQueue[T: Hashable]:
    """A queue of distinct items, each processed once by `work`, at most `max_concurrent` at a time.

    An error that `work` raises is reported, and the queue continues with the next item. Work that calls `release_slot`
    frees its slot meanwhile. When it returns, it gets the next free slot before any new item starts.
    """

    def __init__(
        self,
        work: Callable[[T], Awaitable[None]],
        max_concurrent: int,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._work = work
        self._max_concurrent = max_concurrent
        self._report = report
        self._waiting: dict[T, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._returning: deque[asyncio.Future[None]] = deque()
        self._working = 0
        self.done = 0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._tasks)

    def add(self, item: T) -> None:
        """Queue an item. An item that already waits is not queued twice."""
        self._waiting[item] = None
        self._fill()

    async def wait_idle(self, within_s: float) -> None:
        """Wait until the running work has ended, at most `within_s`. Then drop waiting items and cancel the rest."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=within_s)
        self._waiting.clear()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _fill(self) -> None:
        """Start one more worker if an item waits and a slot is free."""
        # `len(self._tasks)` would be wrong here: a task that has just ended is removed later, by its callback.
        if self._waiting and self._working < self._max_concurrent:
            self._working += 1
            task = asyncio.get_running_loop().create_task(self._run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        """Work until no item waits, or until work that called `release_slot` needs the slot."""
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
        except Exception as error:  # noqa: BLE001 - an item that fails must not stop the queue
            self._report("work for a device failed", error)
        finally:
            if not turn.is_held:
                # It failed inside `release_slot`, without a slot. `_run` releases one at its end, so count one here.
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
        if self._working < self._max_concurrent:
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

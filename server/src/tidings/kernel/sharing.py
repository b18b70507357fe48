"""One answer for those who ask for the same thing at the same time. Remembers nothing after that."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any


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

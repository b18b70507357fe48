"""Debounce: gather events for a window, then process them together."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, final

type ErrorReporter = Callable[[str, BaseException], None]


@final
class Debouncer:
    """Call `flush` once per window in which events arrived, and never twice at the same time.

    The owner stores the events and calls `schedule` for each; `flush` takes all that are stored. The first event opens
    the window. Events that arrive during a flush open the next window when the flush ends, so a slow engine makes the
    batches larger instead of adding flushes.

    An error of `flush` is reported, and the next event opens a window as usual. A `flush` that wants to retry stores
    its events again and calls `schedule`. Not thread-safe: use it in one event loop.
    """

    def __init__(
        self, flush: Callable[[], Coroutine[Any, Any, None]], window_s: float, on_error: ErrorReporter
    ) -> None:
        self._flush = flush
        self._window_s = window_s
        self._report = on_error
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_scheduled = False

    @property
    def is_idle(self) -> bool:
        """Whether no window is open and no flush runs."""
        return self._timer is None and self._task is None

    @property
    def is_flushing(self) -> bool:
        return self._task is not None

    def schedule(self) -> None:
        """Make sure that a flush starts after this call, within a window if none is running."""
        self._is_scheduled = True
        if self._timer is None and self._task is None:
            self._timer = asyncio.get_running_loop().call_later(self._window_s, self._start)

    async def wait_idle(self, within_s: float) -> None:
        """Flush without waiting for the window, until nothing is scheduled. After `within_s`, cancel and drop the rest."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while not self.is_idle:
            if self._timer is not None:
                self._timer.cancel()
                self._start()
            left_s = deadline - loop.time()
            if self._task is None or left_s <= 0:
                break
            await asyncio.wait([self._task], timeout=left_s)
        self._is_scheduled = False
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _start(self) -> None:
        self._timer = None
        self._is_scheduled = False
        self._task = asyncio.get_running_loop().create_task(self._flush())
        self._task.add_done_callback(self._on_flushed)

    def _on_flushed(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report("flush failed", error)
        if self._is_scheduled:
            self.schedule()

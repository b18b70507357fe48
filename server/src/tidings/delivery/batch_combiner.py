"""Combine the batches of several partitions into one call of the delivery worker.

A partition has few records at a time, and each call of the worker looks up routes, publishes to gateways and writes
checkpoints. Combined batches share these steps.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from tidings.delivery.worker import ChatEntries
from tidings.kernel.ids import ChatKey

MAX_CONCURRENT = 2
"""How many calls of the worker run before a new batch waits for one of them."""
MAX_WAIT_S = 0.05
"""How long a batch waits at most, so that a slow chat does not delay the partitions of other chats."""

type Process = Callable[[Sequence[ChatEntries]], Awaitable[Mapping[ChatKey, BaseException]]]
"""Process entries and return the chats that failed, with their errors."""


class _Waiting(NamedTuple):
    events: Sequence[ChatEntries]
    done: asyncio.Future[None]


class BatchCombiner:
    def __init__(self, process: Process) -> None:
        self._process = process
        self._waiting: list[_Waiting] = []
        self._running: dict[asyncio.Task[None], Sequence[_Waiting]] = {}
        self._timer: asyncio.Handle | None = None

    async def handle(self, events: Sequence[ChatEntries]) -> None:
        """Return when all events are processed. Raise the error of a chat among them."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(events, loop.create_future())
        self._waiting.append(waiting)
        if self._timer is None:
            # The partitions of one fetch call this method in the same turn of the event loop.
            is_free = len(self._running) < MAX_CONCURRENT
            self._timer = loop.call_soon(self._start) if is_free else loop.call_later(MAX_WAIT_S, self._start)
        try:
            await waiting.done
        finally:
            self._cancel_abandoned()

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch = [each for each in self._waiting if not each.done.done()]
        self._waiting = []
        if batch:
            task = asyncio.get_running_loop().create_task(self._run(batch))
            self._running[task] = batch
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        if self._waiting:
            self._start()

    async def _run(self, batch: Sequence[_Waiting]) -> None:
        events = [event for each in batch for event in each.events]
        failed: Mapping[ChatKey, BaseException]
        try:
            failed = await self._process(events)
        except Exception as error:  # noqa: BLE001 - each partition raises it
            failed = dict.fromkeys((chat for chat, _ in events), error)
        for each in batch:
            if each.done.done():
                continue
            if errors := [failed[chat] for chat, _ in each.events if chat in failed]:
                each.done.set_exception(errors[0])
            else:
                each.done.set_result(None)

    def _cancel_abandoned(self) -> None:
        """Cancel the calls that no partition waits for any more."""
        for task, batch in self._running.items():
            if all(each.done.cancelled() for each in batch):
                task.cancel()

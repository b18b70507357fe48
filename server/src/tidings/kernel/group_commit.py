"""Group commit: while a batch is written, further items form the next one."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import final


def _new_future() -> "asyncio.Future[None]":
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True)
class _Batch[T]:
    items: list[T] = field(default_factory=list)
    written: "asyncio.Future[None]" = field(default_factory=_new_future)


@final
class GroupCommit[T]:
    """Collect items and call `write` with a batch of them, one call at a time.

    However a call of `write` ends, each caller of its batch returns or gets its error, and the next batch is written.
    Items of a batch keep the order in which they were added. Not thread-safe: use it in one event loop.
    """

    def __init__(self, write: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        self._write = write
        self._next: _Batch[T] | None = None
        self._task: asyncio.Task[None] | None = None

    async def add(self, items: Iterable[T]) -> None:
        """Return when the items are written. A caller that is cancelled does not cancel the write for the others."""
        batch = self._next = self._next or _Batch()
        batch.items += items
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        await asyncio.shield(batch.written)

    async def wait_idle(self) -> None:
        """Wait until all items that were added are written."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        batch: _Batch[T] | None = None
        try:
            while (batch := self._next) is not None:
                self._next = None
                await self._write_batch(batch)
        finally:
            # Only a cancelled task leaves batches behind.
            self._task = None
            for left in (batch, self._next):
                if left is not None:
                    left.written.cancel()
            self._next = None

    async def _write_batch(self, batch: _Batch[T]) -> None:
        try:
            await self._write(batch.items)
        except Exception as error:  # noqa: BLE001 - raised to each caller of the batch
            batch.written.set_exception(error)
            # Every caller may have been cancelled. Reading the exception keeps asyncio from logging it as lost.
            batch.written.exception()
        else:
            batch.written.set_result(None)

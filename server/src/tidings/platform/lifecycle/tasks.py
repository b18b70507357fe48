"""Background tasks that must not die silently: one that fails, or just ends, ends the process."""

import asyncio
from collections.abc import Callable, Coroutine

type OnCrash = Callable[[str, BaseException], None]


class TaskEndedError(Exception):
    """A task that was to run as long as the process has returned, or was cancelled by somebody else."""


class TaskSupervisor:
    """Keeps a reference to each task, so that none is collected while it runs."""

    def __init__(self, on_crash: OnCrash) -> None:
        self._on_crash = on_crash
        self._running: set[asyncio.Task[None]] = set()
        self._stopping: set[asyncio.Task[None]] = set()

    def spawn(
        self, name: str, work: Coroutine[object, object, None], *, may_end: bool = False
    ) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(lambda done: self._ended(done, may_end=may_end))
        return task

    async def stop(self, *tasks: asyncio.Task[None]) -> None:
        """Cancel and wait. A failure on the way out still counts as a crash."""
        for task in tasks:
            self._stopping.add(task)
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._stopping.difference_update(tasks)

    async def close(self) -> None:
        await self.stop(*self._running)

    def _ended(self, task: asyncio.Task[None], *, may_end: bool) -> None:
        self._running.discard(task)
        error = self._fault(task, may_end=may_end)
        if error is not None:
            self._on_crash(task.get_name(), error)

    def _fault(self, task: asyncio.Task[None], *, may_end: bool) -> BaseException | None:
        was_stopped = task in self._stopping
        if task.cancelled():
            return None if was_stopped else TaskEndedError("was cancelled by somebody else")
        if (error := task.exception()) is not None:
            return error
        return None if may_end or was_stopped else TaskEndedError("ended by itself")

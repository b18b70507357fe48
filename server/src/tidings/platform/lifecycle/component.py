"""Components of a process: their health, background tasks, probes and managed resources; and exit codes.

`docs/reference/exit_codes.md` says what an operator does about each exit code.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import cast, override

from tidings.kernel.clock import Clock
from tidings.platform.telemetry.masking import SizeLimits, mask_text


class ExitCode(IntEnum):
    """70 and 75 are the system's EX_SOFTWARE and EX_TEMPFAIL."""

    CLEAN = 0
    START_FAILED = 1
    SETTINGS_INVALID = 2
    CRASHED = 70
    LATE = 75


_ERROR_BOUNDS = SizeLimits(value_chars=300)


@dataclass(frozen=True, slots=True)
class Health:
    """`reason` is a text for operators, shown in `/readyz` and in the log."""

    ok: bool
    reason: str
    since: datetime


class HealthTracker:
    """Track whether something answers. `complaint` starts the reason when it does not.

    It is ok after an answer, until `patience` failures in a row. Before the first answer it is not ok.
    """

    def __init__(self, clock: Clock, complaint: str, *, patience: int = 1) -> None:
        self._clock = clock
        self._complaint = complaint
        self._failure_threshold = patience
        self._misses = patience
        self._last_error = ""
        self._quiet_from = clock.monotonic()
        self._since = clock.now()

    @property
    def ok(self) -> bool:
        return self._misses < self._failure_threshold

    def answered(self) -> None:
        if not self.ok:
            self._since = self._clock.now()
        self._misses = 0
        self._quiet_from = self._clock.monotonic()

    def failed(self, error: str) -> None:
        was_ok = self.ok
        self._misses += 1
        self._last_error = error
        if was_ok and not self.ok:
            self._since = self._clock.now()

    def health(self) -> Health:
        return Health(self.ok, "" if self.ok else self._text(), self._since)

    def _text(self) -> str:
        quiet_s = self._clock.monotonic() - self._quiet_from
        last = f"; last error: {self._last_error}" if self._last_error else ""
        return f"{self._complaint} for {quiet_s:.0f} s{last}"


def describe_error(error: BaseException) -> str:
    """Return an error as one line of limited length, with secrets masked."""
    text = " ".join(str(error).split())
    return mask_text(f"{type(error).__name__}: {text}" if text else type(error).__name__, _ERROR_BOUNDS)


class Component(ABC):
    """A part of a process. List it after the components that it needs; it is stopped before them.

    `start` must clean up when it fails or is cancelled, because `stop` is only called after a `start` that returned. It
    must not fail because an engine is unavailable: report that with `health` instead.
    """

    name: str
    start_s: float = 30.0
    stop_s: float = 10.0
    gates_readiness: bool = True

    @abstractmethod
    async def start(self) -> None: ...

    @abstractmethod
    async def stop(self) -> None: ...

    def health(self) -> Health | None:
        """Return the health; None means ok while started. Called several times a second, so it must not block."""
        return None


type OnCrash = Callable[[str, BaseException], None]


class TaskEndedError(Exception):
    """A task that must run as long as the process has ended, or was cancelled by other code."""


class TaskSupervisor:
    """Run background tasks, and report a crash if one ends. Keeps a reference to each, so that none is collected."""

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
        """Cancel tasks and wait for them. An error while they end is reported as a crash."""
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
            return None if was_stopped else TaskEndedError("cancelled by other code")
        if (error := task.exception()) is not None:
            return error
        return None if may_end or was_stopped else TaskEndedError("ended unexpectedly")


type Ping = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions:
    """An engine that stops answering is reported within `failure_threshold * (every_s + timeout_s)`."""

    every_s: float = 2.0
    timeout_s: float = 2.0
    failure_threshold: int = 2


class Probe(Component):
    """Call `ping` regularly; it raises if the engine does not answer. `complaint` starts the reason: "no broker answered"."""

    def __init__(
        self,
        name: str,
        ping: Ping,
        *,
        complaint: str,
        tasks: TaskSupervisor,
        clock: Clock,
        options: ProbeOptions,
        gates_readiness: bool = True,
    ) -> None:
        self.name = name
        self.gates_readiness = gates_readiness
        self._ping = ping
        self._tasks = tasks
        self._options = options
        self._health = HealthTracker(clock, complaint, patience=options.failure_threshold)
        self._watching: asyncio.Task[None] | None = None

    @override
    async def start(self) -> None:
        """Ping once, so that the health is known, then regularly. Starts also without an answer."""
        await self.ask()
        self._watching = self._tasks.spawn(f"probe {self.name}", self._watch())

    @override
    async def stop(self) -> None:
        if self._watching is not None:
            await self._tasks.stop(self._watching)

    @override
    def health(self) -> Health:
        return self._health.health()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._options.every_s)
            await self.ask()

    async def ask(self) -> None:
        limit = asyncio.timeout(self._options.timeout_s)
        try:
            async with limit:
                await self._ping()
        except TimeoutError as error:
            late = f"no answer within {self._options.timeout_s:g} s"
            self._health.failed(late if limit.expired() else describe_error(error))
        except Exception as error:  # noqa: BLE001 - every error of a ping is a failure to report
            self._health.failed(describe_error(error))
        else:
            self._health.answered()


type OpenResource[T] = Callable[[], AbstractAsyncContextManager[T]]
type HealthCheck[T] = Callable[[T], Health | None]


class ManagedResource[T](Component):
    """A resource that is opened at start and closed at stop. `look` returns its health."""

    def __init__(
        self,
        name: str,
        open_: OpenResource[T],
        *,
        look: HealthCheck[T] | None = None,
        gates_readiness: bool = True,
    ) -> None:
        self.name = name
        self.gates_readiness = gates_readiness
        self._open = open_
        self._check = look
        self._context: AbstractAsyncContextManager[T] | None = None
        self._value: T | None = None

    @property
    def value(self) -> T:
        if self._context is None:
            raise RuntimeError(f"{self.name} was used before it was started")
        return cast("T", self._value)

    @override
    async def start(self) -> None:
        context = self._open()
        self._value = await context.__aenter__()
        self._context = context

    @override
    async def stop(self) -> None:
        if self._context is not None:
            await self._context.__aexit__(None, None, None)

    @override
    def health(self) -> Health | None:
        return self._check(self.value) if self._check else None

"""Waiting for work with a limit that holds even if the work does not listen to being cancelled."""

import asyncio
import ctypes
import gc
import signal
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import final

from tidings.platform.lifecycle.component import Component, ExitCode, TaskSupervisor, describe_error
from tidings.platform.lifecycle.process_status import ComponentState, Phase, ProcessStatus
from tidings.platform.telemetry import logs

_UNWIND_S = 0.5


class DeadlineOutcome(Enum):
    """How the waiting ended; what the work raised is raised."""

    DONE = "done"
    LATE = "late"
    CUT = "cut"


async def run_with_deadline(
    work: Coroutine[object, object, None], limit_s: float, *cuts: asyncio.Future[None]
) -> DeadlineOutcome:
    """Run `work` for at most `limit_s`, or until one of `cuts` is set.

    Then it is cancelled, given a moment to unwind, and left behind.
    """
    task = asyncio.get_running_loop().create_task(work)
    await asyncio.wait({task, *cuts}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
        return DeadlineOutcome.DONE
    task.cancel()
    await asyncio.wait({task}, timeout=_UNWIND_S)
    if task.done() and not task.cancelled():
        task.exception()
    return DeadlineOutcome.CUT if any(cut.done() for cut in cuts) else DeadlineOutcome.LATE


log = logs.get_logger(__name__)

type LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def loop_factory() -> LoopFactory:
    try:
        import uvloop  # noqa: PLC0415 - it may be missing, and then only this call is to notice
    except ImportError:
        log.warning("uvloop is not installed: the standard loop runs, which is slower")
        return asyncio.new_event_loop
    return uvloop.new_event_loop


_MIN_FREE_BYTES = 1_000
"""Below so many it is not worth the milliseconds."""


@final
class MallocTrimmer:
    """The C allocator keeps what is freed unless it is told.

    Looks now and then at how many there are of something large; when most of them have gone, gives back.
    """

    def __init__(self) -> None:
        self._most = 0
        self.times = 0

    def trim_if_idle(self, count: int) -> None:
        self._most = max(self._most, count)
        if self._most - count >= _MIN_FREE_BYTES and count <= self._most / 2:
            self._most = count
            self.times += 1
            malloc_trim()


def freeze_gc() -> None:
    """Once everything has been started: modules and components stay, so the collector need not search them again.

    They are a quarter of the 340,000 objects that it went through for 145 ms in a gateway with 5,000 connections.
    """
    gc.collect()
    gc.freeze()


def malloc_trim() -> None:
    """With glibc; others have no such call, and some need none."""
    release = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if release is not None:
        release(0)


_TASKS_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOptions:
    """`drain_s`: red at `/readyz` but serving, until nobody sends new work. `stop_s`: all stops together."""

    drain_s: float = 5.0
    stop_s: float = 20.0


class Process:
    """Made inside the running loop. `run` returns how it ended; leaving the interpreter is `run.py`'s."""

    def __init__(self, options: StopOptions, status: ProcessStatus) -> None:
        loop = asyncio.get_running_loop()
        self._options = options
        self._status = status
        self._code = ExitCode.CLEAN
        self._reason = ""
        self._started: list[Component] = []
        self._ending: asyncio.Future[None] = loop.create_future()
        self._no_drain: asyncio.Future[None] = loop.create_future()
        self._hurry: asyncio.Future[None] = loop.create_future()
        self.tasks = TaskSupervisor(self._task_crashed)

    async def run(self, components: Sequence[Component]) -> ExitCode:
        self._status.declare(components)
        await self._start_all(components)
        if not self._ending.done():
            freeze_gc()
            self._status.enter(Phase.RUNNING)
            log.info("process started", components=[part.name for part in components])
        await asyncio.wait({self._ending})
        await self._drain()
        await self._stop_all()
        self._status.enter(Phase.STOPPED)
        # The reason stands above what stopped since: whoever reads the end of the log must find it there too.
        why = {"reason": self._reason} if self._reason else {}
        log.info("process stopped", exit_code=self._code.value, outcome=self._code.name.lower(), **why)
        return self._code

    def signalled(self, number: signal.Signals) -> None:
        """The first signal asks, the second insists."""
        if self._ending.done():
            log.warning("second signal: stopping at once", signal=number.name)
            _set(self._no_drain)
            _set(self._hurry)
        else:
            log.info("signal: draining, then stopping", signal=number.name, drain_s=self._options.drain_s)
            _set(self._ending)

    def crash(self, name: str, error: BaseException) -> None:
        log.critical("crashed", component=name, reason=describe_error(error), exc_info=error)
        self._end_with(ExitCode.CRASHED, f"{name}: {describe_error(error)}")

    def _task_crashed(self, name: str, error: BaseException) -> None:
        self.crash(f"task {name}", error)

    def _end_with(self, code: ExitCode, reason: str) -> None:
        """The first fault decides the code and the reason; the rest stand in the log."""
        if self._code is ExitCode.CLEAN:
            self._code, self._reason = code, reason
        _set(self._no_drain)
        _set(self._ending)

    async def _start_all(self, components: Sequence[Component]) -> None:
        for component in components:
            if self._ending.done():
                return
            self._status.mark(component, ComponentState.STARTING)
            began = time.monotonic()
            if await self._start(component):
                self._started.append(component)
                self._status.mark(component, ComponentState.STARTED)
                log.info("component started", component=component.name, took_s=_since(began))

    async def _start(self, component: Component) -> bool:
        try:
            finish = await run_with_deadline(component.start(), component.start_s, self._ending)
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends the process, and is told
            self._not_started(component, describe_error(error), error)
            return False
        if finish is DeadlineOutcome.LATE:
            self._not_started(component, f"not started within {component.start_s:g} s", None)
        elif finish is DeadlineOutcome.CUT:
            self._status.mark(component, ComponentState.STOPPED)
        return finish is DeadlineOutcome.DONE

    def _not_started(self, component: Component, reason: str, error: Exception | None) -> None:
        self._status.mark(component, ComponentState.FAILED, reason)
        log.critical("component did not start", component=component.name, reason=reason, exc_info=error)
        self._end_with(ExitCode.START_FAILED, f"{component.name}: {reason}")

    async def _drain(self) -> None:
        if self._no_drain.done() or self._status.report.phase is not Phase.RUNNING:
            return
        self._status.enter(Phase.DRAINING)
        await asyncio.wait({self._no_drain}, timeout=self._options.drain_s)

    async def _stop_all(self) -> None:
        self._status.enter(Phase.STOPPING)
        ends_at = time.monotonic() + self._options.stop_s
        for component in reversed(self._started):
            left_s = min(component.stop_s, ends_at - time.monotonic())
            if self._hurry.done() or left_s <= 0:
                self._not_stopped(component, "no time was left for it", None, ExitCode.LATE)
            else:
                await self._stop(component, left_s)
        await self._stop_tasks(ends_at)

    async def _stop(self, component: Component, limit_s: float) -> None:
        self._status.mark(component, ComponentState.STOPPING)
        began = time.monotonic()
        try:
            finish = await run_with_deadline(component.stop(), limit_s, self._hurry)
        except Exception as error:  # noqa: BLE001 - the others are stopped all the same
            self._not_stopped(component, describe_error(error), error, ExitCode.CRASHED)
            return
        if finish is DeadlineOutcome.DONE:
            self._status.mark(component, ComponentState.STOPPED)
            log.info("component stopped", component=component.name, took_s=_since(began))
        else:
            reason = f"not stopped within {limit_s:.3g} s" if finish is DeadlineOutcome.LATE else "cut short"
            self._not_stopped(component, reason, None, ExitCode.LATE)

    async def _stop_tasks(self, ends_at: float) -> None:
        left_s = max(ends_at - time.monotonic(), _TASKS_S)
        if await run_with_deadline(self.tasks.close(), left_s, self._hurry) is not DeadlineOutcome.DONE:
            log.error("background tasks did not stop")
            self._end_with(ExitCode.LATE, "background tasks did not stop")

    def _not_stopped(
        self, component: Component, reason: str, error: Exception | None, code: ExitCode
    ) -> None:
        self._status.mark(component, ComponentState.FAILED, reason)
        log.error("component did not stop", component=component.name, reason=reason, exc_info=error)
        self._end_with(code, f"{component.name}: {reason}")


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)

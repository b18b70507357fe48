"""Time, randomness and processes of a simulation: each process is an event loop, and one scheduler runs them all.

Within a process callbacks run in the order of their creation, as in asyncio. The scheduler chooses the next process
at random. The clock advances only when no process has work, to the time of the next timer.
"""

import asyncio
import contextlib
import contextvars
import heapq
import zlib
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from random import Random
from typing import Any, override

BEGAN_MS = 1_794_700_000_000


class StuckError(KeyboardInterrupt):
    """A process loops without time passing or without yielding. A KeyboardInterrupt, so that no handler catches it."""


class Process(asyncio.BaseEventLoop):
    """A simulated process.

    After a kill it runs nothing more: no cleanup, no `finally`. After a stop it continues as if nothing had happened.
    """

    def __init__(self, scheduler: "Scheduler", name: str) -> None:
        super().__init__()
        self.name = name
        self.is_alive = True
        self.tasks: list[asyncio.Task[Any]] = []
        self.waiting: deque[asyncio.Handle] = deque()
        self.is_stopped = False
        self._scheduler = scheduler
        self._closed = True  # never closed by asyncio: it owns no resources of the machine

    @override
    def time(self) -> float:
        return self._scheduler.now

    @override
    def get_debug(self) -> bool:
        return False

    @override
    def set_debug(self, enabled: bool) -> None:
        """Ignore debug mode."""

    @override
    def is_running(self) -> bool:
        return True

    @override
    def call_soon[*Ts](
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        if self.is_alive:
            self.take(handle)
        return handle

    @override
    def call_at[*Ts](
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        if self.is_alive:
            self._scheduler.remember(handle, self)
        return handle

    @override
    def create_task(self, coro: Any, **named: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, **named)
        self.tasks.append(task)
        if len(self.tasks) > 256:
            self.tasks = [task for task in self.tasks if not task.done()]
        return task

    @override
    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self.is_alive:
            self._scheduler.report(self, context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: the scheduler skips cancelled timers."""

    def take(self, handle: asyncio.Handle) -> None:
        if not self.waiting and not self.is_stopped:
            self._scheduler.awake.append(self)
        self.waiting.append(handle)

    def begin(self, coro: Coroutine[Any, Any, Any]) -> None:
        """Start a task that is not awaited."""
        self.tasks.append(asyncio.Task(coro, loop=self))

    def spawn(self, coro: Coroutine[Any, Any, Any]) -> None:
        """Start a task from another process."""
        self.call_soon(self.begin, coro)

    def stop_for(self, seconds: float) -> None:
        """Stop the process as SIGSTOP does: its timers run late, all together."""
        if not self.is_stopped and self.is_alive:
            self.is_stopped = True
            if self.waiting:
                self._scheduler.awake.remove(self)
            self._scheduler.outside.call_later(seconds, self.go_on)

    def go_on(self) -> None:
        if self.is_stopped and self.waiting and self.is_alive:
            self._scheduler.awake.append(self)
        self.is_stopped = False

    def kill(self) -> None:
        self.is_alive = False
        if self.waiting and not self.is_stopped:
            self._scheduler.awake.remove(self)
        self.waiting.clear()

    def turn(self) -> None:
        """Run the callbacks that were ready at the start of the turn, in order."""
        events._set_running_loop(self)
        for _ in range(len(self.waiting)):
            handle = self.waiting.popleft()
            if not handle._cancelled:
                handle._run()
            if not self.is_alive:
                break
        events._set_running_loop(None)


class Scheduler:
    """Run all processes. `outside` is the process of everything that never dies: engines, wires, fault injection."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.chance = Random(f"{seed}/schedule")
        self.awake: list[Process] = []
        self.processes: list[Process] = []
        self.faults: list[str] = []
        self.turns = 0
        self.trace = 0
        self.steps: list[str] | None = None
        self._timers: list[tuple[float, int, asyncio.TimerHandle, Process]] = []
        self._number = 0
        self.outside = self.process("outside")

    def process(self, name: str) -> Process:
        made = Process(self, name)
        self.processes.append(made)
        return made

    def remember(self, handle: asyncio.TimerHandle, process: Process) -> None:
        self._number += 1
        heapq.heappush(self._timers, (handle.when(), self._number, handle, process))

    def report(self, process: Process, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.faults.append(f"{process.name}: {context.get('message')}: {error!r}")

    def tell(self, words: str) -> None:
        """Record a step of the trace, by which two runs of a seed are compared."""
        self.trace = zlib.crc32(words.encode(), self.trace)
        if self.steps is not None:
            self.steps.append(f"{self.now:10.4f} {words}")

    def run_until(self, holds: Callable[[], bool], at: float, most_turns: int = 400_000) -> None:
        """Run until `holds` returns true or the clock reaches `at`."""
        last = self.turns + most_turns
        while not holds():
            if self.awake:
                self._turn()
            elif not self._timers or self._timers[0][0] > at:
                self.now = max(self.now, at)
                return
            else:
                self._leap()
            if self.turns > last:
                raise StuckError(f"more than {most_turns} turns")

    def _turn(self) -> None:
        awake = self.awake
        chosen = int(self.chance.random() * len(awake)) if len(awake) > 1 else 0
        process = awake[chosen]
        awake[chosen] = awake[-1]
        awake.pop()
        self.turns += 1
        process.turn()
        if process.waiting and process.is_alive and not process.is_stopped and process not in awake:
            awake.append(process)

    def _leap(self) -> None:
        timers = self._timers
        self.now = max(self.now, timers[0][0])
        while timers and timers[0][0] <= self.now:
            _, _, handle, process = heapq.heappop(timers)
            if not handle._cancelled and process.is_alive:
                process.take(handle)

    def end(self) -> None:
        """Kill all processes and close their coroutines without any effect, so that the next seed starts clean."""
        for process in self.processes:
            process.kill()
        with _nowhere():
            for process in self.processes:
                for task in process.tasks:
                    if not task.done():
                        _let_go(task)
        self._timers.clear()


class _Nowhere(asyncio.BaseEventLoop):
    """An event loop that ignores what the coroutines of killed processes do in their `finally`."""

    @override
    def create_task(self, coro: Any, **named: Any) -> asyncio.Task[Any]:
        del named
        coro.close()
        raise RuntimeError("the simulation has ended")

    @override
    def call_soon[*Ts](
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        del callback, args, context
        return asyncio.Handle(print, (), self)

    @override
    def call_at[*Ts](
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        del callback, args, context
        return asyncio.TimerHandle(when, print, (), self)


@contextlib.contextmanager
def _nowhere() -> Iterator[None]:
    loop = _Nowhere()
    events._set_running_loop(loop)
    try:
        yield
    finally:
        events._set_running_loop(None)
        loop.close()


def _let_go(task: Any) -> None:
    task._log_destroy_pending = False
    with contextlib.suppress(BaseException):
        task.get_coro().close()

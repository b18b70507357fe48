"""The event loop's heartbeat, and the watchdog that ends a process whose loop is blocked."""

import asyncio
import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import Histogram

from tidings.kernel.clock import Clock
from tidings.platform.lifecycle.component import ExitCode
from tidings.platform.telemetry import logs


class Heartbeat:
    """Measure the delay of the event loop, and call `on_beat` there regularly. Other threads may read `age_s`."""

    def __init__(self, clock: Clock, every_s: float, lag: Histogram, on_beat: Callable[[], None]) -> None:
        self._clock = clock
        self._every_s = every_s
        self._lag = lag
        self._on_beat = on_beat
        self._next: asyncio.TimerHandle | None = None
        self.last = clock.monotonic()
        self.count = 0

    def start(self) -> None:
        self.last = self._clock.monotonic()
        self._next = asyncio.get_running_loop().call_later(self._every_s, self._beat)

    def stop(self) -> None:
        if self._next is not None:
            self._next.cancel()

    def age_s(self) -> float:
        return self._clock.monotonic() - self.last

    def _beat(self) -> None:
        now = self._clock.monotonic()
        self._lag.observe(max(now - self.last - self._every_s, 0.0))
        self.last = now
        self.count += 1
        self._next = asyncio.get_running_loop().call_later(self._every_s, self._beat)
        self._on_beat()


log = logs.get_logger(__name__)

_LOG_EVERY_S = 0.5
_FRAMES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogOptions:
    """After `warn_s` without a heartbeat the stack is logged, after `exit_s` the process ends."""

    warn_s: float = 5.0
    exit_s: float = 30.0


class CpuTimeKillSwitch:
    """Kill the process if it is not rearmed within `cpu_s` of CPU time. Time spent suspended does not count.

    A signal handler that needs no interpreter writes all stacks to stderr.
    """

    def start(self) -> None:
        faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)

    def rearm(self, cpu_s: float) -> None:
        signal.setitimer(signal.ITIMER_PROF, cpu_s)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.unregister(signal.SIGPROF)


class Watchdog:
    """Watch the event loop of the thread that creates it. `beat_count` increases while the loop runs.

    `leave` ends the process at once; tests replace it.
    """

    def __init__(
        self,
        beat_count: Callable[[], int],
        options: WatchdogOptions,
        last_resort: CpuTimeKillSwitch,
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        self._beat_count = beat_count
        self._options = options
        self._last_resort = last_resort
        self._leave = leave
        self._watched = threading.get_ident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._tick_s = min(1.0, options.warn_s / 4)

    def start(self) -> None:
        self._last_resort.start()
        self._last_resort.rearm(self._options.exit_s)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(self._tick_s * 2 + _LOG_EVERY_S)
        self._last_resort.stop()

    def _watch(self) -> None:
        seen, quiet_s, has_warned = self._beat_count(), 0.0, False
        last = time.monotonic()
        while not self._stop.wait(self._tick_s):
            self._last_resort.rearm(self._options.exit_s)
            now = time.monotonic()
            # If the process was suspended, much time has passed. Count at most two intervals of it.
            quiet_s += min(now - last, self._tick_s * 2)
            last = now
            if (count := self._beat_count()) != seen:
                seen, quiet_s, has_warned = count, 0.0, False
            elif quiet_s >= self._options.exit_s:
                self._end(quiet_s)
            elif quiet_s >= self._options.warn_s and not has_warned:
                has_warned = True
                self._log_stack("event loop is blocked", quiet_s)

    def _end(self, quiet_s: float) -> None:
        self._log_stack("event loop is blocked: ending the process", quiet_s)
        self._leave(ExitCode.CRASHED)

    def _log_stack(self, event: str, quiet_s: float) -> None:
        """Log in another thread: a blocked stdout can be the cause, and it would block this thread too."""
        stack = format_stack(self._watched)

        def write() -> None:
            log.critical(event, blocked_s=round(quiet_s, 1), stuck_at=stack)

        writing = threading.Thread(target=write, name="watchdog-log", daemon=True)
        writing.start()
        writing.join(_LOG_EVERY_S)


def format_stack(thread_id: int) -> list[str]:
    """Return the calls of a thread, innermost last; without values, so without secrets."""
    frame = sys._current_frames().get(thread_id)  # noqa: SLF001 - documented in spite of its name
    if frame is None:
        return []
    calls = traceback.extract_stack(frame)[-_FRAMES:]
    return [f"{call.filename}:{call.lineno} {call.name}" for call in calls]

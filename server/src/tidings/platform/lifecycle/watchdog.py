"""Sees from outside that the loop is blocked: says where it is stuck, then ends the process.

A thread watches the heartbeat. Code that never lets go of the interpreter stops that thread too; then
faulthandler's own thread, which needs no interpreter, writes the stacks to stderr and exits with 1.
"""

import faulthandler
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tidings.platform.lifecycle.exit_codes import ExitCode
from tidings.platform.telemetry import logs

log = logs.get(__name__)

_SAY_S = 0.5
_FRAMES = 12


class Beating(Protocol):
    """What is watched: goes up as long as the loop turns."""

    @property
    def count(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogOptions:
    """`warn_s` without a beat: a log line with the stack. `exit_s`: the end of the process."""

    warn_s: float = 5.0
    exit_s: float = 30.0


def _exit_unless_called_again(within_s: float) -> None:
    faulthandler.dump_traceback_later(within_s, exit=True)


class Watchdog:
    """Watches the thread that makes it. `leave` ends the process at once, `last_resort` if nobody else can;
    a test puts something milder there.
    """

    def __init__(
        self,
        beating: Beating,
        options: WatchdogOptions,
        *,
        leave: Callable[[int], object] = os._exit,
        last_resort: Callable[[float], None] = _exit_unless_called_again,
    ) -> None:
        self._beating = beating
        self._options = options
        self._leave = leave
        self._last_resort = last_resort
        self._watched = threading.get_ident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._tick_s = min(1.0, options.warn_s / 4)

    def start(self) -> None:
        self._arm()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(self._tick_s * 2 + _SAY_S)
        faulthandler.cancel_dump_traceback_later()

    def _watch(self) -> None:
        seen, quiet_s, has_warned = self._beating.count, 0.0, False
        last = time.monotonic()
        while not self._stop.wait(self._tick_s):
            self._arm()
            now = time.monotonic()
            # A process that was suspended finds a lot of time gone by: no more than two ticks of it count.
            quiet_s += min(now - last, self._tick_s * 2)
            last = now
            if self._beating.count != seen:
                seen, quiet_s, has_warned = self._beating.count, 0.0, False
            elif quiet_s >= self._options.exit_s:
                self._end(quiet_s)
            elif quiet_s >= self._options.warn_s and not has_warned:
                has_warned = True
                self._say("the loop is blocked", quiet_s)

    def _arm(self) -> None:
        """Leaves time for this thread to do its own work: a tick, and a log line that nobody reads."""
        self._last_resort(self._options.exit_s + self._tick_s + 2 * _SAY_S)

    def _end(self, quiet_s: float) -> None:
        self._say("the loop is blocked: ending the process", quiet_s)
        self._leave(ExitCode.CRASHED)

    def _say(self, event: str, quiet_s: float) -> None:
        """In a thread of its own: what blocks the loop can be stdout, and then this would block too."""
        stack = stack_of(self._watched)

        def write() -> None:
            log.critical(event, blocked_s=round(quiet_s, 1), stuck_at=stack)

        writing = threading.Thread(target=write, name="watchdog-log", daemon=True)
        writing.start()
        writing.join(_SAY_S)


def stack_of(thread_id: int) -> list[str]:
    """Where a thread is right now, innermost call last; without values, so without secrets."""
    frame = sys._current_frames().get(thread_id)  # noqa: SLF001 - documented, in spite of its name
    if frame is None:
        return []
    calls = traceback.extract_stack(frame)[-_FRAMES:]
    return [f"{call.filename}:{call.lineno} {call.name}" for call in calls]

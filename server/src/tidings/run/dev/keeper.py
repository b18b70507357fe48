"""Keeps one kind of process running: again after a death, with growing pauses, and again when the code has changed.

Three quick deaths in a row end the trying, and so do settings that it can't use. At the start that ends everything: there is nothing to serve. Later it is
most likely the code that was just written, so the next change of the code is waited for.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from enum import Enum, auto

from tidings.platform.lifecycle.exit_codes import ExitCode
from tidings.run.dev.child import ChildProcess
from tidings.run.dev.voice import DevConsole

QUICK_S = 10.0
"""Who dies sooner, or before it has started, died quickly."""
_PAUSES_S = (0.3, 1.0, 3.0)
_TRIES = 3


class _RunRequest(Enum):
    RUN = auto()
    AGAIN = auto()
    STOP = auto()


class ProcessFailedError(Exception):
    """It can't be kept running."""

    def __init__(self, name: str, how: str, last_words: list[str]) -> None:
        super().__init__(f"{how} and can't be kept running")
        self.name = name
        self.last_lines = last_words


class ProcessRunner:
    def __init__(
        self,
        name: str,
        start: Callable[[], Awaitable[ChildProcess]],
        console: DevConsole,
        *,
        stop_s: float,
        waits_for_code: bool,
    ) -> None:
        self.name = name
        self.child: ChildProcess | None = None
        self.was_ready = False
        self._start = start
        self._console = console
        self._stop_s = stop_s
        self._waits_for_code = waits_for_code
        self._wish = _RunRequest.RUN
        self._changed = asyncio.Event()
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Until `stop`; raises `ProcessFailedError`."""
        try:
            await self._run()
        finally:
            self._over.set()

    async def _run(self) -> None:
        quick = 0
        while not self._is_stopping():
            self._wish = _RunRequest.RUN
            self._changed.clear()
            child = self.child = await self._start()
            if self._is_stopping():
                await child.stop(self._stop_s)  # asked while it was being started
                return
            code = await child.ended()
            if self._wish is _RunRequest.RUN:
                is_quick = not child.has_started or child.age_s < QUICK_S
                quick = quick + 1 if is_quick else 1
                await self._after_death(child, code, quick)
                quick = 0 if quick >= _TRIES else quick
            else:
                quick = 0

    async def _after_death(self, child: ChildProcess, code: int, quick: int) -> None:
        how = f"{self.name} died ({_cause(code)})"
        if quick < _TRIES and code != ExitCode.SETTINGS_INVALID:
            pause_s = _PAUSES_S[quick - 1]
            self._console.info(f"{how}: starting it again in {pause_s:g} s", "bold yellow")
            await self._code_changes(pause_s)
        elif self.was_ready and self._waits_for_code:
            self._console.info(f"{how}, and again: waiting until the code changes", "bold red")
            await self._code_changes(None)
        else:
            raise ProcessFailedError(self.name, how, list(child.last_lines))

    async def _code_changes(self, within_s: float | None) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), within_s)
        except TimeoutError:
            return

    def _is_stopping(self) -> bool:
        return self._wish is _RunRequest.STOP

    async def restart(self) -> None:
        """The code has changed."""
        await self._end_child(_RunRequest.AGAIN)

    async def stop(self) -> None:
        """Returns when nothing is left of it."""
        await self._end_child(_RunRequest.STOP)
        await self._over.wait()

    async def _end_child(self, wish: _RunRequest) -> None:
        self._wish = wish
        self._changed.set()
        if self.child and self.child.is_alive and not await self.child.stop(self._stop_s):
            self._console.info(f"{self.name} did not stop in {self._stop_s:g} s and was killed", "yellow")

    def kill(self) -> None:
        self._wish = _RunRequest.STOP
        self._changed.set()
        if self.child:
            self.child.send(signal.SIGKILL)


def _cause(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name

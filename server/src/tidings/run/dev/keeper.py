"""Keeps one kind of process running: again after a death, with growing pauses, and again when the code has changed.

Three quick deaths in a row end the trying, and so do settings that it can't use. At the start that ends everything: there is nothing to serve. Later it is
most likely the code that was just written, so the next change of the code is waited for.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from enum import Enum, auto

from tidings.platform.lifecycle.exit_codes import ExitCode
from tidings.run.dev.child import Child
from tidings.run.dev.voice import Voice

QUICK_S = 10.0
"""Who dies sooner, or before it has started, died quickly."""
_PAUSES_S = (0.3, 1.0, 3.0)
_TRIES = 3


class _Wish(Enum):
    RUN = auto()
    AGAIN = auto()
    STOP = auto()


class GivenUpError(Exception):
    """It can't be kept running."""

    def __init__(self, name: str, how: str, last_words: list[str]) -> None:
        super().__init__(f"{how} and can't be kept running")
        self.name = name
        self.last_words = last_words


class Keeper:
    def __init__(
        self,
        name: str,
        start: Callable[[], Awaitable[Child]],
        voice: Voice,
        *,
        stop_s: float,
        waits_for_code: bool,
    ) -> None:
        self.name = name
        self.child: Child | None = None
        self.was_ready = False
        self._start = start
        self._voice = voice
        self._stop_s = stop_s
        self._waits_for_code = waits_for_code
        self._wish = _Wish.RUN
        self._changed = asyncio.Event()
        self._over = asyncio.Event()

    async def keep(self) -> None:
        """Until `stop`; raises `GivenUpError`."""
        try:
            await self._keep()
        finally:
            self._over.set()

    async def _keep(self) -> None:
        quick = 0
        while not self._is_stopping():
            self._wish = _Wish.RUN
            self._changed.clear()
            child = self.child = await self._start()
            if self._is_stopping():
                await child.stop(self._stop_s)  # asked while it was being started
                return
            code = await child.ended()
            if self._wish is _Wish.RUN:
                is_quick = not child.has_started or child.age_s < QUICK_S
                quick = quick + 1 if is_quick else 1
                await self._after_death(child, code, quick)
                quick = 0 if quick >= _TRIES else quick
            else:
                quick = 0

    async def _after_death(self, child: Child, code: int, quick: int) -> None:
        how = f"{self.name} died ({_cause(code)})"
        if quick < _TRIES and code != ExitCode.SETTINGS_INVALID:
            pause_s = _PAUSES_S[quick - 1]
            self._voice.say(f"{how}: starting it again in {pause_s:g} s", "bold yellow")
            await self._code_changes(pause_s)
        elif self.was_ready and self._waits_for_code:
            self._voice.say(f"{how}, and again: waiting until the code changes", "bold red")
            await self._code_changes(None)
        else:
            raise GivenUpError(self.name, how, list(child.last_words))

    async def _code_changes(self, within_s: float | None) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), within_s)
        except TimeoutError:
            return

    def _is_stopping(self) -> bool:
        return self._wish is _Wish.STOP

    async def again(self) -> None:
        """The code has changed."""
        await self._end_child(_Wish.AGAIN)

    async def stop(self) -> None:
        """Returns when nothing is left of it."""
        await self._end_child(_Wish.STOP)
        await self._over.wait()

    async def _end_child(self, wish: _Wish) -> None:
        self._wish = wish
        self._changed.set()
        if self.child and self.child.is_alive and not await self.child.stop(self._stop_s):
            self._voice.say(f"{self.name} did not stop in {self._stop_s:g} s and was killed", "yellow")

    def kill(self) -> None:
        self._wish = _Wish.STOP
        self._changed.set()
        if self.child:
            self.child.send(signal.SIGKILL)


def _cause(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name

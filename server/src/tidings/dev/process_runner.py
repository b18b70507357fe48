"""Run a process, and restart it when it ends or when the code changes.

A change that does not compile is reported, and the old code continues to run.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from time import monotonic

from watchfiles import PythonFilter, awatch

import tidings
from tidings.app.processes.child import child_command
from tidings.dev.console import DevConsole
from tidings.platform.lifecycle.component import ExitCode

SOURCE = Path(tidings.__file__).parent
_DEBOUNCE_MS, _STEP_MS = 800, 100


def is_checkout() -> bool:
    """Return whether the code runs from a checkout. An installed package changes only by an upgrade."""
    return not any(part in {"site-packages", "dist-packages"} for part in SOURCE.parts)


async def watch_source(source: Path = SOURCE) -> AsyncIterator[list[Path]]:
    """Yield the changed files in groups: saving a file causes several events, checking out a branch thousands."""
    async for found in awatch(
        source, watch_filter=PythonFilter(extra_extensions=(".lua",)), debounce=_DEBOUNCE_MS, step=_STEP_MS
    ):
        yield sorted({Path(path) for _, path in found})


def syntax_error_in(paths: list[Path]) -> str:
    """Return the syntax error of the first file that does not compile, or an empty text."""
    for path in paths:
        if path.suffix == ".py" and path.exists():
            try:
                compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
            except (SyntaxError, ValueError) as error:
                return f"{path.name}: {error}"
    return ""


def describe_paths(paths: list[Path]) -> str:
    first = paths[0].relative_to(SOURCE) if paths[0].is_relative_to(SOURCE) else paths[0]
    return f"{first}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")


_LINE_BYTES = 1024 * 1024
_LAST_LINES = 12
_STARTED = '"event":"process started"'

type LineHandler = Callable[[str, str], None]


class ChildProcess:
    """One run of a process; a restart creates another."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, on_line: LineHandler) -> None:
        self.name = name
        self.has_started = False
        """It has logged that all its components are started."""
        self.last_lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._born = monotonic()
        self._process = process
        self._on_line = on_line
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, name: str, environment: Mapping[str, str], on_line: LineHandler) -> "ChildProcess":
        process = await asyncio.create_subprocess_exec(
            *child_command(signal.SIGKILL),
            "run",
            name,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
            limit=_LINE_BYTES,
            # a session of its own: only the supervisor receives Ctrl-C, and stops the processes in order
            start_new_session=True,
        )
        return cls(name, process, on_line)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    @property
    def age_s(self) -> float:
        return monotonic() - self._born

    async def ended(self) -> int:
        """Wait for the end and return the exit code, negative for a signal. All its output has been read then."""
        code = await self._process.wait()
        await self._reading
        return code

    async def stop(self, within_s: float) -> bool:
        """Stop the process; return False if it had to be killed."""
        self.send(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self.ended()
                return True
        self.send(signal.SIGKILL)
        await self.ended()
        return False

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def _read(self) -> None:
        out = self._process.stdout
        while out is not None:
            try:
                line = await out.readline()
            except ValueError:
                continue  # longer than any log line: dropped by the reader
            if not line:
                return
            text = line.decode(errors="replace").rstrip("\n")
            self.last_lines.append(text)
            self.has_started = self.has_started or _STARTED in text
            self._on_line(self.name, text)


QUICK_S = 10.0
"""A process that ends sooner, or before it has started, counts towards the limit of quick failures."""
_PAUSES_S = (0.3, 1.0, 3.0)
_TRIES = 3


class _RunRequest(Enum):
    RUN = auto()
    AGAIN = auto()
    STOP = auto()


class ProcessFailedError(Exception):
    """The process ended too often to be restarted again."""

    def __init__(self, name: str, how: str, last_lines: list[str]) -> None:
        super().__init__(f"{how} and can't be kept running")
        self.name = name
        self.last_lines = last_lines


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
        """Keep the process running until `stop`. Raise `ProcessFailedError` if it ends too often."""
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
                await child.stop(self._stop_s)  # `stop` was called during the start
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
        """Restart the process with the changed code."""
        await self._end_child(_RunRequest.AGAIN)

    async def stop(self) -> None:
        """Stop the process and return when it has ended."""
        await self._end_child(_RunRequest.STOP)
        await self._over.wait()

    async def _end_child(self, wish: _RunRequest) -> None:
        self._wish = wish
        self._changed.set()
        if self.child and self.child.is_alive and not await self.child.stop(self._stop_s):
            self._console.info(f"{self.name} did not stop in {self._stop_s:g} s and was killed", "yellow")

    def kill_and_restart(self) -> None:
        self._wish = _RunRequest.AGAIN
        self._changed.set()
        if self.child:
            self.child.send(signal.SIGKILL)

    def kill(self) -> None:
        self._wish = _RunRequest.STOP
        self._changed.set()
        if self.child:
            self.child.send(signal.SIGKILL)


def _cause(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name

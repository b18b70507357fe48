"""One process: started on a leash, heard line by line, asked to end and, if it hangs, ended."""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic

from tidings.run.dev.leash import COMMAND

_LINE_BYTES = 1024 * 1024
_LAST_LINES = 12
_STARTED = '"event":"process started"'

type LineHandler = Callable[[str, str], None]


class ChildProcess:
    """Lives once: a restart is a new one."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, on_line: LineHandler) -> None:
        self.name = name
        self.has_started = False
        """It said so itself: all its parts stand."""
        self.last_lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._born = monotonic()
        self._process = process
        self._on_line = on_line
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, name: str, environment: Mapping[str, str], on_line: LineHandler) -> "ChildProcess":
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            "run",
            name,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
            limit=_LINE_BYTES,
            # a session of its own: Ctrl-C in the terminal comes to us alone, and we end them in order
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
        """The exit code, below zero for a signal; by then everything it said has been heard."""
        code = await self._process.wait()
        await self._reading
        return code

    async def stop(self, within_s: float) -> bool:
        """False: it had to be killed."""
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

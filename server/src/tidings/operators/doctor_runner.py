"""Run `tidings doctor` for the console, in a process of its own: a check can block, or end its process."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.errors import Code, TidingsError

FRESH_MS: Final = 60_000
"""Findings younger than this are not looked up again."""
_TIMEOUT_S: Final = 90.0


class DoctorReport(Struct, frozen=True):
    """The findings, as `tidings doctor --json` prints them."""

    checked_at_ms: int
    findings: list[dict[str, Any]]

    @property
    def checked_at(self) -> str:
        return format_ms(self.checked_at_ms)


class _Output(Struct):
    findings: list[dict[str, Any]]


class DoctorRunner:
    def __init__(self, command: Sequence[str], clock: Clock) -> None:
        """`command`: `tidings doctor --json` with its arguments."""
        self._command = command
        self._clock = clock
        self._running = asyncio.Lock()
        self._last: DoctorReport | None = None

    async def report(self) -> DoctorReport:
        """Return findings of the last minute, or run all checks. Concurrent calls share one run. Raises `overloaded`."""
        async with self._running:
            now_ms = self._clock.now_ms()
            if self._last is None or now_ms - self._last.checked_at_ms > FRESH_MS:
                self._last = DoctorReport(now_ms, await self._run())
            return self._last

    async def _run(self) -> list[dict[str, Any]]:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                # Not `communicate`: it closes stdin, by which the child sees that its parent has ended.
                output = await process.stdout.read() if process.stdout is not None else b""
                await process.wait()
        except TimeoutError:
            raise TidingsError(Code.OVERLOADED, f"The checks took longer than {_TIMEOUT_S:.0f} s.") from None
        finally:
            if process.returncode is None:
                process.kill()
        try:
            return msgspec.json.decode(output, type=_Output).findings
        except msgspec.DecodeError as error:
            why = f"The checks ended with exit code {process.returncode} and without findings."
            raise TidingsError(Code.OVERLOADED, why, hint="Run `tidings doctor`.") from error

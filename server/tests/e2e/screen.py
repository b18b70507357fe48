"""A program in a terminal emulator: it reads escape sequences and shows lines of text, as a person sees them."""

import os
import re
from pathlib import Path
from typing import Final

import pyte
from contract.telemetry.running import eventually
from e2e.terminal import DEADLINE_S, Terminal

_UNKNOWN: Final = re.compile(rb"\x1b\[[<>=][0-9;:]*[A-Za-z]|\x1b\[\?[0-9;]*\$p|\x1b[P_^].*?\x1b\\", re.DOTALL)
"""Queries to modern terminals, which this emulator would show as text."""

_HALF: Final = re.compile(rb"\x1b[\[P_^]?[<>=?0-9;:$]*$")
"""An escape sequence that is not complete yet."""

KEYS: Final = {
    "enter": "\r",
    "up": "\x1b[A",
    "ctrl-t": "\x14",
    "ctrl-r": "\x12",
    "ctrl-n": "\x0e",
    "ctrl-q": "\x11",
}


class ScreenTerminal(Terminal):
    def __init__(
        self,
        command: list[str],
        directory: Path,
        environment: dict[str, str],
        size: tuple[int, int] = (80, 24),
    ) -> None:
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self._fed = 0
        columns, rows = size
        super().__init__(
            command, directory, {"COLUMNS": str(columns), "LINES": str(rows), **environment}, (rows, columns)
        )

    @property
    def lines(self) -> list[str]:
        self._feed()
        return [line.rstrip() for line in self.screen.display]

    @property
    def shown(self) -> str:
        return "\n".join(self.lines)

    def sees(self, *patterns: str, within_s: float = DEADLINE_S) -> str:
        """Wait until all texts are on the screen at the same time."""

        def look() -> str | None:
            shown = self.shown
            if all(re.search(pattern, shown) for pattern in patterns):
                return shown
            if self.popen.poll() is not None:
                raise AssertionError(f"it ended with {self.popen.returncode}")
            return None

        try:
            return eventually(look, f"{patterns!r}", within_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.shown}") from None

    def sees_no(self, pattern: str) -> None:
        try:
            eventually(
                lambda: None if re.search(pattern, self.shown) else True, f"no {pattern!r}", DEADLINE_S
            )
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.shown}") from None

    def types(self, text: str, *keys: str) -> None:
        os.write(self._keyboard, (text + "".join(KEYS[key] for key in keys)).encode())

    def _feed(self) -> None:
        received = self._bytes[self._fed :]
        if half := _HALF.search(received):
            received = received[: half.start()]
        self._fed += len(received)
        self._stream.feed(_UNKNOWN.sub(b"", received))

"""A program in a real pseudo-terminal: its output, Ctrl-C and its exit."""

import os
import pty
import re
import signal
import subprocess
import termios
import threading
from pathlib import Path

from contract.telemetry.running import eventually

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
DEADLINE_S = 180.0


class Terminal:
    def __init__(
        self,
        command: list[str],
        directory: Path,
        environment: dict[str, str],
        size: tuple[int, int] | None = None,
    ) -> None:
        """`size`: rows and columns."""
        ours, theirs = pty.openpty()
        if size is not None:
            termios.tcsetwinsize(ours, size)
        self.popen = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=directory,
            env={"TERM": "xterm-256color", "COLUMNS": "200", **environment},
            start_new_session=True,
            preexec_fn=_own_terminal,  # noqa: PLW1509 - only system calls that need no lock of another thread
        )
        os.close(theirs)
        self._keyboard = ours
        self._bytes = b""
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    @property
    def colourful(self) -> str:
        return self._bytes.decode(errors="replace").replace("\r\n", "\n")

    @property
    def text(self) -> str:
        return _ESCAPES.sub("", self.colourful)

    def wait_for(self, pattern: str, times: int = 1) -> str:
        """Wait until the pattern was found `times` times. Return the last match."""

        def look() -> str | None:
            found = [match.group(0) for match in re.finditer(pattern, self.text)]
            if len(found) >= times:
                return found[times - 1]
            if self.popen.poll() is not None:
                raise AssertionError(f"it ended with {self.popen.returncode}:\n{self.text}")
            return None

        try:
            return eventually(look, f"{pattern!r}", DEADLINE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text}") from None

    def ctrl_c(self) -> None:
        os.write(self._keyboard, b"\x03")

    def exit_code(self) -> int:
        code = self.popen.wait(DEADLINE_S)
        self._reading.join(DEADLINE_S)
        return code

    def close(self) -> None:
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL)
        self.exit_code()
        os.close(self._keyboard)

    def _read(self) -> None:
        while True:
            try:
                more = os.read(self._keyboard, 65_536)
            except OSError:  # Linux raises it when the other end is closed
                return
            if not more:
                return
            self._bytes += more


def _own_terminal() -> None:
    """Make the pseudo-terminal the controlling terminal, between fork and exec, so that Ctrl-C works."""
    import fcntl  # noqa: PLC0415
    import termios  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

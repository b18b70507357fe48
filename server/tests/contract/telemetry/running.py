"""A process as a test sees it: its log lines, its admin pages, its signals and its end."""

import fcntl
import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fixtures.fork_server import start_process

DEADLINE_S = 180.0
_TESTS = Path(__file__).parents[2]


def eventually[T](
    look: Callable[[], T | None], what: str, deadline_s: float = DEADLINE_S, *, every_s: float = 0.01
) -> T:
    """Return the first result of `look` that is not None. Fail after the deadline with a description of it."""
    ends_at = time.monotonic() + deadline_s
    while time.monotonic() < ends_at:
        if (found := look()) is not None:
            return found
        time.sleep(every_s)
    raise AssertionError(f"within {deadline_s} s: no {what}")


class Running:
    """A running process. With `is_read` False its log is not read, and the pipe is small."""

    def __init__(
        self,
        command: list[str],
        *,
        cwd: Path = _TESTS,
        environment: Mapping[str, str] | None = None,
        is_read: bool = True,
    ) -> None:
        self.popen = start_process(command, cwd, environment)
        assert self.popen.stdout
        assert self.popen.stderr
        self._out, self._err = self.popen.stdout, self.popen.stderr
        self.lines: list[dict[str, Any]] = []
        self.stderr = ""
        self._is_read = is_read
        if not is_read:
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, 4_096)
        reads = [self._read_stderr, *([self._read_log] if is_read else [])]
        self._threads = [threading.Thread(target=read, daemon=True) for read in reads]
        for thread in self._threads:
            thread.start()

    def _read_log(self) -> None:
        while self._is_read and (line := self._out.readline()):
            self.lines.append(json.loads(line))
        self._out.close()

    def _read_stderr(self) -> None:
        for line in self._err:
            self.stderr += line.decode()
        self._err.close()

    def stop_reading(self) -> None:
        """Close the reader of the log, as if it had crashed."""
        self._is_read = False
        self._threads[1].join(DEADLINE_S)

    def events(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]

    def wait_for(self, event: str, **fields: object) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            for line in self.events(event):
                if fields.items() <= line.items():
                    return line
            if self.popen.poll() is not None:
                raise AssertionError(f"it ended with {self.popen.returncode}: {self.tail()}")
            return None

        return eventually(look, f"line {event!r} {fields}")

    def tail(self) -> str:
        return "\n".join([*(json.dumps(line) for line in self.lines[-15:]), self.stderr])

    @property
    def port(self) -> int:
        port: int = self.wait_for("process starting")["admin_port"]
        return port

    def get(self, path: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        is_json = answer.headers["Content-Type"] == "application/json"
        return answer.status, json.loads(body) if is_json else body.decode()

    def wait_for_status(self, path: str, status: int, deadline_s: float = DEADLINE_S) -> Any:
        def look() -> object | None:
            got, body = self.get(path)
            return body if got == status else None

        return eventually(look, f"{status} at {path}", deadline_s)

    def exit_code(self, deadline_s: float = DEADLINE_S) -> int:
        try:
            code = self.popen.wait(deadline_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still alive after {deadline_s} s: {self.tail()}") from None
        for thread in self._threads:
            thread.join(DEADLINE_S)
        return code

    def close(self) -> None:
        self.popen.kill()
        self.exit_code()
        self._out.close()


@contextmanager
def running(*, is_read: bool = True, **sample: object) -> Iterator[Running]:
    command = [sys.executable, "-m", "contract.telemetry.sample_process", json.dumps(sample)]
    process = Running(command, is_read=is_read)
    try:
        yield process
    finally:
        process.close()

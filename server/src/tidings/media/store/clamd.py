"""ClamAV: files are sent to `clamd`, which looks for malware."""

import asyncio
import socket
import struct
from contextlib import suppress
from pathlib import Path

from tidings.kernel.errors import UnavailableError
from tidings.media.model import ScanResult

UNIX = "unix:"
_CHUNK_BYTES = 256 * 1024
_MAX_ANSWER_BYTES = 4_096
_MAX_NAME_CHARS = 100
_TIMEOUT_S = 120.0
"""For each chunk, and for the answer: clamd scans when it has the whole file."""
_MB = 1024 * 1024


class ClamdScanner:
    """`address`: `host:port`, or `unix:` and the path of a socket. `max_mb`: larger files are not sent."""

    def __init__(self, address: str, *, max_mb: int = 100, timeout_s: float = _TIMEOUT_S) -> None:
        self._address = address
        self._max_bytes = max_mb * _MB
        self._timeout_s = timeout_s

    async def check(self, path: Path) -> ScanResult:
        answer = await self._ask(path)
        if answer is None or "size limit exceeded" in answer:
            return ScanResult(is_too_large=True)
        if answer.endswith(" OK"):
            return ScanResult()
        if answer.endswith(" FOUND"):
            name = answer.removeprefix("stream: ").removesuffix(" FOUND")
            return ScanResult(infection=name[:_MAX_NAME_CHARS])
        raise UnavailableError(f"clamd at {self._address} answered {answer[:_MAX_NAME_CHARS]!r}.")

    async def ping(self) -> None:
        """Raise `UnavailableError` if clamd does not answer."""
        if await self._ask(None) != "PONG":
            raise UnavailableError(f"{self._address} is not clamd.")

    async def _ask(self, path: Path | None) -> str | None:
        """Send a file, or a ping. None: the file is too large."""
        try:
            return await asyncio.to_thread(self._exchange, path)
        except OSError as error:
            raise UnavailableError(f"clamd at {self._address} does not answer: {error!r}") from error

    def _exchange(self, path: Path | None) -> str | None:
        """Run in a thread: asyncio would discard an answer that arrives while it still writes."""
        if path is not None and path.stat().st_size > self._max_bytes:
            return None
        with self._connect() as connection:
            # clamd answers and closes the connection at its own limit, before it has read everything.
            with suppress(ConnectionError):
                self._send(connection, path)
            return _read_answer(connection)

    def _send(self, connection: socket.socket, path: Path | None) -> None:
        if path is None:
            connection.sendall(b"zPING\0")
            return
        connection.sendall(b"zINSTREAM\0")
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                connection.sendall(struct.pack(">I", len(chunk)) + chunk)
        connection.sendall(struct.pack(">I", 0))

    def _connect(self) -> socket.socket:
        if not self._address.startswith(UNIX):
            host, _, port = self._address.rpartition(":")
            return socket.create_connection((host, int(port)), timeout=self._timeout_s)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(self._timeout_s)
        try:
            connection.connect(self._address.removeprefix(UNIX))
        except OSError:
            connection.close()
            raise
        return connection


def _read_answer(connection: socket.socket) -> str:
    """Read up to the byte that ends an answer. Raises `OSError` if there is none."""
    found = b""
    while not found.endswith(b"\0"):
        if len(found) > _MAX_ANSWER_BYTES or not (data := connection.recv(_MAX_ANSWER_BYTES)):
            raise ConnectionError("the connection was closed without an answer")
        found += data
    return found[:-1].decode(errors="replace").strip()

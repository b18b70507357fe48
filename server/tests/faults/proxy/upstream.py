"""Keep-alive connections to the engine behind the proxy."""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import final
from urllib.parse import urlsplit

from faults.proxy.http_message import MAX_HEAD_BYTES, Message, ProtocolError, read_answer

# Shorter than the idle timeout of engines: an engine that closes a connection during a request would look like a
# fault.
MAX_IDLE_S = 5.0


class UpstreamGoneError(Exception):
    """The engine gave no answer. It may have applied the request, so the proxy does not repeat it."""


@dataclass(slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    used_at: float

    def is_usable(self, now: float) -> bool:
        is_open = not self.reader.at_eof() and not self.writer.is_closing()
        return is_open and now - self.used_at < MAX_IDLE_S


@final
class Upstream:
    """A pool in the proxy's loop.

    A connection carries one request at a time; the number of connections is not limited.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname is None:
            raise ValueError(f"the engine's URL must be http://host:port, not {url!r}")
        self._host = parts.hostname
        self._port = parts.port or 80
        self._idle: deque[_Connection] = deque()

    async def ask(self, request: Message) -> Message:
        """Send the request once and read the answer."""
        connection = None
        is_kept = False
        try:
            connection = await self._take()
            connection.writer.write(request.raw)
            answer = await read_answer(connection.reader, request.method)
            is_kept = not (request.asks_to_close or answer.asks_to_close)
        except (OSError, asyncio.IncompleteReadError, ProtocolError) as error:
            raise UpstreamGoneError(str(error)) from error
        finally:
            if connection is not None:
                self._put_back(connection, is_kept=is_kept)
        return answer

    def close(self) -> None:
        for connection in self._idle:
            connection.writer.transport.abort()
        self._idle.clear()

    async def _take(self) -> _Connection:
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable(now):
                return connection
            connection.writer.transport.abort()
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=MAX_HEAD_BYTES)
        return _Connection(reader, writer, now)

    def _put_back(self, connection: _Connection, *, is_kept: bool) -> None:
        if is_kept:
            connection.used_at = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.writer.transport.abort()

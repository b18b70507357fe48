"""HTTP/1.1 connections and their pool. A connection carries one request at a time.

Anything but a complete answer to the request closes the connection, so that none is reused with unread data.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast, override

import httptools

from tidings.platform.dynamo.credentials import Endpoint
from tidings.platform.dynamo.errors import NotSentError

BUFFER_BYTES = 64 * 1024
NEVER = float("inf")


class HttpConnection(asyncio.BufferedProtocol):
    """`status`, `headers` and `body()` are those of the last answer, until the next `send`.

    deadline: when the pool calls `expire`, because the answer is late or the connection was idle for too long.
    is_reusable: set after a complete answer, unless the server closes the connection.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_lost: Callable[["HttpConnection"], None],
        max_answer_bytes: int,
    ) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.deadline = NEVER
        self.is_closed = False
        self.is_reusable = False
        self._loop = loop
        self._on_lost = on_lost
        self._max_answer_bytes = max_answer_bytes
        # Set while a caller waits for an answer.
        self._waiter: asyncio.Future[str | None] | None = None
        self._is_answered = False
        self._received_bytes = 0
        self._chunks: list[bytes] = []
        self._view = memoryview(bytearray(BUFFER_BYTES))
        # The parser looks these up once, so a header or a chunk costs no Python function call.
        self.on_header = self.headers.__setitem__
        self.on_body = self._chunks.append
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None

    def send(self, request: bytes, deadline: float) -> asyncio.Future[str | None]:
        """Send a request. The future returns None when the answer is complete, or the reason of a failure.

        A caller that stops waiting must call `abort`.
        """
        if self._transport is None or self.is_closed:
            raise NotSentError("the connection was closed before the request was sent")
        self.headers.clear()
        self._chunks.clear()
        self._received_bytes = 0
        self._is_answered = self.is_reusable = False
        self.deadline = deadline
        self._waiter = waiter = self._loop.create_future()
        self._transport.write(request)
        return waiter

    def body(self) -> bytes:
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)

    def expire(self) -> None:
        self._end("no answer in time")

    def abort(self) -> None:
        """Close the connection at once. Data in flight is neither sent nor read."""
        self._end("the call was cancelled")

    def _end(self, reason: str) -> None:
        self.is_closed = True
        self.is_reusable = False
        self.deadline = NEVER
        self._wake(reason)
        if self._transport is not None:
            self._transport.abort()

    def _wake(self, failure: str | None) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(failure)

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        where = "before an answer" if not self._received_bytes else "in the middle of the answer"
        self._end(f"the connection was lost {where}" + (f" ({exc})" if exc else ""))
        self._on_lost(self)

    @override
    def eof_received(self) -> None:
        # Set before `connection_lost` is called, so that the pool does not hand out the connection in between.
        if self._waiter is None:
            self.is_closed = True
            self.is_reusable = False

    @override
    def get_buffer(self, sizehint: int) -> memoryview:
        # Not the bytearray: asyncio's TLS reads into a slice of it, which would be a copy.
        return self._view

    @override
    def buffer_updated(self, nbytes: int) -> None:
        if self._waiter is None:
            self._end("the server sent data without a request")
            return
        self._received_bytes += nbytes
        if self._received_bytes > self._max_answer_bytes:
            self._end("the answer is larger than DynamoDB's maximum")
            return
        try:
            self._parser.feed_data(self._view[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._end(f"the answer is not HTTP ({error})")
            return
        if self._is_answered:
            self._wake(None)

    def on_message_begin(self) -> None:
        if self._is_answered:
            raise httptools.HttpParserError("second answer to one request")

    def on_message_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self.is_reusable = self._parser.should_keep_alive()
        self._is_answered = True


_TIMER_GRAIN_S = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """`max_idle_s` must be less than a minute, after which DynamoDB closes idle connections.

    DynamoDB's largest answers have 16 MB.
    """

    max_connections: int = 128
    max_waiting: int = 8192
    max_idle_s: float = 20.0
    connect_timeout_s: float = 3.0
    max_answer_bytes: int = 17 * 1024 * 1024


class Pool:
    """A pool of connections. Each is used by one caller at a time."""

    def __init__(self, endpoint: Endpoint, limits: PoolLimits) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._idle: list[HttpConnection] = []
        self._connections: set[HttpConnection] = set()
        self._slots = limits.max_connections
        # A waiter that gets None opens a connection itself: a slot is free.
        self._waiters: deque[asyncio.Future[HttpConnection | None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = NEVER
        self._is_closed = False

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    @property
    def idle_connections(self) -> int:
        return len(self._idle)

    def take(self) -> HttpConnection | None:
        """Return an idle connection or None. The most recently used one is the least likely to be closed."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed:
                return connection
        return None

    async def wait(self, deadline: float) -> HttpConnection:
        """Wait for a new or released connection. Raises `NotSentError`."""
        if self._is_closed:
            raise NotSentError("the client is closed", transient=False)
        if self._slots:
            self._slots -= 1
            return await self._connect(deadline)
        if len(self._waiters) >= self._limits.max_waiting:
            raise NotSentError(f"{self._limits.max_waiting} calls already wait for a connection")
        return await self._queue(deadline) or await self._connect(deadline)

    def send(
        self, connection: HttpConnection, request: bytes, deadline: float
    ) -> "asyncio.Future[str | None]":
        if deadline < self._timer_due:
            self._watch(deadline)
        return connection.send(request, deadline)

    def release(self, connection: HttpConnection) -> None:
        if not connection.is_reusable or self._is_closed:
            connection.abort()
        elif not self._pass_on(connection):
            connection.deadline = self._loop.time() + self._limits.max_idle_s
            self._idle.append(connection)

    def close(self) -> None:
        """Close all connections. Calls in flight fail with an unknown outcome."""
        self._is_closed = True
        for connection in tuple(self._connections):
            connection.abort()
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(NotSentError("the client is closed", transient=False))
        self._watch(NEVER)

    def _pass_on(self, connection: HttpConnection | None) -> bool:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return True
        return False

    async def _queue(self, deadline: float) -> HttpConnection | None:
        waiter: asyncio.Future[HttpConnection | None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout_at(deadline):
                return await waiter
        except BaseException as error:
            self._return_unused(waiter)
            if isinstance(error, TimeoutError):
                raise NotSentError("no connection became free in time") from None
            raise

    def _return_unused(self, waiter: "asyncio.Future[HttpConnection | None]") -> None:
        """Return what a cancelled waiter received.

        Race: `release` passes a connection to the waiter, and its caller is cancelled in the same turn of the loop.
        """
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        elif not waiter.cancelled() and waiter.exception() is None:
            connection = waiter.result()
            if connection is None:
                self._free_slot()
            else:
                self.release(connection)

    async def _connect(self, deadline: float) -> HttpConnection:
        """Open a connection. The caller holds a slot, which is freed if this fails."""
        try:
            connection = await self._open(min(deadline, self._loop.time() + self._limits.connect_timeout_s))
        except BaseException as error:
            self._free_slot()
            if isinstance(error, OSError):  # includes TimeoutError and ssl.SSLError
                raise _unsent(error) from error
            raise
        if connection.is_closed:
            self._free_slot()
            raise NotSentError("the server closed the connection as soon as it was open")
        self._connections.add(connection)
        return connection

    async def _open(self, deadline: float) -> HttpConnection:
        end = self._endpoint
        async with asyncio.timeout_at(deadline):
            _, connection = await self._loop.create_connection(
                lambda: HttpConnection(self._loop, self._lose, self._limits.max_answer_bytes),
                end.address,
                end.port,
                ssl=end.tls,
                server_hostname=end.address if end.tls else None,
            )
        return connection

    def _lose(self, connection: HttpConnection) -> None:
        """Free the slot of a closed connection. Called once for each connection."""
        if connection in self._connections:
            self._connections.remove(connection)
            if connection in self._idle:
                self._idle.remove(connection)
            self._free_slot()

    def _free_slot(self) -> None:
        if self._is_closed or not self._pass_on(None):
            self._slots += 1

    def _watch(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if due == NEVER else self._loop.call_at(due, self._check_idle)
        self._timer_due = due

    def _check_idle(self) -> None:
        now = self._loop.time()
        for connection in tuple(self._connections):
            if connection.deadline <= now:
                connection.expire()
        soonest = min((connection.deadline for connection in self._connections), default=NEVER)
        self._watch(max(soonest, now + _TIMER_GRAIN_S))


def _unsent(error: OSError) -> NotSentError:
    if isinstance(error, TimeoutError):
        return NotSentError("no connection in time")
    is_untrusted = isinstance(error, ssl.SSLCertVerificationError)
    return NotSentError(f"no connection: {error}", transient=not is_untrusted)

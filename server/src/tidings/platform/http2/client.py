"""Send requests over pooled HTTP/2 connections. The address of each connection is checked when the socket is opened."""

import asyncio
import contextlib
import errno
import socket
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast, override
from urllib.parse import urlsplit

from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.network_policy import NetworkPolicy, may_connect
from tidings.platform.http2.session import (
    METHOD_POST,
    SCHEME_HTTPS,
    Answer,
    Http2Error,
    Http2Session,
    encode_headers,
)

_HTTPS_PORT = 443


class RequestFailedError(Exception):
    """There is no answer. `may_be_applied`: whether the server may have processed the request."""

    def __init__(self, reason: str, *, may_be_applied: bool) -> None:
        super().__init__(reason)
        self.may_be_applied = may_be_applied


class NoHttp2Error(Exception):
    """The server does not speak HTTP/2."""


class HttpAnswer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Http2Options:
    """`idle_s`: a connection that was unused for longer is replaced, because networks drop it without notice."""

    network: NetworkPolicy
    timeout_s: float = 10.0
    connect_timeout_s: float = 5.0
    idle_s: float = 300.0
    max_connections: int = 4
    """Connections to one server."""
    max_servers: int = 200


class _Connection(asyncio.Protocol):
    def __init__(self, on_change: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._session = Http2Session()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._transport: asyncio.Transport | None = None
        self._is_flushing = False
        self._on_change = on_change
        self.is_lost = False
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self.used_at = self._loop.time()
        self.received_at = self._loop.time()

    @property
    def free_streams(self) -> int:
        return 0 if self.is_lost else self._session.free_streams

    @property
    def is_usable(self) -> bool:
        return not self.is_lost and self._session.is_usable

    @property
    def is_idle(self) -> bool:
        return not self._session.open_streams

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Transports of uvloop do not inherit from the class of the standard library.
        self._transport = cast("asyncio.Transport", transport)
        self._flush()

    @override
    def data_received(self, data: bytes) -> None:
        self.received_at = self._loop.time()
        try:
            events = self._session.receive(data)
        except Http2Error as error:
            self.close(f"protocol error: {error}")
            return
        for event in events:
            waiter = self._waiting.pop(event.stream, None)
            if waiter is None or waiter.done():
                continue
            if isinstance(event, Answer):
                waiter.set_result(event)
            else:
                waiter.set_exception(RequestFailedError(event.reason, may_be_applied=event.may_be_applied))
        self._flush_soon()
        if self._session.has_settings and not self.ready.done():
            self.ready.set_result(None)
        if self._session.goaway is not None and self.is_idle:
            self.close("the server went away")
        self._on_change()

    @override
    def connection_lost(self, error: Exception | None) -> None:
        self.close(f"the connection was lost: {error or 'closed by the server'}")

    def close(self, reason: str) -> None:
        """Close the connection. Requests without an answer fail."""
        if self.is_lost:
            return
        self.is_lost = True
        if not self.ready.done():
            self.ready.set_exception(ConnectionResetError(reason))
        for stream in self._session.abandon():
            waiter = self._waiting.pop(stream, None)
            if waiter is not None and not waiter.done():
                waiter.set_exception(RequestFailedError(reason, may_be_applied=True))
        if self._transport is not None:
            self._transport.close()
        self._on_change()

    async def request(self, block: bytes, body: bytes, timeout_s: float) -> Answer:
        started = self.used_at = self._loop.time()
        stream = self._session.request(block, body)
        waiter: asyncio.Future[Answer] = self._loop.create_future()
        self._waiting[stream] = waiter
        self._flush_soon()
        try:
            async with asyncio.timeout(timeout_s):
                return await waiter
        except TimeoutError:
            if self.received_at < started:
                # Nothing arrived during the whole request: the network may have dropped the connection.
                self.close("no answer")
            raise RequestFailedError(f"no answer within {timeout_s:g} s", may_be_applied=True) from None
        finally:
            if self._waiting.pop(stream, None) is not None:
                self._session.cancel(stream)
                self._flush_soon()

    def _flush_soon(self) -> None:
        """Send at the end of this turn of the event loop: many requests then share one system call."""
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        if self._transport is not None and not self.is_lost and (data := self._session.take()):
            self._transport.write(data)


class _Server:
    """The connections to one server, and the requests that wait for room."""

    def __init__(self) -> None:
        self.connections: list[_Connection] = []
        self.waiting: deque[asyncio.Future[None]] = deque()

    def wake(self) -> None:
        self.connections = [each for each in self.connections if not each.is_lost]
        # At least one: it opens a connection if all are lost.
        room = max(1, sum(each.free_streams for each in self.connections))
        while self.waiting and room:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                room -= 1


class Http2Client:
    """Send POST requests. Use it from one event loop, and close it."""

    def __init__(self, options: Http2Options, tls: ssl.SSLContext | None = None) -> None:
        self._options = options
        self._tls = tls or ssl.create_default_context()
        self._tls.set_alpn_protocols(["h2", "http/1.1"])
        self._servers: dict[str, _Server] = {}
        self._opens: SingleFlight[str, _Connection] = SingleFlight()

    async def post(self, origin: str, path: str, headers: bytes, body: bytes) -> HttpAnswer:
        """Send a request to `https://host[:port]`. `headers` are encoded by `encode_headers`.

        Raises `RequestFailedError`, also for an address that is not allowed, and `NoHttp2Error`.
        """
        place = urlsplit(origin)
        block = METHOD_POST + SCHEME_HTTPS + encode_headers(((":authority", place.netloc), (":path", path)))
        connection = await self._connection(origin)
        answer = await connection.request(block + headers, body, self._options.timeout_s)
        return HttpAnswer(answer.status, answer.headers, answer.body)

    async def close(self) -> None:
        for server in self._servers.values():
            for connection in list(server.connections):
                connection.close("the client was closed")
        self._servers.clear()
        await asyncio.sleep(0)

    async def _connection(self, origin: str) -> _Connection:
        server = self._servers.get(origin)
        if server is None:
            self._forget_unused()
            server = self._servers[origin] = _Server()
        deadline = asyncio.get_running_loop().time() + self._options.timeout_s
        while True:
            if (found := self._find(server)) is not None:
                return found
            usable = [each for each in server.connections if each.is_usable]
            if len(usable) < self._options.max_connections:
                await self._opens.run(origin, lambda: self._open(origin, server))
            else:
                await self._wait(server, deadline)

    def _find(self, server: _Server) -> _Connection | None:
        oldest = asyncio.get_running_loop().time() - self._options.idle_s
        for connection in server.connections:
            if connection.is_idle and connection.used_at < oldest:
                connection.close("idle")
        return next((each for each in server.connections if each.free_streams), None)

    async def _wait(self, server: _Server, deadline: float) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        server.waiting.append(waiter)
        try:
            async with asyncio.timeout_at(deadline):
                await waiter
        except TimeoutError:
            raise RequestFailedError("all streams are in use", may_be_applied=False) from None

    def _forget_unused(self) -> None:
        """Bound the number of servers: tenants choose them."""
        if len(self._servers) >= self._options.max_servers:
            for origin, server in list(self._servers.items()):
                if all(each.is_idle for each in server.connections) and not server.waiting:
                    for connection in list(server.connections):
                        connection.close("unused")
                    del self._servers[origin]

    async def _open(self, origin: str, server: _Server) -> _Connection:
        place = urlsplit(origin)
        host, port = place.hostname or "", place.port or _HTTPS_PORT
        try:
            async with asyncio.timeout(self._options.connect_timeout_s):
                connection = await self._connect(host, port, server)
        except TimeoutError:
            raise RequestFailedError("no connection in time", may_be_applied=False) from None
        except OSError as error:
            raise RequestFailedError(f"no connection: {error}", may_be_applied=False) from error
        server.connections.append(connection)
        return connection

    async def _connect(self, host: str, port: int, server: _Server) -> _Connection:
        """Connect to the first address that accepts. The address that is checked is the one that is connected to."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        problem: OSError = OSError(errno.EHOSTUNREACH, "the name has no address")
        for family, kind, protocol, _, address in found:
            if not may_connect(str(address[0]), self._options.network):
                problem = PermissionError(errno.EACCES, "connections to this address are not allowed")
                continue
            sock = socket.socket(family, kind, protocol)
            sock.setblocking(False)  # noqa: FBT003 - the standard library takes it so
            try:
                await loop.sock_connect(sock, address)
                transport, connection = await loop.create_connection(
                    lambda: _Connection(server.wake), sock=sock, ssl=self._tls, server_hostname=host
                )
            except OSError as error:
                problem = error
                with contextlib.suppress(OSError):
                    sock.close()
                continue
            except BaseException:
                sock.close()
                raise
            tls = transport.get_extra_info("ssl_object")
            if tls.selected_alpn_protocol() != "h2":
                connection.ready.cancel()
                connection.close("no HTTP/2")
                raise NoHttp2Error(host)
            # The server's limit of streams is in its first frame. More requests than that would end the connection.
            await connection.ready
            return connection
        raise problem

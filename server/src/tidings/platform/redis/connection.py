"""One connection to one node, reconnected automatically: connect, HELLO, pings, loss, pause, connect again.

When a loss is detected, the listener is notified before anything else happens.
"""

import asyncio
import contextlib
import errno
import os
import socket
from math import inf
from typing import Protocol, cast

from hiredis import Reader

from tidings.platform.redis.errors import (
    Address,
    OutcomeUnknownError,
    OverloadedError,
    RedisError,
    ServerError,
    UnreachableError,
)
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.pipeline import NOTHING, Pipeline, ProtocolError, Push, Reply, pack_command

PING = pack_command("PING")
_STEADY_S = 1.0


class ConnectionListener(Protocol):
    """Callbacks of a connection. They run in the event loop and must not block."""

    def on_connected(self) -> None:
        """Handle a new connection, before waiting commands are sent."""

    def on_disconnected(self, reason: str) -> None:
        """Handle the loss of the connection, before any command of it fails."""

    def on_push(self, push: Push) -> None:
        """Handle a push of the server: a message of a channel, or the answer to a subscribe command."""


class RedisProtocol(asyncio.Protocol):
    """One TCP connection: the asyncio protocol of a `RedisConnection`."""

    def __init__(self, link: "RedisConnection", pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.ended = asyncio.Event()
        self._link = link
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        try:
            self.pipeline.feed(data)
        except ProtocolError as error:
            self._link.disconnect(self, f"invalid answer: {error}")
            self.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        reason = "closed the connection" if exc is None else error_text(exc)
        self._link.disconnect(self, reason)
        self.pipeline.fail(reason)
        self.ended.set()

    @property
    def transport(self) -> asyncio.Transport:
        """Return the transport. Valid after `create_connection` has returned."""
        return cast("asyncio.Transport", self._transport)

    def drop(self) -> None:
        """Abort the connection. Data that was received and not read yet is lost."""
        if self._transport is not None:
            self._transport.abort()


class RedisConnection:
    def __init__(self, address: Address, options: RedisOptions, listener: ConnectionListener) -> None:
        self.address = address
        self.last_pong_at = -inf
        """When the last answered ping was sent. Everything that the server pushed before then has arrived."""
        self._options = options
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._session: RedisProtocol | None = None
        self._pipeline: Pipeline | None = self._new_pipeline()
        self._failure: RedisError | None = None
        self._settled = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._ping_due = 0.0
        self._last_reply_at = -inf
        self._task = self._loop.create_task(self._run())

    @property
    def is_connected(self) -> bool:
        return self._session is not None

    def submit(self, frame: bytes, deadline: float) -> asyncio.Future[Reply]:
        """Send a command. It waits during the first attempt to connect; after a failed attempt it is refused at once."""
        return self._open_pipeline().submit(frame, deadline)

    def submit_fenced(self, frame: bytes) -> asyncio.Future[Reply]:
        return self._open_pipeline().submit_fenced(frame, PING)

    def answer_by_push(self, push: Push) -> asyncio.Future[Reply]:
        return self._open_pipeline().answer_by_push(push)

    def check(self) -> None:
        """Raise `UnreachableError` if the last attempt to connect failed, as a command would."""
        self._open_pipeline()

    async def wait_connected(self) -> None:
        """Wait for the first connection. Raises the error of the first attempt."""
        await self._settled.wait()
        if self._failure is not None:
            raise self._failure

    def reopen(self, reason: str) -> None:
        """Close the connection and open a new one, which resolves the host name again."""
        if self._session is not None:
            self.disconnect(self._session, reason)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        session, self._session = self._session, None
        self._stop_checks()
        if self._pipeline is not None:
            self._pipeline.fail("client closed")
            self._pipeline = None
        self._failure = UnreachableError(f"{self.address}: client closed")
        if session is not None:
            session.drop()
            await session.ended.wait()

    def disconnect(self, session: RedisProtocol, reason: str) -> None:
        """Handle the loss of `session`. Subscribers learn it first, before a command fails or a new session starts."""
        if session is not self._session:
            return
        self._session = None
        self._listener.on_disconnected(reason)
        self._stop_checks()
        self._last_reply_at = session.pipeline.last_reply_at
        self._pipeline = self._new_pipeline()
        session.pipeline.fail(reason)
        session.drop()

    def health(self) -> str:
        """Return the problem as text, or an empty text if the node answers."""
        now = self._loop.time()
        if self._session is not None:
            silent_s = self._session.pipeline.silent_s(now)
            return f"no answer for {silent_s:.1f} s" if silent_s > self._options.ping_s else ""
        if self._failure is None and self._last_reply_at == -inf:
            return ""  # The first attempt is in progress; it fails after `connect_s`.
        why = str(self._failure) if self._failure else "connecting"
        if self._last_reply_at == -inf:
            return f"never answered: {why}"
        return f"no answer for {now - self._last_reply_at:.1f} s: {why}"

    def _open_pipeline(self) -> Pipeline:
        if self._pipeline is None:
            raise UnreachableError(str(self._failure))
        return self._pipeline

    def _new_pipeline(self) -> Pipeline:
        return Pipeline(
            self.address, self._options.max_commands, self._options.max_bytes, self._listener.on_push
        )

    async def _run(self) -> None:
        failures = 0
        while True:
            pipeline = self._pipeline or self._new_pipeline()
            try:
                session = await self._connect(pipeline)
            except Exception as error:  # noqa: BLE001 - every error is followed by another attempt
                self._connect_failed(pipeline, error)
                failures += 1
            else:
                began = self._loop.time()
                self._connected(session)
                await session.ended.wait()
                failures = 0 if self._loop.time() - began > _STEADY_S else failures + 1
            await asyncio.sleep(self._options.pause_s(failures))

    async def _connect(self, pipeline: Pipeline) -> RedisProtocol:
        session = RedisProtocol(self, pipeline)
        try:
            async with asyncio.timeout(self._options.connect_s):
                await self._loop.create_connection(lambda: session, *self.address, ssl=self._options.tls)
                hello = pack_command(*self._options.hello)
                self._check(session, await pipeline.greet(session.transport, hello))
        except BaseException:
            session.drop()
            raise
        return session

    def _check(self, session: RedisProtocol, hello: Reply) -> None:
        if session.ended.is_set():  # The server closed the connection right after the answer to HELLO.
            raise ConnectionResetError(errno.ECONNRESET, "closed")
        mode = hello.get(b"mode") if isinstance(hello, dict) else None
        if self._options.is_cluster and mode != b"cluster":
            raise ServerError("The server is a single node, but is_cluster is set.")
        if not self._options.is_cluster and mode == b"cluster":
            raise ServerError("The server is a node of a cluster, but is_cluster is not set.")

    def _connect_failed(self, pipeline: Pipeline, error: Exception) -> None:
        self._failure = UnreachableError(f"{self.address}: {error_text(error)}")
        self._pipeline = None
        pipeline.fail(error_text(error))
        self._settled.set()

    def _connected(self, session: RedisProtocol) -> None:
        self._session, self._pipeline, self._failure = session, session.pipeline, None
        self._settled.set()
        self._ping_due = 0.0
        self._check_silence()
        self._listener.on_connected()
        session.pipeline.open(session.transport)

    def _check_silence(self) -> None:
        """Send pings, and end the session if the server is silent for `silence_s` while an answer is due."""
        session, now = self._session, self._loop.time()
        if session is None:
            return
        silent_s = session.pipeline.silent_s(now)
        if silent_s >= self._options.silence_s:
            self.disconnect(session, f"no answer for {silent_s:.1f} s")
            return
        if now >= self._ping_due:
            self._ping_due = now + self._options.ping_s
            self._ping(session, now)
        self._timer = self._loop.call_later(self._options.check_every_s, self._check_silence)

    def _ping(self, session: RedisProtocol, now: float) -> None:
        def on_pong(future: asyncio.Future[Reply]) -> None:
            if future.exception() is None:
                self.last_pong_at = now

        # If too much is in flight for a ping, the answers to those commands show whether the server is silent.
        with contextlib.suppress(OverloadedError):
            session.pipeline.submit(PING, inf).add_done_callback(on_pong)

    def _stop_checks(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def error_text(error: Exception) -> str:
    if isinstance(error, TimeoutError) and not str(error):
        return "no answer to the connection"
    if isinstance(error, OutcomeUnknownError):
        return str(error).partition(": ")[2]
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno).lower()
    return str(error) or type(error).__name__


_TIMEOUT_S = 3.0


def open_blocking_socket(options: RedisOptions, seed: Address) -> socket.socket:
    sock = socket.create_connection((seed.host, seed.port), _TIMEOUT_S)
    return options.tls.wrap_socket(sock, server_hostname=seed.host) if options.tls else sock


def call_blocking(sock: socket.socket, answers: Reader, *words: str) -> object:
    sock.sendall(pack_command(*words))
    while (answer := answers.gets()) is NOTHING:
        data = sock.recv(2**16)
        if not data:
            raise ConnectionResetError("The server closed the connection.")
        answers.feed(data)
    if isinstance(answer, Exception):
        raise answer
    return answer

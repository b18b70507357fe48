"""One connection to one node that comes back by itself: dial, HELLO, pings, loss, pause, dial again.

A loss is told to `events` in the same breath in which it is noticed, before anything else happens.
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
    """Whom a link tells. Called from the loop; must not block."""

    def stood(self) -> None:
        """The connection stands: commands are answered."""

    def lost(self, reason: str) -> None:
        """The connection that stood is gone."""

    def pushed(self, push: Push) -> None:
        """The server said something that nobody asked for, or answers by a push."""


class RedisProtocol(asyncio.Protocol):
    """One TCP connection of a link: asyncio's side of it."""

    def __init__(self, link: "RedisConnection", pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.over = asyncio.Event()
        self._link = link
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        try:
            self.pipeline.feed(data)
        except ProtocolError as error:
            self._link.disconnect(self, f"does not speak Redis's protocol: {error}")
            self.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        reason = "closed the connection" if exc is None else error_text(exc)
        self._link.disconnect(self, reason)
        self.pipeline.fail(reason)
        self.over.set()

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def drop(self) -> None:
        """End it at once. What the kernel still holds is not read."""
        if self._transport is not None:
            self._transport.abort()


class RedisConnection:
    def __init__(self, address: Address, options: RedisOptions, events: ConnectionListener) -> None:
        self.address = address
        self.last_pong_at = -inf
        """When a ping was sent that has been answered: everything the server had pushed by then was read."""
        self._options = options
        self._events = events
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
        """Before the first try to connect has failed commands wait; after it they are refused at once."""
        return self._open_pipeline().submit(frame, deadline)

    def submit_fenced(self, frame: bytes) -> asyncio.Future[Reply]:
        return self._open_pipeline().submit_fenced(frame, PING)

    def answer_by_push(self, push: Push) -> asyncio.Future[Reply]:
        return self._open_pipeline().answer_by_push(push)

    def check(self) -> None:
        """Raise `UnreachableError` if the last attempt to connect failed, as a command would."""
        self._open_pipeline()

    async def closed(self) -> None:
        """Wait for the first connection; raises what the first try met."""
        await self._settled.wait()
        if self._failure is not None:
            raise self._failure

    def reopen(self, reason: str) -> None:
        """Give the connection up and make a new one, which asks the name service again."""
        if self._session is not None:
            self.disconnect(self._session, reason)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        session, self._session = self._session, None
        self._stop_beating()
        if self._pipeline is not None:
            self._pipeline.fail("closed by us")
            self._pipeline = None
        self._failure = UnreachableError(f"{self.address}: closed by us")
        if session is not None:
            session.drop()
            await session.over.wait()

    def disconnect(self, session: RedisProtocol, reason: str) -> None:
        """The signal first: whoever listens must know before anybody can think that all is well."""
        if session is not self._session:
            return
        self._session = None
        self._events.lost(reason)
        self._stop_beating()
        self._last_reply_at = session.pipeline.last_reply_at
        self._pipeline = self._new_pipeline()
        session.pipeline.fail(reason)
        session.drop()

    def health(self) -> str:
        """Empty if it answers; else what is wrong, in words."""
        now = self._loop.time()
        if self._session is not None:
            silent_s = self._session.pipeline.silent_s(now)
            return f"no answer for {silent_s:.1f} s" if silent_s > self._options.ping_s else ""
        if self._failure is None and self._last_reply_at == -inf:
            return ""  # the first try is under way, and has `connect_s` to fail
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
            self.address, self._options.max_commands, self._options.max_bytes, self._events.pushed
        )

    async def _run(self) -> None:
        failures = 0
        while True:
            pipeline = self._pipeline or self._new_pipeline()
            try:
                session = await self._dial(pipeline)
            except Exception as error:  # noqa: BLE001 - whatever a try meets, there is a next one
                self._miss(pipeline, error)
                failures += 1
            else:
                began = self._loop.time()
                self._stand(session)
                await session.over.wait()
                failures = 0 if self._loop.time() - began > _STEADY_S else failures + 1
            await asyncio.sleep(self._options.pause_s(failures))

    async def _dial(self, pipeline: Pipeline) -> RedisProtocol:
        session = RedisProtocol(self, pipeline)
        try:
            async with asyncio.timeout(self._options.connect_s):
                await self._loop.create_connection(lambda: session, *self.address, ssl=self._options.tls)
                self._check(session, await pipeline.greet(session.write, pack_command(*self._options.hello)))
        except BaseException:
            session.drop()
            raise
        return session

    def _check(self, session: RedisProtocol, hello: Reply) -> None:
        if session.over.is_set():  # it was closed right behind the greeting
            raise ConnectionResetError(errno.ECONNRESET, "closed")
        mode = hello.get(b"mode") if isinstance(hello, dict) else None
        if self._options.is_cluster and mode != b"cluster":
            raise ServerError("it is a single node, but is_cluster is set")
        if not self._options.is_cluster and mode == b"cluster":
            raise ServerError("it is a node of a cluster, but is_cluster is not set")

    def _miss(self, pipeline: Pipeline, error: Exception) -> None:
        self._failure = UnreachableError(f"{self.address}: {error_text(error)}")
        self._pipeline = None
        pipeline.fail(error_text(error))
        self._settled.set()

    def _stand(self, session: RedisProtocol) -> None:
        self._session, self._pipeline, self._failure = session, session.pipeline, None
        self._settled.set()
        self._ping_due = 0.0
        self._beat()
        self._events.stood()
        session.pipeline.open(session.write)

    def _beat(self) -> None:
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
        self._timer = self._loop.call_later(self._options.check_every_s, self._beat)

    def _ping(self, session: RedisProtocol, now: float) -> None:
        def ponged(future: asyncio.Future[Reply]) -> None:
            if future.exception() is None:
                self.last_pong_at = now

        with contextlib.suppress(OverloadedError):  # then enough is in flight to see a silence by
            session.pipeline.submit(PING, inf).add_done_callback(ponged)

    def _stop_beating(self) -> None:
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
        answers.feed(sock.recv(2**16) or _read_reply())
    if isinstance(answer, Exception):
        raise answer
    return answer


def _read_reply() -> bytes:
    raise ConnectionResetError("it closed the connection")

"""Run connections one after the other, until the client ends or the server refuses it permanently.

A thin shell around the state machine in `protocol`: it performs the effects, waits between connections, and returns
answers to their callers. It does not depend on the outbox or the event queue.
"""

import asyncio
import logging
import random
import ssl as tls
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from math import inf
from typing import Literal, Protocol, final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, InvalidURI, WebSocketException

from tidings_sdk import close_codes
from tidings_sdk.backoff import FIRST_S, LONGEST_S, Backoff
from tidings_sdk.codec import encode_request
from tidings_sdk.credentials import Credentials
from tidings_sdk.errors import ClientStopped, RequestTimeout, TidingsError
from tidings_sdk.events import ConnectionStateChanged
from tidings_sdk.protocol import (
    Abandon,
    Authenticated,
    BecameLive,
    ConnectionProtocol,
    ConnectRefused,
    Effect,
    PushReceived,
    ReconnectRequested,
    ResponseReceived,
    State,
    Write,
)
from tidings_sdk.reconnect_policy import ReconnectPolicy
from tidings_sdk.token_bucket import TokenBucket
from tidings_wire.frames.session import Welcome
from tidings_wire.frames.structs import Body, ErrorBody

SDK = f"tidings-python/{version('tidings-sdk')}"
_MAX_FRAME_BYTES = 16 * 2**20
_DRAIN_S = 5.0
_log = logging.getLogger("tidings_sdk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long a client waits: for a socket, for an answer, and at most before the first and before later reconnects."""

    open_within_s: float = 10.0
    answer_within_s: float = 30.0
    backoff_first_s: float = FIRST_S
    backoff_longest_s: float = LONGEST_S


@dataclass(frozen=True, slots=True, kw_only=True)
class DialOptions:
    """How to open sockets. `proxy` True: use the proxy settings of the environment."""

    url: str
    device: str | None
    ssl: tls.SSLContext | None
    proxy: str | Literal[True] | None
    timeouts: Timeouts


class SessionListener(Protocol):
    def device(self) -> str | None: ...
    def epoch(self) -> int | None: ...
    def positions(self) -> Mapping[str, int]: ...
    def welcomed(self, welcome: Welcome) -> None:
        """Accept the welcome. Raises `ClientStopped` if the store belongs to another user."""

    def on_live(self) -> None: ...
    def pushed(self, body: Body) -> None: ...
    def state_changed(self, event: ConnectionStateChanged) -> None: ...


class _Ended(Exception):  # noqa: N818 - an outcome, not an error
    """The end of a connection: its close code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@final
class Session:
    def __init__(self, dialling: DialOptions, credentials: Credentials, listener: SessionListener) -> None:
        self._dialling = dialling
        self._credentials = credentials
        self._listener = listener
        timeouts = dialling.timeouts
        self._backoff = Backoff(random.random, timeouts.backoff_first_s, timeouts.backoff_longest_s)
        self._reconnect_policy = ReconnectPolicy(credentials, self._backoff)
        self._connection: ConnectionProtocol | None = None
        self._waiting: dict[int, asyncio.Future[Body]] = {}
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._token_bucket = TokenBucket(1, 1, 0)
        self._refusal: ErrorBody | None = None
        self._leave_at = self._closed_at = inf
        self._max_in_flight = 1
        self.epoch: int | None = None

    async def run(self) -> None:
        """Keep a connection until cancelled. Raises `ClientStopped` if reconnecting cannot help."""
        while True:
            self._notify(ConnectionStateChanged(State.CONNECTING))
            wait_s, why = await self._run_connection()
            self._notify(ConnectionStateChanged(State.CLOSED, wait_s, why))
            await asyncio.sleep(wait_s)

    async def let_in(self) -> None:
        while not self._is_open():
            await self._changed.wait()

    async def ask(self, body: Body, *, epoch: int | None = None) -> Body:
        """Send a request and return its answer, which may be an `ErrorBody`.

        `epoch`: the epoch of the sequences in the request. Raises `RequestTimeout` if the connection has another one,
        if it is lost, or if there is no answer in time.
        """
        try:
            async with asyncio.timeout(self._dialling.timeouts.answer_within_s):
                connection = await self._ready_connection()
                if epoch is not None and epoch != self.epoch:
                    raise RequestTimeout("The installation was restored meanwhile.")
                return await self._request(connection, body)
        except TimeoutError:
            raise RequestTimeout("The server did not answer in time.") from None

    def send(self, body: Body) -> bool:
        """Send a request without an answer. Return False if there is no connection or the rate limit is reached."""
        if not self._is_open() or self._token_bucket.take(self._now()):
            return False
        self._outgoing.put_nowait(encode_request(body))
        return True

    async def _request(self, connection: ConnectionProtocol, body: Body) -> Body:
        request_id, write = connection.ask(body)
        answer: asyncio.Future[Body] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        self._outgoing.put_nowait(write.data)
        try:
            return await answer
        finally:
            if self._waiting.get(request_id) is answer:
                del self._waiting[request_id]
            connection.drop_request(request_id)
            self._notify_waiters()

    async def _ready_connection(self) -> ConnectionProtocol:
        """Wait for a connection that accepts one more request."""
        while True:
            connection = self._connection
            if connection is None or not self._is_open() or connection.in_flight >= self._max_in_flight:
                await self._changed.wait()
                continue
            wait_s = self._token_bucket.take(self._now())
            if not wait_s:
                return connection
            await asyncio.sleep(wait_s)

    async def _run_connection(self) -> tuple[float, str]:
        """Run one connection. Return how long to wait before the next one, and the reason of the end."""
        try:
            credential = await self._credential()
            async with self._opened() as (socket, connection):
                self._perform_all(
                    connection.opened(credential, self._listener.device(), SDK, self._listener.epoch())
                )
                await self._serve(socket, connection)
            return self._backoff.wait_s(self._now()), "left"
        except _Ended as end:
            return self._reconnect_policy.after(end.code, end.reason, self._now()), end.reason
        except InvalidStatus as error:
            refusal = error.response
            return self._reconnect_policy.after_http(
                refusal.status_code, refusal.headers, refusal.body, self._now()
            ), str(error)
        except InvalidURI as error:
            raise ClientStopped(str(error)) from error
        except (OSError, EOFError, WebSocketException) as error:
            return self._backoff.wait_s(self._now()), f"{type(error).__name__}: {error}"

    async def _credential(self) -> str:
        try:
            return await self._credentials.get()
        except TidingsError:
            raise
        except Exception as error:
            _log.warning("The credential provider failed; retrying.", exc_info=error)
            raise _Ended(close_codes.NO_CLOSE_FRAME, f"No credential: {error}") from error

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[ClientConnection, ConnectionProtocol]]:
        dial = self._dialling
        async with connect(
            dial.url,
            ssl=dial.ssl,
            proxy=dial.proxy,
            open_timeout=dial.timeouts.open_within_s,
            ping_interval=None,
            close_timeout=1,
            compression=None,
            max_size=_MAX_FRAME_BYTES,
        ) as socket:
            connection = self._connection = ConnectionProtocol(self._listener.positions, self._now())
            self._outgoing, self._refusal = asyncio.Queue(), None
            self._leave_at = self._closed_at = inf
            writing = asyncio.create_task(self._write(socket, self._outgoing))
            try:
                yield socket, connection
            finally:
                writing.cancel()
                self._on_lost(connection)

    async def _write(self, socket: ClientConnection, outgoing: asyncio.Queue[bytes]) -> None:
        """Send frames in a separate task, so that a full send buffer does not block receiving."""
        with suppress(ConnectionClosed):
            while True:
                await socket.send(await outgoing.get(), text=True)

    async def _serve(self, socket: ClientConnection, connection: ConnectionProtocol) -> None:
        """Receive frames. Returns when the client leaves this connection; raises `_Ended` if it is closed."""
        while not self._has_left(connection):
            try:
                async with asyncio.timeout_at(self._wake_at(connection)):
                    data = await socket.recv(decode=False)
            except TimeoutError:
                self._perform_all(connection.on_timer(self._now()))
            except ConnectionClosed as closed:
                raise self._ended(closed) from None
            else:
                self._perform_all(connection.received(data, self._now()))

    def _wake_at(self, connection: ConnectionProtocol) -> float:
        return min(connection.due_at, self._leave_at if self._closed_at == inf else self._closed_at)

    def _has_left(self, connection: ConnectionProtocol) -> bool:
        """Return whether to leave a draining connection: after the last answer, or 5 seconds after the leave time."""
        now = self._now()
        if now < self._leave_at:
            return False
        if self._closed_at == inf:
            self._max_in_flight, self._closed_at = 0, now + _DRAIN_S
        return not connection.in_flight or now >= self._closed_at

    def _perform_all(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Write(data):
                self._outgoing.put_nowait(data)
            case ResponseReceived(request_id, body):
                self._answered(request_id, body)
            case PushReceived(body):
                self._listener.pushed(body)
            case Authenticated(welcome):
                self._on_welcome(welcome)
            case BecameLive():
                self._backoff.is_live(self._now())
                self._listener.on_live()
                self._notify(ConnectionStateChanged(State.LIVE))
            case ConnectRefused(error):
                self._refusal = error
            case ReconnectRequested(retry_after_ms, spread_ms):
                self._leave_at = self._now() + (retry_after_ms + random.random() * spread_ms) / 1000  # noqa: S311 - spreads load
                self._notify(ConnectionStateChanged(State.DRAINING))
            case Abandon(why):
                raise _Ended(close_codes.NO_CLOSE_FRAME, why)

    def _on_welcome(self, welcome: Welcome) -> None:
        self._listener.welcomed(welcome)
        self._credentials.was_good()
        self.epoch = welcome.epoch
        self._max_in_flight = max(1, welcome.limits.in_flight - 1)
        self._token_bucket = TokenBucket(welcome.limits.frames_per_s, welcome.limits.burst, self._now())
        self._notify(ConnectionStateChanged(State.RESUMING))
        self._notify_waiters()

    def _answered(self, request_id: int, body: Body) -> None:
        answer = self._waiting.pop(request_id, None)
        if answer is not None and not answer.done():
            answer.set_result(body)
        self._notify_waiters()

    def _on_lost(self, connection: ConnectionProtocol) -> None:
        connection.lost()
        self._connection = None
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(RequestTimeout("The connection was lost."))

    def _ended(self, closed: ConnectionClosed) -> _Ended:
        """Return the end of a connection by the server's close frame.

        Without a close frame: by the error that refused `connect`, or as a lost connection.
        """
        if closed.rcvd is not None:
            return _Ended(closed.rcvd.code, closed.rcvd.reason)
        if self._refusal is not None:
            return _Ended(close_codes.close_code_for_error(self._refusal.code), self._refusal.message)
        return _Ended(close_codes.NO_CLOSE_FRAME, "The connection was lost.")

    def _is_open(self) -> bool:
        return self._connection is not None and self._connection.is_let_in

    def _notify(self, event: ConnectionStateChanged) -> None:
        self._listener.state_changed(event)
        self._notify_waiters()

    def _notify_waiters(self) -> None:
        """Wake all waiting tasks. Each checks its own condition again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

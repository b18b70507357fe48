"""The connections to one endpoint: a bound on how many, the last used first, whoever waits longest served first.

One timer watches all deadlines, because a timer for each call would cost more than the bookkeeping of the call.
"""

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass

from tidings.platform.dynamo.connection import NEVER, HttpConnection
from tidings.platform.dynamo.endpoints import Endpoint
from tidings.platform.dynamo.errors import NotSentError

_TIMER_GRAIN_S = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """DynamoDB closes a connection that was idle for about a minute: we must be earlier.

    Its largest answers are 16 MB.
    """

    max_connections: int = 128
    max_waiting: int = 8192
    max_idle_s: float = 20.0
    connect_timeout_s: float = 3.0
    max_answer_bytes: int = 17 * 1024 * 1024


class Pool:
    """Hands out a connection to one caller at a time."""

    def __init__(self, endpoint: Endpoint, limits: PoolLimits) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._idle: list[HttpConnection] = []
        self._connections: set[HttpConnection] = set()
        self._slots = limits.max_connections
        # None instead of a connection: a slot is free, make one yourself.
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
        """An idle connection, if there is one. The last used is the least likely to have been closed."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed:
                return connection
        return None

    async def wait(self, deadline: float) -> HttpConnection:
        """A connection as soon as there is one, new or given back."""
        if self._is_closed:
            raise NotSentError("the client is closed", transient=False)
        if self._slots:
            self._slots -= 1
            return await self._connect(deadline)
        if len(self._waiters) >= self._limits.max_waiting:
            raise NotSentError(f"{self._limits.max_waiting} calls wait for a connection already")
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
        """Ends what is in flight, too: those calls are unanswered."""
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
        """The race: a connection was passed to a caller that was cancelled in the same turn of the loop."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        elif not waiter.cancelled() and waiter.exception() is None:
            connection = waiter.result()
            if connection is None:
                self._free_slot()
            else:
                self.release(connection)

    async def _connect(self, deadline: float) -> HttpConnection:
        """With a slot in hand, which goes back if this fails."""
        try:
            connection = await self._dial(min(deadline, self._loop.time() + self._limits.connect_timeout_s))
        except BaseException as error:
            self._free_slot()
            if isinstance(error, OSError):  # of which TimeoutError and ssl.SSLError are kinds
                raise _unsent(error) from error
            raise
        if connection.is_closed:
            self._free_slot()
            raise NotSentError("the connection was closed as soon as it was open")
        self._connections.add(connection)
        return connection

    async def _dial(self, deadline: float) -> HttpConnection:
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
        """Every connection that was ever in use ends here, once."""
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
    is_distrust = isinstance(error, ssl.SSLCertVerificationError)
    return NotSentError(f"no connection: {error}", transient=not is_distrust)

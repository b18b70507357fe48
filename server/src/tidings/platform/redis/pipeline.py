"""The command pipeline of a connection: order, bounds and deadlines, without I/O. hiredis packs and parses RESP3."""

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Final, cast

import hiredis

from tidings.platform.redis.errors import (
    Address,
    MovedRedirectError,
    OutcomeUnknownError,
    OverloadedError,
    RedisError,
    UnreachableError,
    error_from_reply,
)

type Arg = str | bytes | int | float
type Reply = bool | int | float | bytes | list[Reply] | dict[Reply, Reply] | None
type Push = list[bytes]

NOTHING: Final = object()
"""The reader's result while an answer is incomplete. None and False are answers."""

PushNotification = hiredis.PushNotification
ProtocolError = hiredis.ProtocolError


def pack_command(command: str, *args: Arg) -> bytes:
    # The stub of hiredis declares a tuple of one element.
    return cast("bytes", hiredis.pack_command((command, *args)))  # type: ignore[arg-type]


def reply_reader() -> hiredis.Reader:
    return hiredis.Reader(replyError=error_from_reply, notEnoughData=NOTHING)


_BLOCKED_S = 0.25
"""A timer that is later than this shows that the event loop was blocked, or that the process did not run."""

type Waiter = tuple[asyncio.Future[Reply], bytes, float]
"""A command in flight: its future, its bytes and its deadline. A plain tuple, because each command creates one."""


class Pipeline:
    """Match answers to commands by order. Commands of one turn of the event loop are written together."""

    def __init__(
        self, address: Address, max_commands: int, max_bytes: int, on_push: Callable[[Push], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._address = address
        self._max_commands = max_commands
        self._max_bytes = max_bytes
        self._on_push = on_push
        self._reader = reply_reader()
        self._transport: asyncio.WriteTransport | None = None
        self._unsent: list[Waiter] = []
        self._sent: deque[Waiter] = deque()
        self._fences: set[asyncio.Future[Reply]] = set()
        self._bytes = 0
        self._is_flush_due = False
        self._is_failed = False
        self._due = inf
        self._alarm: asyncio.TimerHandle | None = None
        self._asked_at = self.last_reply_at = self._loop.time()

    @property
    def in_flight(self) -> int:
        return len(self._sent) + len(self._unsent)

    def silent_s(self, now: float) -> float:
        """Return how long an answer has been due without any data from the server."""
        return now - max(self._asked_at, self.last_reply_at) if self._sent else 0.0

    def submit(self, frame: bytes, deadline: float) -> asyncio.Future[Reply]:
        """Queue a command for the next write. The future receives its answer or an error."""
        if self._bytes >= self._max_bytes or self.in_flight >= self._max_commands:
            raise OverloadedError(
                f"{self._address}: {self.in_flight} commands with {self._bytes} bytes are in flight"
            )
        future = self._loop.create_future()
        self._unsent.append((future, frame, deadline))
        self._bytes += len(frame)
        if deadline < self._due:
            self._watch(deadline)
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)
        return future

    def submit_fenced(self, frame: bytes, ping: bytes) -> asyncio.Future[Reply]:
        """Send a command that is answered by an error or not at all, followed by a PING. The PONG ends both."""
        future = self.submit(frame + ping, inf)
        self._fences.add(future)
        future.add_done_callback(self._fences.discard)
        return future

    def greet(self, transport: asyncio.WriteTransport, frame: bytes) -> asyncio.Future[Reply]:
        """Send the first command of a connection, before those that wait."""
        future = self._loop.create_future()
        self._sent.appendleft((future, frame, inf))
        self._bytes += len(frame)
        self._asked_at = self._loop.time()
        transport.write(frame)
        return future

    def open(self, transport: asyncio.WriteTransport) -> None:
        """Write waiting and new commands to `transport` from now on."""
        self._transport = transport
        self._flush()

    def feed(self, data: bytes) -> None:
        """Process bytes from the server, which may be split anywhere."""
        if self._is_failed:
            return
        self.last_reply_at = self._loop.time()
        self._reader.feed(data)
        self._take_answers()

    def _take_answers(self) -> None:
        gets, sent, fences = self._reader.gets, self._sent, self._fences
        while (reply := gets()) is not NOTHING:
            if type(reply) is PushNotification:
                self._on_push(reply)
                if self._is_failed:
                    return  # `on_push` ended the connection: the answers behind the push have no waiter.
                continue
            is_error = isinstance(reply, RedisError)
            if not sent:
                raise ProtocolError("answer without a command")
            if is_error and sent[0][0] in fences:
                continue  # The PONG that follows ends the pair.
            future, frame, _ = sent.popleft()
            self._bytes -= len(frame)
            if future.done():
                continue  # Cancelled or timed out: its answer only keeps the order.
            if is_error:
                if isinstance(reply, MovedRedirectError):
                    reply.reported_by(self._address)
                future.set_exception(reply)
            else:
                future.set_result(reply)

    def answer_by_push(self, push: Push) -> asyncio.Future[Reply]:
        """End the first command in flight, which the server answered by a push."""
        if not self._sent:
            raise ProtocolError(f"push without a command: {push[0]!r}")
        future, frame, _ = self._sent.popleft()
        self._bytes -= len(frame)
        if not future.done():
            future.set_result(None)
        return future

    def fail(self, reason: str) -> None:
        """Fail all commands after the loss of the connection. Sent ones may have been applied, unsent ones were not."""
        self._is_failed = True
        sent, self._sent = self._sent, deque()
        unsent, self._unsent = self._unsent, []
        for future, _, _ in sent:
            if not future.done():
                future.set_exception(OutcomeUnknownError(f"{self._address}: {reason}"))
        for future, _, _ in unsent:
            if not future.done():
                future.set_exception(UnreachableError(f"{self._address}: {reason}"))
        if self._alarm is not None:
            self._alarm.cancel()

    def _flush(self) -> None:
        self._is_flush_due = False
        if self._transport is None or not self._unsent:
            return
        batch = [waiter for waiter in self._unsent if not waiter[0].done()]
        if len(batch) != len(self._unsent):
            # Cancelled or timed out before the write. Their error says that they were not applied.
            self._bytes -= sum(len(frame) for future, frame, _ in self._unsent if future.done())
        self._unsent = []
        if not batch:
            return
        if not self._sent:
            self._asked_at = self._loop.time()
        self._sent.extend(batch)
        self._transport.write(b"".join([frame for _, frame, _ in batch]))

    def _watch(self, deadline: float) -> None:
        """Set the one timer for all commands to this deadline, the earliest."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._due = deadline
        self._alarm = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        now = self._loop.time()
        if now - self._due > _BLOCKED_S:
            # Commands may be unsent, and answers unread, because this process did not run: the server is not late.
            self._watch(now + _BLOCKED_S)
            return
        for future, _, deadline in self._sent:
            if deadline <= now and not future.done():
                future.set_exception(OutcomeUnknownError(f"{self._address}: no answer in time", is_late=True))
        for future, _, deadline in self._unsent:
            if deadline <= now and not future.done():
                future.set_exception(UnreachableError(f"{self._address}: not connected in time"))
        self._alarm, self._due = None, inf
        earliest = min((d for f, _, d in (*self._sent, *self._unsent) if not f.done()), default=inf)
        if earliest < inf:
            self._watch(earliest)

"""Bytes to and from a server: RESP3, by hiredis. Commands are packed, answers come as Python values or errors."""

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
"""What a reader gives while an answer is not complete yet; None and False are answers."""

PushNotification = hiredis.PushNotification
ProtocolError = hiredis.ProtocolError


def pack_command(command: str, *args: Arg) -> bytes:
    # hiredis declares a tuple of one
    return cast("bytes", hiredis.pack_command((command, *args)))  # type: ignore[arg-type]


def reply_reader() -> hiredis.Reader:
    return hiredis.Reader(replyError=error_from_reply, notEnoughData=NOTHING)


type Waiter = tuple[asyncio.Future[Reply], bytes, float]
"""Who waits, for the answer to which bytes, until when. A plain tuple: one is made for every command."""


class Pipeline:
    def __init__(
        self, address: Address, max_commands: int, max_bytes: int, on_push: Callable[[Push], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._address = address
        self._max_commands = max_commands
        self._max_bytes = max_bytes
        self._on_push = on_push
        self._reader = reply_reader()
        self._write: Callable[[bytes], object] | None = None
        self._unsent: list[Waiter] = []
        self._sent: deque[Waiter] = deque()
        self._fences: set[asyncio.Future[Reply]] = set()
        self._bytes = 0
        self._is_flush_due = False
        self._is_over = False
        self._due = inf
        self._alarm: asyncio.TimerHandle | None = None
        self._asked_at = self.last_reply_at = self._loop.time()

    @property
    def in_flight(self) -> int:
        return len(self._sent) + len(self._unsent)

    def silent_s(self, now: float) -> float:
        """How long an answer has been due and nothing was heard."""
        return now - max(self._asked_at, self.last_reply_at) if self._sent else 0.0

    def submit(self, frame: bytes, deadline: float) -> asyncio.Future[Reply]:
        """Take a command for the next write; the future gets its answer, or an error."""
        if self._bytes >= self._max_bytes or self.in_flight >= self._max_commands:
            raise OverloadedError(
                f"{self._address}: {self.in_flight} commands, {self._bytes} bytes are in flight"
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
        """A command that may or may not be answered by an error, and then a PING: the PONG ends both."""
        future = self.submit(frame + ping, inf)
        self._fences.add(future)
        future.add_done_callback(self._fences.discard)
        return future

    def greet(self, write: Callable[[bytes], object], frame: bytes) -> asyncio.Future[Reply]:
        """The first command of a connection, ahead of all that wait."""
        future = self._loop.create_future()
        self._sent.appendleft((future, frame, inf))
        self._bytes += len(frame)
        self._asked_at = self._loop.time()
        write(frame)
        return future

    def open(self, write: Callable[[bytes], object]) -> None:
        """From now on what is submitted is written."""
        self._write = write
        self._flush()

    def feed(self, data: bytes) -> None:
        """Bytes from the server, cut anywhere."""
        if self._is_over:
            return
        self.last_reply_at = self._loop.time()
        self._reader.feed(data)
        self._take_answers()

    def _take_answers(self) -> None:
        gets, sent, fences = self._reader.gets, self._sent, self._fences
        while (reply := gets()) is not NOTHING:
            if type(reply) is PushNotification:
                self._on_push(reply)
                if self._is_over:
                    return  # given up by whoever took the push: what comes behind it belongs to nobody
                continue
            is_error = isinstance(reply, RedisError)
            if not sent:
                raise ProtocolError("an answer that nobody asked for")
            if is_error and sent[0][0] in fences:
                continue  # the PONG behind it ends the pair
            future, frame, _ = sent.popleft()
            self._bytes -= len(frame)
            if future.done():
                continue  # cancelled or late: the answer took its place in the order, that is all
            if is_error:
                if isinstance(reply, MovedRedirectError):
                    reply.reported_by(self._address)
                future.set_exception(reply)
            else:
                future.set_result(reply)

    def answer_by_push(self, push: Push) -> asyncio.Future[Reply]:
        """Some commands are answered by a push; it belongs to the command whose turn it is."""
        if not self._sent:
            raise ProtocolError(f"a push that nobody asked for: {push[0]!r}")
        future, frame, _ = self._sent.popleft()
        self._bytes -= len(frame)
        if not future.done():
            future.set_result(None)
        return future

    def fail(self, reason: str) -> None:
        """The connection is gone: nobody gets an answer any more."""
        self._is_over = True
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
        if self._write is None or not self._unsent:
            return
        batch = [waiter for waiter in self._unsent if not waiter[0].done()]
        if len(batch) != len(self._unsent):
            # what was given up before it was written is never written: its error said so
            self._bytes -= sum(len(frame) for future, frame, _ in self._unsent if future.done())
        self._unsent = []
        if not batch:
            return
        if not self._sent:
            self._asked_at = self._loop.time()
        self._sent.extend(batch)
        self._write(b"".join([frame for _, frame, _ in batch]))

    def _watch(self, deadline: float) -> None:
        """One alarm for all: it stands at the earliest deadline known when it was set."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._due = deadline
        self._alarm = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        now = self._loop.time()
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

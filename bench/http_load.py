"""An open-loop HTTP load generator: requests start on schedule, even if answers are slow.

Latency counts from the time at which a request was due, so that a stalled server is charged for every waiting request.
The load generator shares the machine with the server. To use little CPU, it is one process with keep-alive connections
and without URL handling.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast, override

import httptools
from hdrh.histogram import HdrHistogram

BAD = 400
_LOWEST_US, _HIGHEST_US, _DIGITS = 1, 120_000_000, 3


@dataclass(frozen=True, slots=True)
class Request:
    kind: str
    method: str
    path: str
    headers: str = ""
    body: bytes = b""

    def encode(self, host: str) -> bytes:
        head = f"{self.method} {self.path} HTTP/1.1\r\nHost: {host}\r\n{self.headers}"
        if self.body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(self.body)}\r\n"
        return head.encode() + b"\r\n" + self.body


@dataclass
class Outcome:
    """The latencies, as HdrHistograms of microseconds, and the HTTP statuses of a run, by kind of request."""

    latencies: dict[str, HdrHistogram] = field(default_factory=dict)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    first_bad: bytes = b""

    def note(self, kind: str, status: int, took_s: float, body: bytes) -> None:
        if kind not in self.latencies:
            self.latencies[kind] = HdrHistogram(_LOWEST_US, _HIGHEST_US, _DIGITS)
        self.latencies[kind].record_value(min(max(_LOWEST_US, round(took_s * 1e6)), _HIGHEST_US))
        self.statuses[kind, status] += 1
        if status >= BAD and not self.first_bad:
            self.first_bad = body

    @property
    def count(self) -> int:
        return sum(int(each.get_total_count()) for each in self.latencies.values())

    def percentile_ms(self, share: float, kind: str | None = None) -> float:
        """Return a percentile of one kind of request, or of all."""
        if kind is not None:
            return float(self.latencies[kind].get_value_at_percentile(share * 100)) / 1000
        everything = HdrHistogram(_LOWEST_US, _HIGHEST_US, _DIGITS)
        for each in self.latencies.values():
            everything.add(each)
        return float(everything.get_value_at_percentile(share * 100)) / 1000


class _Connection(asyncio.Protocol):
    """A connection with one request at a time. It is free again when the answer is complete."""

    def __init__(self, port: int, free: Callable[["_Connection"], None]) -> None:
        self.port = port
        self._free = free
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._body = bytearray()
        self._transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @property
    def is_closed(self) -> bool:
        """Return whether the server closed the connection, because it was idle for too long."""
        return self._transport is None or self._transport.is_closing()

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        if self._transport is None:
            raise ConnectionError("The connection is not open yet.")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    @override
    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        answer, self._answer = self._answer, None
        body = bytes(self._body)
        self._body.clear()
        self._free(self)
        if answer is not None and not answer.done():
            answer.set_result((self._parser.get_status_code(), body))

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("The server closed the connection."))


class Loader:
    """Connections to several ports with one server process each, as behind a load balancer."""

    def __init__(self, ports: list[int], connections: int) -> None:
        self._ports = ports
        self._count = connections
        self._idle: deque[_Connection] = deque()
        self._waiting: deque[asyncio.Future[_Connection]] = deque()
        self.outcome = Outcome()

    async def open(self) -> None:
        for number in range(self._count):
            self._idle.append(await self._connect(self._ports[number % len(self._ports)]))

    async def _connect(self, port: int) -> _Connection:
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(lambda: _Connection(port, self._free), "127.0.0.1", port)
        return made

    def _free(self, connection: _Connection) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        self._idle.append(connection)

    async def ask(self, request: Request, due: float) -> tuple[int, bytes]:
        if self._idle:
            connection = self._idle.popleft()
        else:
            waiter: asyncio.Future[_Connection] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            connection = await waiter
        if connection.is_closed:
            connection = await self._connect(connection.port)
        status, body = await connection.ask(request.encode("127.0.0.1"))
        self.outcome.note(request.kind, status, time.perf_counter() - due, body)
        return status, body

    async def run(self, requests: Iterator[Request], per_s: float, for_s: float) -> Outcome:
        began = time.perf_counter()
        tasks: set[asyncio.Task[object]] = set()
        for number in range(int(per_s * for_s)):
            due = began + number / per_s
            delay = due - time.perf_counter()
            if delay > 0:
                await asyncio.sleep(delay)
            task: asyncio.Task[object] = asyncio.create_task(self.ask(next(requests), due))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
        return self.outcome

    async def run_closed(self, requests: Iterator[Request], in_flight: int, for_s: float) -> Outcome:
        """Keep `in_flight` requests open: each answer starts the next request."""
        ends_at = time.perf_counter() + for_s

        async def ask_in_turn() -> None:
            while (now := time.perf_counter()) < ends_at:
                await self.ask(next(requests), now)

        await asyncio.gather(*(ask_in_turn() for _ in range(in_flight)))
        return self.outcome

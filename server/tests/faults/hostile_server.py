"""A server that violates HTTP on purpose: each request is answered by the next step of a script.

It produces faults at the level of bytes, which a proxy in front of a real engine cannot produce exactly. It records
the requests.
"""

import asyncio
import json
import re
import ssl
import zlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_TARGET = re.compile(rb"x-amz-target: *\S+\.(\S+)", re.IGNORECASE)


@dataclass(frozen=True)
class Request:
    """A request, and the number of the connection that it arrived on."""

    operation: str
    head: bytes
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Line:
    """The server's side of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        self.writer.transport.abort()

    def close(self) -> None:
        self.writer.close()


# A step answers a request, or leaves it without an answer.
type Step = Callable[[Line, Request], Awaitable[None]]


def answer(body: bytes = b"{}", status: str = "200 OK", headers: Iterable[str] = ()) -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: application/x-amz-json-1.0",
        f"Content-Length: {len(body)}",
        f"x-amz-crc32: {zlib.crc32(body)}",
        "x-amzn-RequestId: HOSTILE1",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def say(data: bytes) -> Step:
    async def step(line: Line, _: Request) -> None:
        await line.say(data)

    return step


def tell(**fields: object) -> Step:
    """Return a step that sends a valid answer with these fields."""
    return say(answer(json.dumps(fields).encode()))


def refuse(code: str, status: str = "400 Bad Request", **fields: object) -> Step:
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": code, **fields}
    return say(answer(json.dumps(body).encode(), status))


def say_and_close(data: bytes) -> Step:
    async def step(line: Line, _: Request) -> None:
        await line.say(data)
        line.close()

    return step


def say_and_reset(data: bytes) -> Step:
    async def step(line: Line, _: Request) -> None:
        await line.say(data)
        line.reset()

    return step


def in_pieces(data: bytes, piece_bytes: int = 1) -> Step:
    async def step(line: Line, _: Request) -> None:
        for start in range(0, len(data), piece_bytes):
            await line.say(data[start : start + piece_bytes])
            await asyncio.sleep(0)

    return step


def drip(data: bytes, pause_s: float) -> Step:
    """Return a step that sends byte by byte: never silent for long, never complete in time."""

    async def step(line: Line, _: Request) -> None:
        for start in range(len(data)):
            await line.say(data[start : start + 1])
            await asyncio.sleep(pause_s)

    return step


def after(gate: asyncio.Event, step: Step) -> Step:
    async def waiting(line: Line, request: Request) -> None:
        await gate.wait()
        await step(line, request)

    return waiting


async def silence(line: Line, _: Request) -> None:
    """Send no answer until the client disconnects."""
    with suppress(ConnectionError):
        await line.reader.read()


@dataclass
class HostileServer:
    """A server that runs `script`, one step for each request, and `otherwise` after its end."""

    otherwise: Step = field(default_factory=tell)
    url: str = ""
    script: deque[Step] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    open_now: int = 0
    most_open: int = 0
    lines: list[Line] = field(default_factory=list)

    @property
    def operations(self) -> list[str]:
        return [request.operation for request in self.requests]

    def will(self, *steps: Step) -> None:
        self.script.extend(steps)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = Line(reader, writer)
        self.lines.append(line)
        self.connections += 1
        number = self.connections
        self.open_now += 1
        self.most_open = max(self.most_open, self.open_now)
        try:
            while not writer.is_closing():
                request = await self._read(reader, number)
                self.requests.append(request)
                step = self.script.popleft() if self.script else self.otherwise
                await step(line, request)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open_now -= 1
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, connection: int) -> Request:
        head = await reader.readuntil(b"\r\n\r\n")
        length, operation = _LENGTH.search(head), _TARGET.search(head)
        assert length
        assert operation
        body = await reader.readexactly(int(length[1]))
        return Request(operation[1].decode(), head, body, connection)


@asynccontextmanager
async def hostile_server(*script: Step, tls: ssl.SSLContext | None = None) -> AsyncIterator[HostileServer]:
    server = HostileServer()
    server.will(*script)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        listening.close()
        for line in server.lines:
            line.reset()
        await listening.wait_closed()


async def until(condition: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 - conditions are of all kinds
            await asyncio.sleep(0.001)

"""Bounds on connections and on request heads, with a transport in memory."""

import asyncio
from typing import Any

import pytest
from uvicorn import Config
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from tidings.api import http_protocol
from tidings.api.connection_shares import MAX_REFUSED, ConnectionQuota
from tidings.api.http_protocol import HttpBounds, bounded_protocol

ROOM = 3


class Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.is_cut = False
        self.writes: list[bytes] = []

    @property
    def sent(self) -> bytes:
        return b"".join(self.writes)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))

    def pause_reading(self) -> None:
        """Do nothing: the tests pass all data at once."""

    def resume_reading(self) -> None: ...

    def can_write_eof(self) -> bool:
        return False

    def abort(self) -> None:
        self.is_cut = True

    def is_closing(self) -> bool:
        return self.is_cut

    def close(self) -> None:
        self.is_cut = True


async def _app(scope: object, receive: object, send: object) -> None:
    del scope, receive, send
    raise AssertionError("nobody has asked anything")


async def test_the_number_of_connections_waiting_to_be_refused_is_bounded() -> None:
    kind = bounded_protocol(HttpBounds(30, 75, "/", ConnectionQuota(ROOM, ROOM, ROOM)))
    config, state = Config(_app, http=kind, lifespan="off", log_config=None), ServerState()
    config.load()
    wires = [Wire() for _ in range(ROOM + MAX_REFUSED + 2)]
    protocols = [kind(config, state, {}) for _ in wires]
    for protocol, wire in zip(protocols, wires, strict=True):
        protocol.connection_made(wire)
        kind.shares.on_request(protocol)
    assert [wire.is_cut for wire in wires] == [False] * (ROOM + MAX_REFUSED) + [True] * 2
    for protocol in protocols:
        protocol.connection_lost(ConnectionResetError())
    assert state.connections == set()


def protocol_of(app: ASGI3Application) -> tuple[HttpToolsProtocol, Wire]:
    kind = bounded_protocol(HttpBounds(30, 75, "/", ConnectionQuota(ROOM, ROOM, ROOM)))
    config = Config(app, http=kind, lifespan="off", log_config=None)
    config.load()
    protocol, wire = kind(config, ServerState(), {}), Wire()
    protocol.connection_made(wire)
    return protocol, wire


def headers(count: int, value: int) -> bytes:
    return b"".join(b"h%03d: %s\r\n" % (number, b"v" * value) for number in range(count))


@pytest.mark.parametrize(
    ("head", "is_allowed"),
    [
        (b"GET /" + b"u" * 8_191 + b" HTTP/1.1\r\n\r\n", True),
        (b"GET /" + b"u" * 8_192 + b" HTTP/1.1\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\n" + headers(100, 1) + b"\r\n", True),
        (b"GET / HTTP/1.1\r\n" + headers(101, 1) + b"\r\n", False),
        (b"GET / HTTP/1.1\r\n" + headers(32, 1_018) + b"\r\n", True),
        (b"GET / HTTP/1.1\r\n" + headers(32, 1_021) + b"\r\n", False),
        (b"GET / HTTP/1.1\r\n" + headers(1, 40_000) + b"\r\n", False),
    ],
)
@pytest.mark.parametrize("piece", [1_000_000, 700])
async def test_the_request_head_is_bounded(head: bytes, is_allowed: bool, piece: int) -> None:  # noqa: FBT001 - a parameter
    served = asyncio.Event()

    async def app(scope: object, receive: object, send: object) -> None:
        del scope, receive, send
        served.set()

    protocol, wire = protocol_of(app)
    for start in range(0, len(head), piece):
        protocol.data_received(head[start : start + piece])
    await asyncio.sleep(0)
    assert (served.is_set(), wire.sent.startswith(b"HTTP/1.1 431 ")) == (is_allowed, not is_allowed)
    protocol.connection_lost(ConnectionResetError())


@pytest.mark.parametrize("trailers", [headers(101, 1), b"x: " + b"v" * 40_000, headers(40, 1_000)])
async def test_trailers_count_as_headers_and_are_never_merged_into_them(trailers: bytes) -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def app(scope: Any, receive: Any, send: object) -> None:
        del send
        while (await receive())["type"] != "http.disconnect":
            pass
        seen.extend(scope["headers"])

    protocol, wire = protocol_of(app)
    protocol.data_received(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n")
    for start in range(0, len(trailers), 700):
        protocol.data_received(trailers[start : start + 700])
    assert wire.sent.startswith(b"HTTP/1.1 431 ")
    await asyncio.sleep(0)
    assert seen == [(b"transfer-encoding", b"chunked")]
    protocol.connection_lost(ConnectionResetError())


async def test_bytes_sent_after_a_refusal_are_discarded_up_to_a_bound() -> None:
    protocol, wire = protocol_of(_app)
    protocol.data_received(b"GET /" + b"u" * 9_000)
    pieces = http_protocol._LINGER_BYTES // 65_536 + 1
    cut = []
    for _ in range(pieces):
        protocol.data_received(b"u" * 65_536)
        cut.append(wire.is_cut)
    assert cut == [False] * (pieces - 1) + [True]
    assert wire.sent.count(b"HTTP/1.1") == 1
    protocol.connection_lost(ConnectionResetError())


def responding(*pieces: bytes, fails: bool = False) -> ASGI3Application:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "POST":
            await receive()
        length = (b"content-length", b"%d" % len(b"".join(pieces)))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        if fails:
            raise RuntimeError("the body cannot be read")
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})

    return app


OK = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
EXPECTING = b"POST / HTTP/1.1\r\ncontent-length: 1\r\nexpect: 100-continue\r\n\r\n"


@pytest.mark.parametrize(
    ("app", "request_bytes", "writes"),
    [
        (responding(b"body"), b"GET / HTTP/1.1\r\n\r\n", [OK % 4 + b"body", b""]),
        (responding(b"two ", b"parts"), b"GET / HTTP/1.1\r\n\r\n", [OK % 9 + b"two ", b"parts", b""]),
        (responding(), b"GET / HTTP/1.1\r\n\r\n", [OK % 0]),
        (responding(b"body"), b"HEAD / HTTP/1.1\r\n\r\n", [OK % 4]),
        (responding(b"body", fails=True), b"GET / HTTP/1.1\r\n\r\n", [OK % 4]),
        (responding(b"body"), EXPECTING, [CONTINUE, OK % 4 + b"body", b""]),
        (responding(b"body"), b"GET / HTTP/1.1\r\n\r\n" * 2, [OK % 4 + b"body", b""] * 2),
    ],
    ids=["body", "two parts", "no body", "HEAD", "failed body", "100 Continue", "pipelined"],
)
async def test_the_head_of_a_response_is_written_with_its_body(
    app: ASGI3Application, request_bytes: bytes, writes: list[bytes]
) -> None:
    protocol, wire = protocol_of(app)
    protocol.data_received(request_bytes)
    await asyncio.sleep(0)
    if request_bytes == EXPECTING:
        protocol.data_received(b"x")
    for _ in range(5):
        await asyncio.sleep(0)
    assert wire.writes == writes
    protocol.connection_lost(ConnectionResetError())

"""Without faults, every byte passes the proxy unchanged, both ways, however the streams are cut into packets."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faults.proxy import DynamoProxy
from faults.proxy.http_message import MAX_HEAD_BYTES
from faults.raw_client import RawClient, request
from faults.scripted_engine import OK, ScriptedEngine
from faults.until import until

HEADER_NAMES = st.from_regex(r"\A[A-Za-z][A-Za-z0-9-]{0,12}\Z").filter(
    lambda name: name.lower() not in {"content-length", "transfer-encoding", "connection", "expect"}
)
HEADERS = st.lists(st.tuples(HEADER_NAMES, st.from_regex(r"\A[!-~][ -~]{0,20}\Z")), max_size=4)
BODIES = st.binary(max_size=300)


def lines(start_line: str, headers: list[tuple[str, str]], *more: str) -> bytes:
    named = [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([start_line, *named, *more, "", ""]).encode()


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x;x=y\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nT: t\r\n\r\n"


def message(start_line: str, headers: list[tuple[str, str]], body: bytes, chunk_size: int) -> bytes:
    if chunk_size:
        return lines(start_line, headers, "tRANSFER-encoding: chunked") + chunked(body, chunk_size)
    return lines(start_line, headers, f"Content-LENGTH:{len(body)}") + body


CHUNK_SIZES = st.one_of(st.just(0), st.integers(1, 100))
REQUESTS = st.builds(message, st.just("POST / HTTP/1.1"), HEADERS, BODIES, CHUNK_SIZES)
STATUSES = st.sampled_from(["HTTP/1.1 200 OK", "HTTP/1.1 400 Bad Request", "HTTP/1.1 500 "])
ANSWERS = st.builds(message, STATUSES, HEADERS, BODIES, CHUNK_SIZES)


@dataclass(frozen=True)
class Dialogue:
    """Requests and answers, and how each stream is cut into packets."""

    exchanges: list[tuple[bytes, bytes]]
    packet_bytes: list[int]

    def packets(self, raw: bytes) -> Iterator[bytes]:
        start = 0
        while start < len(raw):
            size = self.packet_bytes[start % len(self.packet_bytes)]
            yield raw[start : start + size]
            start += size


DIALOGUES = st.builds(
    Dialogue,
    st.lists(st.tuples(REQUESTS, ANSWERS), min_size=1, max_size=4),
    st.lists(st.integers(1, 400), min_size=1, max_size=7),
)


async def write_packets(writer: asyncio.StreamWriter, packets: Iterator[bytes]) -> None:
    for packet in packets:
        writer.write(packet)
        await asyncio.sleep(0)


@dataclass
class Stage:
    """Engine and client of a dialogue. Neither parses: both know the lengths of the other's messages."""

    dialogue: Dialogue
    heard: list[bytes] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)

    async def engine(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for asked, answered in self.dialogue.exchanges:
            self.heard.append(await reader.readexactly(len(asked)))
            await write_packets(writer, self.dialogue.packets(answered))
        await reader.read()
        writer.close()

    async def client(self, port: int, *, is_pipelined: bool) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        requests = [asked for asked, _ in self.dialogue.exchanges]
        if is_pipelined:
            requests = [b"".join(requests)] + [b""] * (len(requests) - 1)
        for raw, (_, answered) in zip(requests, self.dialogue.exchanges, strict=True):
            await write_packets(writer, self.dialogue.packets(raw))
            self.answers.append(await reader.readexactly(len(answered)))
        writer.close()
        await writer.wait_closed()

    async def play(self, *, is_pipelined: bool) -> None:
        server = await asyncio.start_server(self.engine, "127.0.0.1", 0)
        with DynamoProxy("http://127.0.0.1:{1}".format(*server.sockets[0].getsockname())) as proxy:
            async with asyncio.timeout(5):
                await self.client(proxy.port, is_pipelined=is_pipelined)
        server.close()
        await server.wait_closed()


@settings(max_examples=60, deadline=None)
@given(dialogue=DIALOGUES, is_pipelined=st.booleans())
def test_any_requests_and_answers_in_any_packets_pass_byte_for_byte(
    dialogue: Dialogue, *, is_pipelined: bool
) -> None:
    stage = Stage(dialogue)
    asyncio.run(stage.play(is_pipelined=is_pipelined))
    assert list(zip(stage.heard, stage.answers, strict=True)) == dialogue.exchanges


def test_a_large_body_passes_both_ways(scripted: ScriptedEngine) -> None:
    large = request(body={"TableName": "some", "Item": {"pk": {"S": "x" * 4_000_000}}})
    scripted.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n" + b"y" * 8_000_000
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        client.send(large)
        assert client.read(len(scripted.answer)) == scripted.answer
    assert scripted.received == [large]


def test_connections_are_kept_alive_on_both_sides(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy:
        for _ in range(3):
            with RawClient(proxy.port) as client:
                for _ in range(5):
                    client.send(request())
                    assert client.read(len(OK)) == OK
    assert len(scripted.received) == 15
    assert scripted.connections == 1


def test_a_client_that_asks_to_close_is_closed_after_its_answer(scripted: ScriptedEngine) -> None:
    closing = request().replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        assert client.ask(closing) == (OK, None)


def test_an_answer_that_ends_with_its_connection_passes_whole(scripted: ScriptedEngine) -> None:
    scripted.answer = b"HTTP/1.1 200 OK\r\n\r\nno length given"
    scripted.closes = True
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        assert client.ask() == (scripted.answer, None)


def test_a_kept_connection_that_the_engine_closed_is_not_used_again(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        for _ in range(3):
            client.send(request())
            assert client.read(len(OK)) == OK
            scripted.close_connections()
            until(lambda: all(not idle.is_usable(0) for idle in proxy._upstream._idle))
    assert scripted.connections == 3


def test_an_engine_that_gives_no_answer_leaves_the_call_open_and_is_asked_once(
    scripted: ScriptedEngine,
) -> None:
    scripted.answer = b""
    scripted.closes = True
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        assert client.ask() == (b"", None)
        assert proxy.calls[0].applied is None
        assert proxy.calls[0].is_done
    assert len(scripted.received) == 1


def test_a_missing_engine_closes_the_client_and_may_start_again() -> None:
    with ScriptedEngine() as gone:
        pass
    with DynamoProxy(gone.url) as proxy:
        with RawClient(proxy.port) as client:
            assert client.ask() == (b"", None)
        with ScriptedEngine(gone.port), RawClient(proxy.port) as client:
            client.send(request())
            assert client.read(len(OK)) == OK


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"this is not HTTP\r\nat all\r\n\r\n", b"not a header"),
        (b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", b"not a length"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", b"not a chunk size"),
        (b"POST / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n", b"Expect is not supported"),
        (b"POST / HTTP/1.1\r\nX: ".ljust(MAX_HEAD_BYTES + 4, b"x"), b"headers of more than"),
    ],
)
def test_an_unsupported_protocol_is_refused_with_a_reason(
    scripted: ScriptedEngine, raw: bytes, why: bytes
) -> None:
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        answer, end = client.ask(raw)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert why in answer
        assert end is None
    assert scripted.received == []


def test_a_request_whose_client_left_in_the_middle_is_never_forwarded(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy:
        with RawClient(proxy.port) as client:
            client.send(request()[:-1])
        with RawClient(proxy.port) as client:
            client.send(request())
            assert client.read(len(OK)) == OK
        assert proxy.counts == {"PutItem": 1}
    assert len(scripted.received) == 1

"""Messages and frames on an open connection: which are accepted, answered, or rejected with which code."""

import asyncio
import time

import pytest
from contract.gateway.listener_host import HostedConnection, hosted
from contract.gateway.raw_client import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    RawClient,
    ReceivedFrame,
    close_frame,
    frame,
    request,
    text,
)
from fixtures.loops import until

from tidings.gateway.transport.ports import ListenOptions
from tidings.gateway.transport.websockets_transport import BackendName

SMALL = ListenOptions(max_message_bytes=1_000, close_timeout_s=1.0)


async def test_a_text_is_received_and_sent_unchanged(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as client:
        for size in (0, 1, 125, 126, 127, 65_535, 65_536):
            payload = b"x" * size
            client.send(text(payload))
            assert await client.frame() == ReceivedFrame(TEXT, payload)
        assert host.connection.messages[1] == b"x"


async def test_frames_may_arrive_byte_by_byte_or_many_at_once(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as client:
        for byte in text("slow"):
            client.send(bytes([byte]))
            await client.writer.drain()
            await asyncio.sleep(0)
        assert await client.frame() == ReceivedFrame(TEXT, b"slow")
        client.send(b"".join(text(str(n)) for n in range(200)))
        assert [(await client.frame()).payload for _ in range(200)] == [str(n).encode() for n in range(200)]


async def test_a_frame_may_follow_the_request_in_one_packet(name: BackendName) -> None:

    async with hosted(name) as host, await RawClient.connect(host.port) as client:
        eager = b"x" * 5_000
        answer = await client.ask(request() + text(eager))
        assert answer.status == 101
        assert await client.frame() == ReceivedFrame(TEXT, eager)


async def test_fragments_form_one_message_with_pings_between(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as client:
        client.send(frame(TEXT, "grü".encode()[:3], fin=False))
        client.send(frame(PING, b"there?"))
        client.send(frame(CONTINUATION, "grü".encode()[3:], fin=False))
        client.send(frame(CONTINUATION, b"", fin=True))
        assert await client.frame() == ReceivedFrame(PONG, b"there?")
        assert await client.frame() == ReceivedFrame(TEXT, "grü".encode())
        assert host.connection.messages == ["grü".encode()]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (frame(TEXT, b"plain", masked=False), 1002),
        (frame(TEXT, b"compressed?", rsv=4), 1002),
        (frame(TEXT, b"reserved", rsv=1), 1002),
        (frame(0x3, b"unknown"), 1002),
        (frame(0xB, b"unknown control"), 1002),
        (frame(CONTINUATION, b"of nothing"), 1002),
        (frame(TEXT, b"one", fin=False) + frame(TEXT, b"another"), 1002),
        (frame(PING, b"in parts", fin=False), 1002),
        (frame(PING, b"x" * 126), 1002),
        (frame(BINARY, b"\x00\x01"), 1003),
        (frame(BINARY, b"\x00\x01", fin=False), 1003),
        (text(b"\xff\xfe"), 1007),
        (text(b"\xed\xa0\x80"), 1007),
        (text("ü".encode()[:1]), 1007),
        (frame(TEXT, b"ok", fin=False) + frame(CONTINUATION, b"\xc3", fin=True), 1007),
        (frame(TEXT, b"\xff", fin=False), 1007),
        (text("x" * 1_001), 1009),
        (frame(TEXT, b"x" * 600, fin=False) + frame(CONTINUATION, b"x" * 401, fin=True), 1009),
        (b"\x81\xff\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00", 1009),
        (b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", 1009),
        (close_frame(999), 1002),
        (close_frame(1005), 1002),
        (close_frame(1006), 1002),
        (close_frame(0), 1002),
        (close_frame(2999), 1002),
        (close_frame(5000), 1002),
        (frame(CLOSE, b"\x03"), 1002),
        (frame(CLOSE, b"\x03\xe8\xff"), 1007),
    ],
    ids=lambda value: "frame" if isinstance(value, bytes) else str(value),
)
async def test_a_protocol_violation_closes_the_connection_with_its_code(
    name: BackendName, raw: bytes, code: int
) -> None:
    async with hosted(name, SMALL) as host, await RawClient.open(host.port) as client:
        client.send(raw)
        answered = await client.close_code()
        client.send(close_frame(answered))
        # The highest bit of a length must not be set: both codes, for too long and for a violation, are correct.
        assert answered in ({1002, 1009} if raw[1:3] == b"\xff\xff" else {code})
        assert await client.ended()
        assert [connection.messages for connection in host.connections] == [[]]


async def test_frames_after_a_violation_are_not_delivered(name: BackendName) -> None:
    async with hosted(name, SMALL) as host, await RawClient.open(host.port) as client:
        client.send(text("before") + text(b"\xff") + text("after"))
        assert await client.frame() == ReceivedFrame(TEXT, b"before")
        assert await client.close_code() == 1007
        client.send(text("later") + close_frame(1000))
        assert await client.ended()
        assert host.connection.messages == [b"before"]


async def test_endless_empty_fragments_use_no_memory(name: BackendName) -> None:
    async with hosted(name, SMALL) as host, await RawClient.open(host.port) as client:
        client.send(frame(TEXT, b"a", fin=False))
        for _ in range(20):
            client.send(frame(CONTINUATION, b"", fin=False) * 500)
            await client.writer.drain()
        client.send(frame(CONTINUATION, b"z", fin=True))
        assert await client.frame() == ReceivedFrame(TEXT, b"az")
        assert host.connection.messages == [b"az"]


@pytest.mark.parametrize(
    "flood",
    [frame(PING, b""), frame(PONG, b""), frame(CONTINUATION, b"", fin=False)],
    ids=["pings", "pongs", "empty fragments"],
)
async def test_every_frame_is_counted_and_a_flood_is_closed(name: BackendName, flood: bytes) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as client:
        host.connection.most_parts = 10
        start = frame(TEXT, b"", fin=False) if flood[0] & 0x0F == CONTINUATION else b""
        client.send(start + flood * 5_000)
        got = await client.frame()
        while got.opcode != CLOSE:
            assert got.opcode == PONG
            got = await client.frame()
        assert int.from_bytes(got.payload[:2]) == 4004
        assert host.connection.parts == 10


async def test_a_ping_is_answered_with_its_payload_and_counts_as_activity(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as client:
        before = host.connection.socket.received_at
        await until(lambda: time.monotonic() > before + 0.01)
        client.send(frame(PING, b"x" * 125) + frame(PONG, b"unasked"))
        assert await client.frame() == ReceivedFrame(PONG, b"x" * 125)
        assert host.connection.socket.received_at > before


async def test_a_failing_message_handler_is_reported_and_closes_only_its_connection(
    name: BackendName,
) -> None:
    def fail(connection: HostedConnection, data: bytes) -> None:
        if data == b"fail":
            raise RuntimeError("the hub lost its mind")
        connection.socket.send(data)

    async with (
        hosted(name, on_text=fail) as host,
        await RawClient.open(host.port) as one,
        await RawClient.open(host.port) as other,
    ):
        one.send(text("fail"))
        assert await one.close_code() == 1011
        other.send(text("well"))
        assert await other.frame() == ReceivedFrame(TEXT, b"well")
        assert [str(error) for _, error in host.faults] == ["the hub lost its mind"]
        host.faults.clear()


async def test_large_and_small_messages_in_sequence_arrive_unchanged(name: BackendName) -> None:
    """The reader is slow, so messages wait in buffers, which must not be overwritten."""
    sizes = [70_000, 10, 9_000, 1, 8_192, 8_193, 200_000, 3]

    def flood(connection: HostedConnection, _: bytes) -> None:
        for round_ in range(3):
            for size in sizes:
                connection.socket.send(bytes([97 + round_]) * size)

    wide = ListenOptions(max_send_buffer_bytes=4_000_000, close_timeout_s=1.0)
    async with hosted(name, wide, on_text=flood) as host:
        client = await RawClient.connect(host.port, receive_buffer_bytes=4_096)
        async with client:
            assert (await client.ask(request())).status == 101
            client.send(text("go"))
            for round_ in range(3):
                for size in sizes:
                    assert (await client.frame()).payload == bytes([97 + round_]) * size


async def test_a_push_to_many_reaches_every_open_connection(name: BackendName) -> None:
    async with hosted(name) as host:
        clients = [await RawClient.open(host.port) for _ in range(5)]
        host.connections[0].socket.close(3_001)
        clients[1].reset()
        await until(lambda: len(host.connections[1].closes) == 1)
        for size in (10, 9_000):
            host.library.send_all([connection.socket for connection in host.connections], b"x" * size)
        assert await clients[0].close_code() == 3_001
        for client in clients[2:]:
            assert await client.frame() == ReceivedFrame(TEXT, b"x" * 10)
            assert await client.frame() == ReceivedFrame(TEXT, b"x" * 9_000)
        for client in (clients[0], *clients[2:]):
            client.reset()

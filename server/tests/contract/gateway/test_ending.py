"""How connections end: closed by either side, by a timeout, as slow, or by the network."""

import asyncio
import gc
import socket
import time
from collections import Counter

import pytest
from contract.gateway.listener_host import HostedConnection, hosted
from contract.gateway.raw_client import (
    BINARY,
    CLOSE,
    PING,
    TEXT,
    RawClient,
    ReceivedFrame,
    close_frame,
    frame,
    request,
    text,
)
from fixtures.loops import until

from tidings.gateway.transport.ports import ListenOptions, TcpOptions
from tidings.gateway.transport.websockets_transport import BackendName

BOUND_BYTES = 100_000
SLOW = ListenOptions(max_send_buffer_bytes=BOUND_BYTES, slow_close_code=3_008, close_timeout_s=0.5)


async def test_a_close_of_the_peer_is_answered_with_its_code(name: BackendName) -> None:
    async with hosted(name) as host:
        for raw, code in [(close_frame(1000, "bye"), 1000), (close_frame(4_321), 4_321)]:
            async with await RawClient.open(host.port) as client:
                client.send(raw)
                assert await client.close_code() == code
                assert await client.ended()
        await until(lambda: [connection.closes for connection in host.connections] == [[1000], [4_321]])


async def test_a_close_without_a_code_is_answered_without_one(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as client:
        client.send(frame(CLOSE, b""))
        assert await client.frame() == ReceivedFrame(CLOSE, b"")
        assert await client.ended()
        await until(lambda: host.connection.closes == [1005])


async def test_a_second_close_in_the_same_packet_does_not_change_the_answer(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as client:
        client.send(close_frame(1000) + close_frame(4_321) + text("and more"))
        assert await client.close_code() == 1000
        assert await client.ended()
        await until(lambda: host.connection.closes == [1000])


async def test_a_close_inside_a_fragmented_message_is_accepted(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as client:
        client.send(frame(TEXT, b"half of", fin=False) + close_frame(1000))
        assert await client.close_code() == 1000
        assert await client.ended()
        assert host.connection.messages == []


async def test_a_close_of_the_server_has_code_and_reason_and_waits_for_the_answer(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as client:
        host.connection.socket.close(3_001, "ü" * 100)
        reply = await client.frame()
        assert reply.code == 3_001
        assert reply.payload[2:].decode() == "ü" * 61, "cut to what a control frame holds, between characters"
        client.send(text("too late") + close_frame(3_001))
        assert await client.ended()
        await until(lambda: host.connection.closes == [3_001])
        assert host.connection.messages == []


async def test_the_first_close_counts_and_nothing_is_sent_after_it(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as client:
        connection = host.connection
        connection.socket.send(b"last words")
        connection.socket.close(3_001)
        connection.socket.close(3_002)
        connection.socket.send(b"unheard")
        assert await client.frame() == ReceivedFrame(TEXT, b"last words")
        assert await client.close_code() == 3_001
        client.send(close_frame(1000))
        assert await client.ended()
        await until(lambda: connection.closes == [3_001])
        connection.socket.send(b"to nobody")
        connection.socket.close(3_003)
        connection.socket.abort()
        assert connection.socket.buffered_bytes == 0


async def test_a_peer_that_never_answers_a_close_is_disconnected(name: BackendName) -> None:
    options = ListenOptions(close_timeout_s=0.2)
    async with hosted(name, options) as host, await RawClient.open(host.port) as client:
        host.connection.socket.close(3_001)
        assert await client.close_code() == 3_001
        assert await client.ended()
        await until(lambda: host.connection.closes == [3_001], within_s=30)


async def test_a_lost_connection_is_reported_as_1006(name: BackendName) -> None:
    async with hosted(name) as host:
        (await RawClient.open(host.port)).reset()
        await until(lambda: host.connections[0].closes == [1006])
        (await RawClient.open(host.port)).hang_up()
        await until(lambda: host.connections[1].closes == [1006])


async def test_a_reset_during_a_read_or_write_affects_no_other_connection(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as witness:
        for raw in (text("x" * 1_000)[:500], frame(TEXT, b"part", fin=False), text("y" * 60_000) * 5):
            client = await RawClient.open(host.port)
            client.send(raw)
            await client.writer.drain()
            client.reset()
        await until(lambda: len(host.listener.sockets) == 1)
        witness.send(text("well"))
        assert await witness.frame() == ReceivedFrame(TEXT, b"well")


async def test_an_abort_disconnects_without_a_close_frame(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.open(host.port) as client:
        host.connection.socket.abort()
        assert await client.ended()
        await until(lambda: host.connection.closes == [1006])


def _fill(connection: HostedConnection, count: int = 2_000) -> int:
    """Send until the connection is closed. Return the largest size of the send buffer."""
    most = 0
    for _ in range(count):
        connection.socket.send(b"x" * 1_000)
        most = max(most, connection.socket.buffered_bytes)
    return most


async def test_a_reader_that_never_reads_is_closed_at_the_bound_and_memory_stays_bounded(
    name: BackendName,
) -> None:
    async with hosted(name, SLOW) as host:
        client = await RawClient.connect(host.port, receive_buffer_bytes=4_096)
        async with client:
            assert (await client.ask(request())).status == 101
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a full transport it is
            most = _fill(host.connection)
            assert BOUND_BYTES < most < BOUND_BYTES + 3_000
            assert host.listener.tally.too_slow == 1
            await until(lambda: host.connection.closes == [3_008], within_s=30)


async def test_a_slow_reader_gets_everything_in_order_and_then_the_close(
    name: BackendName,
) -> None:
    options = ListenOptions(max_send_buffer_bytes=BOUND_BYTES, slow_close_code=3_008, close_timeout_s=5.0)
    async with hosted(name, options) as host:
        client = await RawClient.connect(host.port, receive_buffer_bytes=4_096)
        async with client:
            assert (await client.ask(request())).status == 101
            for number in range(5_000):
                host.connection.socket.send(str(number).encode() * 20)
            got = []
            while (one := await client.frame()).opcode == TEXT:
                got.append(one.payload)
            assert 100 < len(got) < 5_000, "some were never sent: the device resumes"
            assert got == [str(number).encode() * 20 for number in range(len(got))]
            assert one.code == 3_008
            assert b"resume" in one.payload
            client.send(close_frame(3_008))
            assert await client.ended()


async def test_unread_pongs_are_bounded_too(name: BackendName) -> None:
    async with hosted(name, SLOW) as host:
        client = await RawClient.connect(host.port, receive_buffer_bytes=4_096)
        async with client:
            assert (await client.ask(request())).status == 101
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # as above
            flood = frame(PING, b"x" * 125) * 500
            began = time.monotonic()
            while host.listener.tally.too_slow == 0 and time.monotonic() - began < 10:
                client.send(flood)
                await asyncio.sleep(0)
            assert host.listener.tally.too_slow == 1
            assert host.connection.socket.buffered_bytes < 3 * BOUND_BYTES


async def test_a_connection_that_keeps_up_is_never_closed_as_slow(
    name: BackendName,
) -> None:
    async with hosted(name, SLOW) as host, await RawClient.open(host.port) as client:
        for _ in range(100):
            for _ in range(20):
                host.connection.socket.send(b"x" * 1_000)
            for _ in range(20):
                assert (await client.frame()).opcode == TEXT
        assert host.listener.tally.too_slow == 0


async def test_the_listeners_close_ends_every_connection_within_the_linger_time(name: BackendName) -> None:
    async with hosted(name, ListenOptions(close_timeout_s=0.4)) as host:
        polite, silent = await RawClient.open(host.port), await RawClient.open(host.port)
        at_the_door = await RawClient.connect(host.port)
        await until(lambda: len(host.listener._handshakes) == 1)
        closing = asyncio.ensure_future(host.listener.close(1001, "going away"))
        assert await polite.close_code() == 1001
        polite.send(close_frame(1001))
        began = time.monotonic()
        await closing
        assert time.monotonic() - began < 3
        assert [connection.closes for connection in host.connections] == [[1001], [1001]]
        for client in (polite, silent, at_the_door):
            client.reset()


async def test_accepted_connections_have_the_options_of_the_listener(name: BackendName) -> None:
    tcp = TcpOptions(keepalive_idle_s=77, unacknowledged_s=33, send_buffer_bytes=40_000)
    async with (
        hosted(name, ListenOptions(tcp=tcp, close_timeout_s=1.0)) as host,
        await RawClient.open(host.port),
    ):
        transport = host.connection.socket._transport  # type: ignore[attr-defined]  # a look inside
        sock = transport.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 77
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 33_000
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 80_000


def _kept() -> Counter[str]:
    """Count the objects of the libraries and of the transport that are not freed."""
    ours = ("<class 'websockets.", "<class 'picows", "<class 'tidings.gateway.transport.")
    kinds = Counter(map(type, gc.get_objects()))
    return Counter({name: count for kind, count in kinds.items() if (name := repr(kind)).startswith(ours)})


_ENDINGS = {
    "none": b"",
    "close": close_frame(1000),
    "refused": frame(BINARY, b"not text"),
    "violation": b"\xff\xff no frame",
}


@pytest.mark.parametrize("ending", _ENDINGS)
async def test_a_closed_connection_leaves_no_garbage_for_the_collector(
    name: BackendName, ending: str
) -> None:
    """Garbage that waits for the collector after a storm is memory that the next storm cannot use."""
    async with hosted(name) as host:
        gc.collect()
        gc.disable()
        try:
            before = _kept()
            for _ in range(3):
                client = await RawClient.open(host.port)
                client.send(text("hello"))
                assert (await client.frame()).payload == b"hello"
                if raw := _ENDINGS[ending]:
                    client.send(raw)
                    assert (await client.frame()).opcode == CLOSE
                client.reset()
            await until(
                lambda: (
                    len(host.connections) == 3 and all(connection.closes for connection in host.connections)
                )
            )
            host.connections.clear()
            await until(lambda: not _kept() - before)
        finally:
            gc.enable()

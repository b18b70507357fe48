"""Connections over TLS, where transports buffer and close differently."""

import asyncio
import ssl
from dataclasses import replace

import pytest
import trustme
from contract.gateway.listener_host import hosted
from contract.gateway.raw_client import TEXT, RawClient, ReceivedFrame, close_frame, request, text
from fixtures.loops import until

from tidings.gateway.transport.ports import ListenOptions
from tidings.gateway.transport.websockets_transport import BackendName

BOUND_BYTES = 100_000


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def options(authority: trustme.CA) -> ListenOptions:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    return ListenOptions(
        tls=context,
        max_send_buffer_bytes=BOUND_BYTES,
        slow_close_code=3_008,
        handshake_timeout_s=2.0,
        close_timeout_s=1.0,
    )


@pytest.fixture
def trust(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def test_messages_of_any_size_pass_and_a_close_is_answered(
    name: BackendName, options: ListenOptions, trust: ssl.SSLContext
) -> None:
    async with hosted(name, options) as host, await RawClient.open(host.port, tls=trust) as client:
        for size in (1, 126, 8_192, 8_193, 65_536):
            client.send(text(b"x" * size))
            assert await client.frame() == ReceivedFrame(TEXT, b"x" * size)
        client.send(close_frame(1000))
        assert await client.close_code() == 1000
        assert await client.ended()
        await until(lambda: host.connection.closes == [1000])


async def test_a_rejection_is_received_completely(
    name: BackendName, options: ListenOptions, trust: ssl.SSLContext
) -> None:
    async with hosted(name, options) as host, await RawClient.connect(host.port, trust) as client:
        assert (await client.ask(request(path="/other"))).status == 404
        assert await client.ended()


async def test_a_reader_that_never_reads_is_closed_at_the_bound(
    name: BackendName, options: ListenOptions, trust: ssl.SSLContext
) -> None:
    async with hosted(name, options) as host:
        client = await RawClient.connect(host.port, trust, receive_buffer_bytes=4_096)
        async with client:
            assert (await client.ask(request())).status == 101
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a full transport it is
            most = 0
            for _ in range(100):
                for _ in range(50):
                    host.connection.socket.send(b"x" * 1_000)
                most = max(most, host.connection.socket.buffered_bytes)
                await asyncio.sleep(0)
            assert host.listener.tally.too_slow == 1
            assert most < 3 * BOUND_BYTES
            await until(lambda: host.connection.closes == [3_008], within_s=30)


async def test_many_messages_to_a_slow_reader_arrive_unchanged(
    name: BackendName, options: ListenOptions, trust: ssl.SSLContext
) -> None:
    sizes = [70_000, 10, 9_000, 1, 8_193, 200_000, 3]
    async with hosted(name, replace(options, max_send_buffer_bytes=4_000_000)) as host:
        client = await RawClient.connect(host.port, trust, receive_buffer_bytes=4_096)
        async with client:
            assert (await client.ask(request())).status == 101
            for number, size in enumerate(sizes):
                host.connection.socket.send(bytes([97 + number]) * size)
            for number, size in enumerate(sizes):
                assert (await client.frame()).payload == bytes([97 + number]) * size


@pytest.mark.parametrize("raw", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05hello"])
async def test_a_failed_or_endless_tls_handshake_is_closed(
    name: BackendName, options: ListenOptions, raw: bytes, trust: ssl.SSLContext
) -> None:
    async with hosted(name, replace(options, handshake_timeout_s=0.5)) as host:
        async with await RawClient.connect(host.port) as client:
            client.send(raw)
            await until(lambda: host.listener.tally.handshakes_failed == 1)
            assert not host.listener._handshakes
        async with await RawClient.open(host.port, tls=trust) as client:
            client.send(text("well"))
            assert await client.frame() == ReceivedFrame(TEXT, b"well")


async def test_a_reset_during_the_tls_handshake_affects_no_other_connection(
    name: BackendName, options: ListenOptions
) -> None:
    async with hosted(name, options) as host:
        client = await RawClient.connect(host.port)
        client.send(b"\x16\x03\x01")
        await until(lambda: host.listener._handshakes)
        client.reset()
        await until(lambda: not host.listener._handshakes)
        assert host.listener.tally.handshakes_failed == 1

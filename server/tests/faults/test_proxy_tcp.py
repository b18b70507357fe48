"""Each fault of TCP, in front of an echo server."""

import gc
import random
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faults.echo_server import EchoServer
from faults.proxy import Bandwidth, Blackhole, Direction, Freeze, Latency, Refuse, TcpProxy
from faults.proxy.tcp_conditions import TcpFlow
from faults.raw_client import RawClient
from faults.until import until

TO_UPSTREAM, TO_CLIENT = Direction.TO_UPSTREAM, Direction.TO_CLIENT


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server


@pytest.fixture
def proxy(echo: EchoServer) -> Iterator[TcpProxy]:
    with TcpProxy("127.0.0.1", echo.port) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: TcpProxy) -> Iterator[RawClient]:
    """Return a client that is connected through the proxy to the server."""
    with RawClient(proxy.port) as client:
        assert says(client, b"hello")
        yield client


def says(client: RawClient, said: bytes) -> bool:
    client.send(said)
    return client.read(len(said)) == said


def test_bytes_pass_both_ways_and_so_does_the_end(proxy: TcpProxy, echo: EchoServer) -> None:
    with RawClient(proxy.port) as client:
        large = bytes(range(256)) * 4096
        client.send(large)
        assert client.read(len(large)) == large
        client.end()
        assert client.read_to_end() == (b"", None)
    assert echo.received == large
    until(lambda: echo.ended == 1)
    proxy.wait_until(lambda: proxy.connections == 0)
    assert proxy.accepted == 1


@pytest.mark.parametrize(("way", "least_s"), [(TO_UPSTREAM, 0.1), (TO_CLIENT, 0.1), (Direction.BOTH, 0.2)])
def test_latency_is_added_each_way_it_is_meant_for(
    proxy: TcpProxy, client: RawClient, way: Direction, least_s: float
) -> None:
    with proxy.fault(Latency(0.1, way)):
        started = time.monotonic()
        assert says(client, b"slow")
        assert time.monotonic() - started >= least_s
    assert says(client, b"quick")


def test_latency_does_not_add_up_for_bytes_in_flight_together(proxy: TcpProxy, client: RawClient) -> None:
    with proxy.fault(Latency(0.3, TO_UPSTREAM)):
        started = time.monotonic()
        for number in range(20):
            client.send(b"%02d" % number)
            proxy.wait_until(lambda: proxy.flow(TO_UPSTREAM).taken_bytes == 7 + 2 * number)  # noqa: B023 - used at once
        assert client.read(40) == b"".join(b"%02d" % number for number in range(20))
        assert 0.3 <= time.monotonic() - started < 20 * 0.3


def test_frozen_bytes_wait_and_none_is_lost(proxy: TcpProxy, client: RawClient, echo: EchoServer) -> None:
    freeze = proxy.fault(Freeze())
    with RawClient(proxy.port) as accepted_meanwhile:
        client.send(b"wait")
        accepted_meanwhile.send(b"me too")
        proxy.wait_until(lambda: proxy.flow(TO_UPSTREAM).waiting_bytes == 10)
        proxy.fault(Freeze()).remove()
        assert client.is_silent(), "another freeze that is removed does not end this one"
        assert echo.received == b"hello"
        freeze.remove()
        assert client.read(4) == b"wait"
        assert accepted_meanwhile.read(6) == b"me too"


def test_a_freeze_to_the_client_lets_the_server_work(
    proxy: TcpProxy, client: RawClient, echo: EchoServer
) -> None:
    with proxy.fault(Freeze(TO_CLIENT)):
        client.send(b"done")
        proxy.wait_until(lambda: proxy.flow(TO_CLIENT).waiting_bytes == 4)
        assert echo.received == b"hellodone"
        assert client.is_silent()
    assert client.read(4) == b"done"


def test_a_freeze_to_the_server_lets_its_answers_out(
    proxy: TcpProxy, client: RawClient, echo: EchoServer
) -> None:
    with proxy.fault(Freeze(TO_CLIENT)) as answers:
        client.send(b"done")
        proxy.wait_until(lambda: proxy.flow(TO_CLIENT).waiting_bytes == 4)
        with proxy.fault(Freeze(TO_UPSTREAM)):
            client.send(b"not yet")
            answers.remove()
            assert client.read(4) == b"done"
            proxy.wait_until(lambda: proxy.flow(TO_UPSTREAM).waiting_bytes == 7)
            assert echo.received == b"hellodone"
    assert client.read(7) == b"not yet"


def test_the_end_of_a_connection_waits_for_a_freeze_too(
    proxy: TcpProxy, client: RawClient, echo: EchoServer
) -> None:
    with proxy.fault(Freeze()):
        client.end()
        assert client.is_silent()
        assert echo.ended == 0
    assert client.read_to_end() == (b"", None)


@pytest.mark.parametrize("reset", [False, True])
def test_a_cut_ends_every_connection_on_both_sides_and_new_ones_pass(
    proxy: TcpProxy, client: RawClient, echo: EchoServer, *, reset: bool
) -> None:
    assert proxy.cut(reset=reset) == 1
    assert client.read_to_end() == (b"", ConnectionResetError if reset else None)
    until(lambda: echo.ended == 1)
    assert proxy.connections == 0
    with RawClient(proxy.port) as again:
        assert says(again, b"again")


def test_a_frozen_connection_can_be_cut(proxy: TcpProxy, client: RawClient, echo: EchoServer) -> None:
    with proxy.fault(Freeze()):
        client.send(b"lost")
        proxy.wait_until(lambda: proxy.flow(TO_UPSTREAM).waiting_bytes == 4)
        assert proxy.cut(reset=True) == 1
        assert client.read_to_end() == (b"", ConnectionResetError)
        proxy.wait_until(
            lambda: proxy.flow(TO_UPSTREAM) == TcpFlow(taken_bytes=9, passed_bytes=5, lost_bytes=4)
        )
    assert echo.received == b"hello"


def test_a_refusing_port_is_kept_and_opens_again(proxy: TcpProxy, client: RawClient) -> None:
    port = proxy.port
    with proxy.fault(Refuse()):
        with pytest.raises(ConnectionRefusedError):
            RawClient(port)
        with pytest.raises(OSError, match="in use"):
            socket.create_server(("127.0.0.1", port))
        assert says(client, b"old connections stay")
    assert proxy.port == port
    with RawClient(port) as again:
        assert says(again, b"again")


@pytest.mark.filterwarnings("error::ResourceWarning")
def test_a_client_that_connects_while_the_port_closes_is_not_left_open(proxy: TcpProxy) -> None:
    for _ in range(30):
        with ExitStack() as stack:
            for _ in range(5):
                stack.enter_context(socket.create_connection(("127.0.0.1", proxy.port)))
            proxy.fault(Refuse()).remove()
    gc.collect()


def test_a_blackhole_discards_bytes_after_its_limit_silently(
    proxy: TcpProxy, client: RawClient, echo: EchoServer
) -> None:
    with RawClient(proxy.port) as untouched:
        assert says(untouched, b"")
        proxy.wait_until(lambda: proxy.connections == 2)
        with proxy.fault(Blackhole(after_bytes=6, direction=TO_UPSTREAM)):
            client.send(b"four")
            assert client.read(4) == b"four"
            client.send(b"fives")
            assert client.read(2) == b"fi"
            client.end()
            proxy.wait_until(lambda: proxy.flow(TO_UPSTREAM).lost_bytes == 3)
            assert client.is_silent()
            assert (echo.received, echo.ended) == (b"hellofourfi", 0)
            assert says(untouched, b"small")
        assert client.read_to_end() == (b"", ConnectionResetError)
        assert says(untouched, b"as if nothing had been")


def test_a_second_blackhole_counts_from_zero(proxy: TcpProxy, client: RawClient) -> None:
    for _ in range(2):
        with proxy.fault(Blackhole(after_bytes=5)):
            assert says(client, b"fives")


def test_bandwidth_is_bounded_and_nothing_is_lost(proxy: TcpProxy, client: RawClient) -> None:
    sent = random.Random(1).randbytes(20_000)
    with proxy.fault(Bandwidth(bytes_per_s=100_000, direction=TO_UPSTREAM)):
        started = time.monotonic()
        assert says(client, sent)
        assert time.monotonic() - started >= len(sent) / 100_000
    assert says(client, sent)


def is_reset(port: int) -> bool:
    """Return whether the connection is reset. A reset can arrive while the client still connects."""
    try:
        with RawClient(port) as client:
            return client.read_to_end() == (b"", ConnectionResetError)
    except ConnectionResetError:
        return True


def test_a_missing_server_resets_the_client_and_may_start_later() -> None:
    with EchoServer() as gone:
        pass
    with TcpProxy("127.0.0.1", gone.port) as proxy:
        assert is_reset(proxy.port)
        with EchoServer(gone.port), RawClient(proxy.port) as client:
            assert says(client, b"there")


def test_a_server_that_dies_resets_its_clients() -> None:
    echo = EchoServer()
    with TcpProxy("127.0.0.1", echo.port) as proxy, RawClient(proxy.port) as client:
        assert says(client, b"hello")
        echo.stop()
        assert client.read_to_end() == (b"", ConnectionResetError)


def test_the_port_can_be_chosen_and_is_not_shared(echo: EchoServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    with TcpProxy("127.0.0.1", echo.port, listen_port=port) as proxy:
        assert proxy.port == port
        with pytest.raises(OSError, match="in use"):
            TcpProxy("127.0.0.1", echo.port, listen_port=port)
        with RawClient(port) as client:
            assert says(client, b"here")
            proxy.cut()
            assert client.read_to_end() == (b"", None)
    with TcpProxy("127.0.0.1", echo.port, listen_port=port), RawClient(port) as client:
        assert says(client, b"and again")


FAULTS = st.sampled_from([Freeze(), Freeze(TO_CLIENT), Freeze(TO_UPSTREAM), Latency(0.001), Bandwidth(10**6)])


@settings(max_examples=25, deadline=None)
@given(
    writes=st.lists(
        st.tuples(st.binary(min_size=1, max_size=70_000), st.none() | FAULTS), min_size=1, max_size=5
    )
)
def test_no_byte_is_lost_or_swapped_over_any_faults_that_only_slow_down(
    writes: list[tuple[bytes, Freeze | Latency | Bandwidth | None]],
) -> None:
    with EchoServer() as echo, TcpProxy("127.0.0.1", echo.port) as proxy, RawClient(proxy.port) as client:
        with ExitStack() as last:
            for data, fault in writes:
                now = ExitStack()
                if fault is not None:
                    now.enter_context(proxy.fault(fault))
                client.send(data)
                last.close()
                last.push(now)
        sent = b"".join(data for data, _ in writes)
        assert client.read(len(sent)) == sent
        assert echo.received == sent

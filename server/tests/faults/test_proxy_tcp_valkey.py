"""The TCP proxy in front of Valkey, with raw commands, so that no client library hides the faults."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from faults.proxy import Direction, Freeze, Refuse, TcpProxy
from faults.raw_client import RawClient


@pytest.fixture
def valkey_port(valkey: str) -> int:
    port = urlsplit(valkey).port
    assert port is not None
    return port


@pytest.fixture
def proxy(valkey_port: int) -> Iterator[TcpProxy]:
    with TcpProxy("127.0.0.1", valkey_port) as proxy:
        yield proxy


def command(client: RawClient, line: bytes, answer: bytes) -> None:
    client.send(line + b"\r\n")
    assert client.read(len(answer)) == answer


def test_a_write_whose_answer_is_frozen_is_done_and_answered_later(proxy: TcpProxy, valkey_port: int) -> None:
    with RawClient(proxy.port) as client, RawClient(valkey_port) as direct:
        command(client, b"SET faults:a 1", b"+OK\r\n")
        with proxy.fault(Freeze(Direction.TO_CLIENT)):
            client.send(b"INCR faults:a\r\n")
            proxy.wait_until(lambda: proxy.flow(Direction.TO_CLIENT).waiting_bytes == len(b":2\r\n"))
            command(direct, b"GET faults:a", b"$1\r\n2\r\n")
            assert client.is_silent()
        assert client.read(4) == b":2\r\n"


def test_a_subscriber_that_is_cut_misses_messages_and_can_reconnect(
    proxy: TcpProxy, valkey_port: int
) -> None:
    confirmed = b"*3\r\n$9\r\nsubscribe\r\n$8\r\nfaults:c\r\n:1\r\n"
    heard = b"*3\r\n$7\r\nmessage\r\n$8\r\nfaults:c\r\n$2\r\nhi\r\n"
    with RawClient(valkey_port) as direct:
        with RawClient(proxy.port) as client:
            command(client, b"SUBSCRIBE faults:c", confirmed)
            command(direct, b"PUBLISH faults:c hi", b":1\r\n")
            assert client.read(len(heard)) == heard
            assert proxy.cut(reset=True) == 1
            assert client.read_to_end() == (b"", ConnectionResetError)
        with proxy.fault(Refuse()), pytest.raises(ConnectionRefusedError):
            RawClient(proxy.port)
        with RawClient(proxy.port) as again:
            command(again, b"SUBSCRIBE faults:c", confirmed)

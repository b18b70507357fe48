"""Requests that are slow, incomplete, too many or have oversized headers, over raw sockets to a real process."""

import select
import socket
import time
from contextlib import ExitStack

import pytest
from contract.telemetry.running import eventually
from e2e.conftest import Api, Start, answer

BODY = b'{"type": "direct", "user": "ben"}'
REQUEST_TIMEOUT_S = 1.0


@pytest.fixture
def api(start: Start) -> Api:
    return start(TIDINGS_API_REQUEST_TIMEOUT_S=str(REQUEST_TIMEOUT_S), TIDINGS_API_KEEP_ALIVE_S="60")


def head(api: Api) -> bytes:
    return api.head("POST", "/v1/chats", BODY)


def trickle(client: socket.socket, data: bytes, every_s: float = 0.1) -> float:
    """Send byte by byte until the server closes the connection. Return how long that took."""
    client.settimeout(every_s)
    began = time.monotonic()
    for byte in data:
        try:
            client.sendall(bytes([byte]))
            if client.recv(1, socket.MSG_PEEK) is not None:
                break
        except TimeoutError:
            continue
    client.settimeout(20)
    return time.monotonic() - began


def is_closed(client: socket.socket) -> bool:
    """Return whether the server has closed the connection: reset it, if bytes arrived that it did not read."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("whole", [b"", b"head"], ids=["headers", "body"])
def test_a_slow_request_is_answered_with_408_at_the_deadline(api: Api, whole: bytes) -> None:
    with api.connect() as client:
        sent, rest = (head(api), BODY) if whole else (b"", head(api))
        client.sendall(sent)
        took_s = trickle(client, rest * 4)
        slow = answer(client)
        assert (slow.status, slow.body["code"], slow.body["retryable"]) == (408, "request_too_slow", True)
        assert slow.headers["content-type"] == "application/problem+json"
        assert is_closed(client)
    assert REQUEST_TIMEOUT_S * 0.9 < took_s < REQUEST_TIMEOUT_S + 3
    assert api.ask("POST", "/v1/chats", {"type": "direct", "user": "ben"}).status == 200
    assert [line for line in api.lines if line["level"] in {"error", "critical"}] == []


def test_a_silent_connection_is_closed_without_a_response(api: Api) -> None:
    with api.connect() as client:
        assert client.recv(1) == b""


def test_blank_lines_between_requests_do_not_keep_a_connection_open(api: Api) -> None:
    with api.connect() as client:
        client.sendall(head(api) + BODY)
        assert answer(client).status == 200
        client.sendall(b"\r\n")
        assert client.recv(1) == b""


def test_a_connection_may_be_idle_between_requests(api: Api) -> None:
    with api.connect() as waiting, api.connect() as silent:
        waiting.sendall(head(api) + BODY)
        assert answer(waiting).status == 200
        assert silent.recv(1) == b"", "so long that a request would have been too slow"
        waiting.sendall(head(api) + BODY)
        assert answer(waiting).status == 200


def test_a_response_sent_before_the_body_is_read_is_the_only_one(api: Api) -> None:
    with api.connect() as client:
        client.sendall(api.head("POST", "/v1/chats", BODY, bearer="forged"))
        assert answer(client).status == 401
        trickle(client, BODY[:-1])
        assert client.recv(1) == b"", "no 408 that would pass for the answer to the next request"


def test_many_slow_connections_do_not_block_others(api: Api) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(api.connect()) for _ in range(100)]
        for client in slow:
            client.sendall(head(api)[:40])
        assert api.ask("POST", "/v1/chats", {"type": "direct", "user": "ben"}).status == 200
        assert {answer(client).status for client in slow} == {408}


def test_a_full_process_answers_with_retry_after(start: Start) -> None:
    api = start(TIDINGS_API_MAX_CONNECTIONS="2")
    with api.connect() as first, api.connect() as second:
        for client in (first, second):
            client.sendall(head(api) + BODY)
            assert answer(client).status == 200
        with api.connect() as third:
            third.sendall(head(api) + BODY)
            refused = answer(third)
            assert (refused.status, refused.body["code"], refused.body["retryable"]) == (
                503,
                "overloaded",
                True,
            )
            assert refused.headers["content-type"] == "application/problem+json"
            assert 1 <= int(refused.headers["Retry-After"]) <= 2
            assert third.recv(1) == b""
        first.sendall(head(api) + BODY)
        assert answer(first).status == 200, "an earlier connection is served"
    eventually(
        lambda: api.ask("POST", "/v1/chats", {"type": "direct", "user": "ben"}).status == 200 or None, "room"
    )


def flood(client: socket.socket, first: bytes, piece: bytes) -> int:
    """Send `piece` until the server refuses; return how many bytes it took."""
    client.sendall(first)
    taken = len(first)
    try:
        while taken < MANY_BYTES and not select.select([client], [], [], 0)[0]:
            client.sendall(piece)
            taken += len(piece)
    except OSError:
        pass  # the server stopped reading
    return taken


MANY_BYTES = 8_000_000
CHUNKED = b"POST /v1/me HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        pytest.param(b"GET /v1/me?", b"a" * 4_000, id="url"),
        pytest.param(b"GET /v1/me HTTP/1.1\r\n", b"a:\r\n" * 30, id="headers"),
        pytest.param(b"GET /v1/me HTTP/1.1\r\nX: ", b"a" * 4_000, id="value"),
        pytest.param(b"GET /v1/me HTTP/1.1\r\n", b"a" * 4_000, id="name"),
        pytest.param(CHUNKED, b"a:\r\n" * 30, id="trailers"),
        pytest.param(CHUNKED + b"X: ", b"a" * 4_000, id="trailer"),
    ],
)
def test_endless_headers_are_rejected(api: Api, first: bytes, piece: bytes) -> None:
    with api.connect() as client:
        assert flood(client, first, piece) < MANY_BYTES
        if not first.startswith(b"POST"):  # the server has already answered 401 without waiting for the body
            refused = answer(client)
            assert (refused.status, refused.body["code"]) == (431, "headers_too_large")
            assert refused.headers["content-type"] == "application/problem+json"
            assert client.recv(1) == b"", "the connection is closed"
    assert api.ask("POST", "/v1/chats", {"type": "direct", "user": "ben"}).status == 200

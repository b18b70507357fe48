"""The admin server against clients that are slow, many, or talk nonsense."""

import socket
from collections.abc import Iterator

import pytest
from contract.telemetry.running import eventually

from tidings.platform.lifecycle.admin import AdminOptions, AdminResponse, AdminServer


def broken() -> AdminResponse:
    raise RuntimeError("no page today")


@pytest.fixture
def request_s() -> float:
    return 60.0


@pytest.fixture
def server(request_s: float) -> Iterator[AdminServer]:
    pages = {"/livez": lambda: AdminResponse(200, "text/plain", b"ok"), "/broken": broken}
    server = AdminServer(AdminOptions(request_s=request_s, max_head_bytes=1_024, max_connections=3), pages)
    server.start()
    yield server
    server.stop()


def connect(server: AdminServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=20)


def ask(server: AdminServer, request: bytes) -> bytes:
    with connect(server) as sock:
        sock.sendall(request)
        answer = b""
        while chunk := sock.recv(4_096):
            answer += chunk
        return answer


def test_a_page_is_served_completely_with_its_length(server: AdminServer) -> None:
    answer = ask(server, b"GET /livez?verbose=1 HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 2" in head
    assert b"Connection: close" in head
    assert body == b"ok"


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET /nothing HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /livez/../livez HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /livez HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", b"405"),
        (b"GET /livez HTTP/2\r\n\r\n", b"400"),
        (b"\x16\x03\x01 hello\r\n\r\n", b"400"),
        (b"GET  /livez HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /" + b"x" * 5_000 + b" HTTP/1.1\r\n\r\n", b"431"),
        (b"GET /broken HTTP/1.1\r\n\r\n", b"500"),
    ],
)
def test_other_requests_are_refused_with_their_status(
    server: AdminServer, request_head: bytes, status: bytes
) -> None:
    answer = ask(server, request_head)
    assert answer.split(b" ")[1] == status
    assert ask(server, b"GET /livez HTTP/1.1\r\n\r\n").endswith(b"ok")


def test_a_request_in_pieces_is_understood(server: AdminServer) -> None:
    with connect(server) as sock:
        for piece in (b"GET /li", b"vez HTT", b"P/1.1\r\n", b"\r\n"):
            sock.sendall(piece)
        assert sock.recv(4_096).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("request_s", [0.2])
def test_a_client_that_stops_sending_is_dropped(server: AdminServer) -> None:
    with connect(server) as sock:
        sock.sendall(b"GET /livez HT")
        assert is_dropped(sock)


def test_more_clients_than_allowed_are_dropped_and_the_next_one_is_served(server: AdminServer) -> None:
    idle = [connect(server) for _ in range(3)]
    eventually(lambda: server._open == 3 or None, "three idle clients")
    with connect(server) as sock:
        assert is_dropped(sock)
    for sock in idle:
        sock.close()
    eventually(lambda: ask(server, b"GET /livez HTTP/1.1\r\n\r\n").endswith(b"ok") or None, "served client")


def is_dropped(sock: socket.socket) -> bool:
    try:
        return sock.recv(100) == b""
    except ConnectionResetError:
        return True


def test_the_port_is_closed_after_stop(server: AdminServer) -> None:
    server.stop()
    with socket.socket() as sock:
        assert sock.connect_ex(("127.0.0.1", server.port)) != 0

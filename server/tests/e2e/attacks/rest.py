"""Attacks on the REST API, each from an address of its own on loopback. Standard library only: they start often."""

import socket
import time

SOURCE = "127.0.0.2"
_MAX_BYTES = 64 * 1024 * 1024


def connect(port: int, source: str = SOURCE) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=5, source_address=(source, 0))


def heads(seconds: float, port: int) -> int:
    """Send headers without end; return the most bytes that one connection was allowed to send."""
    ends_at, most = time.monotonic() + seconds, 0
    while time.monotonic() < ends_at:
        most = max(most, _one_head(port, ends_at))
    return most


def _one_head(port: int, ends_at: float) -> int:
    taken, piece = 0, b"a:\r\n" * 4_096
    with connect(port) as client:
        try:
            client.sendall(b"GET /v1/me HTTP/1.1\r\n")
            while time.monotonic() < ends_at and taken < _MAX_BYTES:
                client.sendall(piece)
                taken += len(piece)
        except OSError:
            return taken  # the server stopped reading
    return taken

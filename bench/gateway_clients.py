"""The other ends of `bench.gateway`'s connections: raw sockets and an epoll, nothing that parses."""

import base64
import os
import select
import socket
from multiprocessing.connection import Connection

PAYLOAD = b'{"id":7,"send":{"chat":"01JCQ","text":"' + b"x" * 60 + b'"}}'
_SEND_AT_ONCE = 64


def _masked(payload: bytes) -> bytes:
    mask = os.urandom(4)
    body = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
    return bytes([0x81, 0x80 | len(payload)]) + mask + body


_FRAME = _masked(PAYLOAD)
_ECHO_BYTES = len(PAYLOAD) + 2


class Ends:
    """All of them, with what they have yet to read."""

    def __init__(self) -> None:
        self._sockets: dict[int, socket.socket] = {}
        self._poll = select.epoll()

    def open(self, port: int, count: int) -> None:
        """In small groups, each waiting for its answers, so that the backlog never overflows."""
        key = base64.b64encode(os.urandom(16)).decode()
        request = (
            f"GET /v1/socket HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        ).encode()
        for start in range(0, count, _SEND_AT_ONCE):
            group = [self._connect(port, request) for _ in range(min(_SEND_AT_ONCE, count - start))]
            for sock in group:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += sock.recv(4_096)
                if b" 101 " not in head:
                    raise ConnectionError(head.decode())
                sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
                self._sockets[sock.fileno()] = sock
                self._poll.register(sock, select.EPOLLIN)

    def _connect(self, port: int, request: bytes) -> socket.socket:
        # Ports run out on one address: spread over the loopback's many.
        sock = socket.create_connection(("127.0.0.1", port), timeout=30)
        sock.sendall(request)
        return sock

    def echo(self, rounds: int) -> None:
        for _ in range(rounds):
            for sock in self._sockets.values():
                sock.send(_FRAME)
            self._read(_ECHO_BYTES)

    def drain(self) -> None:
        self._read(None)

    def _read(self, size_bytes: int | None) -> None:
        """So much from each; None: one push, whatever its size."""
        left = dict.fromkeys(self._sockets, size_bytes)
        while left:
            for fd, _ in self._poll.poll(30) or self._nothing():
                got = len(self._sockets[fd].recv(65_536))
                wanted = left.get(fd)
                if wanted is None or got >= wanted:
                    left.pop(fd, None)
                else:
                    left[fd] = wanted - got

    @staticmethod
    def _nothing() -> list[tuple[int, int]]:
        raise TimeoutError("the server sends nothing")


def clients(pipe: Connection) -> None:
    ends = Ends()
    while True:
        match pipe.recv():
            case ("open", port, count):
                ends.open(port, count)
            case ("echo", rounds):
                ends.echo(rounds)
            case ("drain",):
                ends.drain()
        pipe.send(None)

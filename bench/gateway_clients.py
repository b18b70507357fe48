"""The clients of `bench.gateway`: raw sockets with epoll, without a parser."""

import base64
import json
import os
import select
import socket
import struct
import time
from itertools import batched
from multiprocessing.connection import Connection

PAYLOAD = b'{"id":7,"send":{"chat":"01JCQ","text":"' + b"x" * 60 + b'"}}'
_SEND_AT_ONCE = 64
_SHORT = 125


def _masked(payload: bytes) -> bytes:
    mask, size = os.urandom(4), len(payload)
    body = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
    long = size > _SHORT
    head = struct.pack("!BBH", 0x81, 0x80 | 126, size) if long else struct.pack("!BB", 0x81, 0x80 | size)
    return head + mask + body


def _request() -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET /v1/socket HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


_FRAME = _masked(PAYLOAD)
_PONG = _masked(b'{"pong":{}}')
_ECHO_BYTES = len(PAYLOAD) + 2


class Ends:
    """All clients, each with the number of bytes that it has yet to read."""

    def __init__(self) -> None:
        self._sockets: dict[int, socket.socket] = {}
        self._poll = select.epoll()

    def open(self, port: int, count: int) -> None:
        """Open connections in small groups and wait for the answers of each, so that the listen backlog does not overflow."""
        request = _request()
        for start in range(0, count, _SEND_AT_ONCE):
            group = [self._connect(port, request) for _ in range(min(_SEND_AT_ONCE, count - start))]
            for sock in group:
                self._await(sock, b"\r\n\r\n", b" 101 ")
                self._keep(sock)

    def enter(self, port: int, tokens: list[str]) -> None:
        """Open connections and authenticate each with its own token."""
        for group in batched(tokens, _SEND_AT_ONCE):
            made = [self._connect(port, _request()) for _ in group]
            for sock, token in zip(made, group, strict=True):
                self._await(sock, b"\r\n\r\n", b" 101 ")
                body = {"credential": token, "protocol": 1, "device": "bench"}
                sock.sendall(_masked(json.dumps({"id": 1, "connect": body}).encode()))
            for sock in made:
                self._await(sock, b'"resumed"', b'"ok"')
                self._keep(sock)
            self._answer(0)

    @staticmethod
    def _await(sock: socket.socket, end: bytes, wanted: bytes) -> None:
        got = b""
        while end not in got:
            if not (more := sock.recv(4_096)):
                break
            got += more
        if wanted not in got:
            raise ConnectionError(got.decode(errors="replace"))

    def _keep(self, sock: socket.socket) -> None:
        sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
        self._sockets[sock.fileno()] = sock
        self._poll.register(sock, select.EPOLLIN)

    def _connect(self, port: int, request: bytes) -> socket.socket:
        # One address has too few ports, so connections use several loopback addresses.
        sock = socket.create_connection(("127.0.0.1", port), timeout=30)
        sock.sendall(request)
        return sock

    def echo(self, rounds: int) -> None:
        for _ in range(rounds):
            for sock in self._sockets.values():
                sock.send(_FRAME)
            self._read(_ECHO_BYTES)

    def answer_heartbeats(self, seconds: float) -> None:
        ends_at = time.monotonic() + seconds
        while (left_s := ends_at - time.monotonic()) > 0:
            self._answer(left_s)

    def _answer(self, wait_s: float) -> None:
        """Answer heartbeats, which are the only frames that an idle device receives."""
        for fd, _ in self._poll.poll(wait_s):
            if not self._sockets[fd].recv(65_536):
                raise ConnectionError("The server closed an idle device.")
            self._sockets[fd].send(_PONG)

    def drain(self) -> None:
        self._read(None)

    def _read(self, size_bytes: int | None) -> None:
        """Read this number of bytes from each client; None reads one push of any size."""
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
        raise TimeoutError("The server sends no data.")


def clients(pipe: Connection) -> None:
    ends = Ends()
    while True:
        match pipe.recv():
            case ("open", port, count):
                ends.open(port, count)
            case ("enter", port, tokens):
                ends.enter(port, tokens)
            case ("echo", rounds):
                ends.echo(rounds)
            case ("idle", seconds):
                ends.answer_heartbeats(seconds)
            case ("drain",):
                ends.drain()
        pipe.send(None)

"""A WebSocket client that reads and writes bytes, and can violate the protocol."""

import asyncio
import base64
import os
import socket
import ssl
import struct
from dataclasses import dataclass
from typing import Self, final

PATH = "/v1/socket"
TEXT, BINARY, CONTINUATION, CLOSE, PING, PONG = 0x1, 0x2, 0x0, 0x8, 0x9, 0xA
_WITHIN_S = 60.0


def frame(opcode: int, payload: bytes, *, fin: bool = True, rsv: int = 0, masked: bool = True) -> bytes:
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    mask_bit = 0x80 if masked else 0
    if len(payload) < 126:
        head = struct.pack("!BB", first, mask_bit | len(payload))
    elif len(payload) < 65_536:
        head = struct.pack("!BBH", first, mask_bit | 126, len(payload))
    else:
        head = struct.pack("!BBQ", first, mask_bit | 127, len(payload))
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


def text(payload: str | bytes) -> bytes:
    return frame(TEXT, payload.encode() if isinstance(payload, str) else payload)


def close_frame(code: int, reason: str = "") -> bytes:
    return frame(CLOSE, struct.pack("!H", code) + reason.encode())


def request(*more: str, path: str = PATH, without: tuple[str, ...] = (), method: str = "GET") -> bytes:
    """Return an upgrade request. `more` are header lines, which replace those of the same name."""
    fields = {
        "Host": "gateway.test",
        "Upgrade": "websocket",
        "Connection": "keep-alive, Upgrade",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        "Sec-WebSocket-Version": "13",
    }
    replaced = {line.partition(":")[0] for line in more} | set(without)
    kept = [f"{name}: {value}" for name, value in fields.items() if name not in replaced]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *kept, *more, "", ""]).encode("latin-1")


@dataclass(frozen=True, slots=True)
class HandshakeResponse:
    status: int
    headers: dict[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class ReceivedFrame:
    opcode: int
    payload: bytes
    fin: bool = True

    @property
    def code(self) -> int:
        """The code of a close frame."""
        assert self.opcode == CLOSE, self
        return int(struct.unpack("!H", self.payload[:2])[0]) if self.payload else 1005


@final
class RawClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(
        cls, port: int, tls: ssl.SSLContext | None = None, receive_buffer_bytes: int | None = None
    ) -> Self:
        sock = socket.socket()
        if receive_buffer_bytes is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
        try:
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
        except OSError:
            sock.close()
            raise
        name = None if tls is None else "localhost"
        reader, writer = await asyncio.open_connection(
            sock=sock, ssl=tls, server_hostname=name, limit=1_000_000
        )
        return cls(reader, writer)

    @classmethod
    async def open(cls, port: int, *more: str, tls: ssl.SSLContext | None = None) -> Self:
        """Connect and upgrade."""
        client = await cls.connect(port, tls)
        answer = await client.ask(request(*more))
        assert answer.status == 101, answer
        return client

    def send(self, raw: bytes) -> None:
        self.writer.write(raw)

    async def ask(self, raw: bytes) -> HandshakeResponse:
        self.send(raw)
        return await self.answer()

    async def answer(self) -> HandshakeResponse:
        async with asyncio.timeout(_WITHIN_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
            return HandshakeResponse(int(first.split()[1]), headers, body)

    async def frame(self) -> ReceivedFrame:
        async with asyncio.timeout(_WITHIN_S):
            first, second = await self.reader.readexactly(2)
            assert not second & 0x80, "a server does not mask"
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack("!H", await self.reader.readexactly(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", await self.reader.readexactly(8))
            return ReceivedFrame(first & 0xF, await self.reader.readexactly(size), bool(first & 0x80))

    async def close_code(self) -> int:
        """Read the next frame, which must be a close, and return its code."""
        return (await self.frame()).code

    async def ended(self) -> bool:
        """Return whether the connection ends, in any way, without further bytes."""
        async with asyncio.timeout(_WITHIN_S):
            try:
                return await self.reader.read(1) == b""
            except ConnectionError:
                return True

    def hang_up(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()

"""What a client gets to see for its request: bytes, at which pace, and how it ends."""

import asyncio
import socket
import struct
from dataclasses import dataclass
from enum import Enum, auto

from faults.proxy.http_message import HEAD_END, Message

NO_LINGER = struct.pack("ii", 1, 0)


class End(Enum):
    """What becomes of the client's connection after the bytes."""

    KEEP = auto()
    CLOSE = auto()
    RESET = auto()


def cut(*, reset: bool) -> End:
    return End.RESET if reset else End.CLOSE


@dataclass(frozen=True, slots=True)
class Reply:
    """`message` is None where not a byte is sent; `sent_bytes` is how much of it is, None for all."""

    message: Message | None
    end: End = End.KEEP
    sent_bytes: int | None = None
    piece_bytes: int = 0
    pause_s: float = 0.0

    @property
    def raw(self) -> bytes:
        return b"" if self.message is None else self.message.raw[: self.sent_bytes]

    @property
    def head_bytes(self) -> int:
        return self.raw.find(HEAD_END) + len(HEAD_END)


def nothing(*, reset: bool) -> Reply:
    return Reply(None, cut(reset=reset))


async def send(reply: Reply, writer: asyncio.StreamWriter) -> bool:
    """Write it; True if the connection may carry another request. A client that left is not an error."""
    try:
        await _write(reply, writer)
    except ConnectionError:
        return False
    if reply.end is not End.KEEP:
        close(writer, reset=reply.end is End.RESET)
    return reply.end is End.KEEP


async def _write(reply: Reply, writer: asyncio.StreamWriter) -> None:
    raw = reply.raw
    size = reply.piece_bytes or len(raw) or 1
    for start in range(0, len(raw), size):
        if start:
            await asyncio.sleep(reply.pause_s)
        writer.write(raw[start : start + size])
        await writer.drain()


def close(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    """With FIN, or with RST: what a client sees when its peer was killed, or a box in between forgot about it."""
    if not reset:
        writer.close()
        return
    sock = writer.get_extra_info("socket")
    if sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    writer.transport.abort()

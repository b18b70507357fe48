"""The reply to a request: bytes, their timing, and how the connection ends."""

import asyncio
import socket
import struct
from dataclasses import dataclass
from enum import Enum, auto

from faults.proxy.http_message import HEAD_END, Message

NO_LINGER = struct.pack("ii", 1, 0)


class End(Enum):
    """What happens to the client's connection after the bytes."""

    KEEP = auto()
    CLOSE = auto()
    RESET = auto()


def cut(*, reset: bool) -> End:
    return End.RESET if reset else End.CLOSE


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply.

    `message` is None if no byte is sent; `sent_bytes` is the length of the part to send, None for all of it.
    """

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
    """Send the reply. Return whether the connection can be used again. A disconnected client is not an error."""
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
    """Close with FIN, or with RST, as a client sees it if its peer was killed or a middlebox lost the connection."""
    if not reset:
        writer.close()
        return
    sock = writer.get_extra_info("socket")
    if sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    writer.transport.abort()

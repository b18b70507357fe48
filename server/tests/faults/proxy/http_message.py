"""HTTP/1.1 messages, unchanged byte for byte: a proxy that rewrites messages would hide faults.

HTTP libraries return headers and bodies instead of the bytes, so none is used here.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

MAX_HEAD_BYTES = 256 * 1024
HEAD_END = b"\r\n\r\n"


class ProtocolError(Exception):
    """Bytes that are not HTTP/1.1, or use a feature that this proxy does not support."""


@dataclass(frozen=True, slots=True)
class Message:
    """A request or an answer."""

    raw: bytes
    start_line: bytes
    headers: Mapping[bytes, bytes]
    body: bytes
    ends_with_connection: bool = False

    @property
    def method(self) -> bytes:
        return self.start_line.partition(b" ")[0]

    @property
    def status(self) -> int:
        code = self.start_line.split(b" ", 2)[1:2]
        if not code or not code[0].isdigit():
            raise ProtocolError(f"not a status line: {self.start_line!r}")
        return int(code[0])

    @property
    def asks_to_close(self) -> bool:
        wish = self.headers.get(b"connection", b"").lower()
        if self.ends_with_connection or b"close" in wish:
            return True
        return b"HTTP/1.0" in self.start_line and b"keep-alive" not in wish


async def read_request(reader: asyncio.StreamReader) -> Message | None:
    """Read the next request. Return None if the client closed the connection, even in the middle of a request."""
    try:
        head = await _read_head(reader)
        if b"expect" in head.headers:
            raise ProtocolError("the header Expect is not supported: the proxy reads complete requests only")
        return await _with_body(reader, head)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def read_answer(reader: asyncio.StreamReader, method: bytes) -> Message:
    """Read the answer to a request of this method. Raises `IncompleteReadError` if the connection ends early."""
    head = await _read_head(reader)
    if method == b"HEAD" or head.status in (204, 304):
        return head
    if b"content-length" in head.headers or b"transfer-encoding" in head.headers:
        return await _with_body(reader, head)
    body = await reader.read(-1)
    return Message(head.raw + body, head.start_line, head.headers, body, ends_with_connection=True)


async def _read_head(reader: asyncio.StreamReader) -> Message:
    try:
        raw = await reader.readuntil(HEAD_END)
    except asyncio.LimitOverrunError as error:
        raise ProtocolError(f"headers of more than {MAX_HEAD_BYTES} bytes") from error
    start_line, *lines = raw[:-4].split(b"\r\n")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise ProtocolError(f"not a header: {line!r}")
        headers[name.lower()] = value.strip()
    return Message(raw, start_line, headers, b"")


async def _with_body(reader: asyncio.StreamReader, head: Message) -> Message:
    if b"transfer-encoding" in head.headers:
        raw, body = await _read_chunks(reader)
    else:
        raw = body = await reader.readexactly(_length(head))
    return Message(head.raw + raw, head.start_line, head.headers, body)


def _length(head: Message) -> int:
    value = head.headers.get(b"content-length", b"0")
    if not value.isdigit():
        raise ProtocolError(f"not a length: {value!r}")
    return int(value)


async def _read_chunks(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    raw: list[bytes] = []
    body: list[bytes] = []
    while True:
        line = await reader.readuntil(b"\r\n")
        size = _chunk_size(line)
        raw.append(line)
        if size == 0:
            break
        chunk = await reader.readexactly(size + 2)
        raw.append(chunk)
        body.append(chunk[:-2])
    while raw[-1] != b"\r\n":  # trailers, until the empty line
        raw.append(await reader.readuntil(b"\r\n"))
    return b"".join(raw), b"".join(body)


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    try:
        return int(digits, 16)
    except ValueError as error:
        raise ProtocolError(f"not a chunk size: {line!r}") from error


def compose(start_line: bytes, headers: Mapping[bytes, bytes], body: bytes) -> Message:
    """Build a message with a correct Content-Length."""
    named = {**headers, b"content-length": str(len(body)).encode()}
    named.pop(b"transfer-encoding", None)
    lines = [start_line, *(name + b": " + value for name, value in named.items())]
    return Message(b"\r\n".join(lines) + HEAD_END + body, start_line, named, body)

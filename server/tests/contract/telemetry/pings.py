"""The least that shows that an engine answers. The real clients' own calls will stand here."""

import asyncio
import struct
from collections.abc import Awaitable, Callable

from tidings.platform.lifecycle.probe import Ping

_API_VERSIONS = 18
_CORRELATION = 7
_SERVER_ERROR = 500


def dynamo(host: str, port: int) -> Ping:
    """Any answer that is not a server's error will do: without a signature it is a refusal, but an answer."""

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        version, status, *_ = (await reader.readline()).split(b" ")
        if version != b"HTTP/1.1" or int(status) >= _SERVER_ERROR:
            raise ConnectionError(f"answered {version!r} {status!r}")

    return _on_a_connection(host, port, ask)


def kafka(host: str, port: int) -> Ping:
    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = struct.pack(">hhih", _API_VERSIONS, 0, _CORRELATION, -1)
        writer.write(struct.pack(">i", len(request)) + request)
        _, correlation, error = struct.unpack(">iih", await reader.readexactly(10))
        if correlation != _CORRELATION or error:
            raise ConnectionError(f"answered with error {error}")

    return _on_a_connection(host, port, ask)


def redis(host: str, port: int) -> Ping:
    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"*1\r\n$4\r\nPING\r\n")
        answer = await reader.readline()
        if answer != b"+PONG\r\n":
            raise ConnectionError(f"answered {answer!r}")

    return _on_a_connection(host, port, ask)


type _Ask = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def _on_a_connection(host: str, port: int, ask: _Ask) -> Ping:
    async def ping() -> None:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            await ask(reader, writer)
        finally:
            writer.transport.abort()

    return ping

"""A local HTTP server that returns keys, or any other answer that a test sets."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class JwksServer:
    port: int = 0
    scheme: str = "http"
    body: bytes = b'{"keys": []}'
    status: str = "200 OK"
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[bytes] = field(default_factory=list)
    stalls_before: bool = False
    stalls_within: bool = False
    endless: bool = False
    hangs_up: bool = False
    sent_bytes: int = 0

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/keys"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.requests.append(await reader.readuntil(b"\r\n\r\n"))
            await self._answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        if self.hangs_up:
            return
        if self.stalls_before:
            await asyncio.Event().wait()
        head = {"Content-Type": "application/json", "Connection": "close"} | self.headers
        if not self.endless:
            head["Content-Length"] = str(len(self.body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"HTTP/1.1 {self.status}\r\n{lines}\r\n".encode())
        if self.stalls_within:
            writer.write(self.body[:5])
            await asyncio.Event().wait()
        if self.endless:
            await self._flood(writer)
        writer.write(self.body)
        await writer.drain()

    async def _flood(self, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b" " * 16_384)
            await writer.drain()
            self.sent_bytes += 16_384


@asynccontextmanager
async def jwks_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[JwksServer]:
    given = JwksServer(scheme="https" if tls else "http")
    connections: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(given.serve(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    given.port = server.sockets[0].getsockname()[1]
    try:
        yield given
    finally:
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

"""A server that gives the same answer to every request and records the requests, for tests of the proxy itself."""

import asyncio
import re
from typing import Self, final

from faults.proxy.loop_thread import LoopThread

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n{}"
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@final
class ScriptedEngine:
    """`answer` may be changed at any time; `closes` ends the connection after each answer."""

    def __init__(self, port: int = 0) -> None:
        self.answer = OK
        self.closes = False
        self.received: list[bytes] = []
        self.connections = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop_thread = LoopThread("scripted-engine")
        self._server = self._loop_thread.call(self._listen(port))
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close_connections(self) -> None:
        self._loop_thread.call(self._close())

    def stop(self) -> None:
        self._server.get_loop().call_soon_threadsafe(self._server.close)
        self._loop_thread.call(self._close())
        self._loop_thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _listen(self, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._loop_thread.serving(self._serve), "127.0.0.1", port)

    async def _close(self) -> None:
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while not writer.is_closing():
                self.received.append(await _read(reader))
                writer.write(self.answer)
                if self.closes:
                    writer.close()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


async def _read(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = LENGTH.search(head)
    return head + (await reader.readexactly(int(length[1])) if length else b"")

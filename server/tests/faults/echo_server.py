"""A TCP server that echoes the bytes that it receives, and records them."""

import asyncio
from typing import Self, final

from faults.proxy.loop_thread import LoopThread
from faults.proxy.reply import close


@final
class EchoServer:
    """An echo server. `ended` counts connections that ended, by FIN or RST."""

    def __init__(self, port: int = 0) -> None:
        self.received = b""
        self.ended = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop_thread = LoopThread("echo-server")
        self._server = self._loop_thread.call(self._listen(port))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        self._loop_thread.call(self._shut())
        self._loop_thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _listen(self, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._loop_thread.serving(self._serve), "127.0.0.1", port)

    async def _shut(self) -> None:
        self._server.close()
        for writer in self._writers:
            close(writer, reset=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while data := await reader.read(65536):
                self.received += data
                writer.write(data)
        except ConnectionError:
            pass
        finally:
            self.ended += 1
            self._writers.discard(writer)
            writer.close()

"""A door in front of an engine, to be shut (connections are refused) or made deaf (taken, never answered)."""

import asyncio
import threading
from collections.abc import Coroutine

_CHUNK_BYTES = 65_536


class Gate:
    """Runs in a thread. Its port stays the same over `shut` and `open`."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._is_deaf = False
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.open()

    def open(self) -> None:
        """Answers as the engine does."""
        self._is_deaf = False
        self._do(self._listen())

    def deafen(self) -> None:
        self._is_deaf = True

    def shut(self) -> None:
        self._do(self._close())

    def end(self) -> None:
        self.shut()
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._live())

    async def _live(self) -> None:
        self._main = asyncio.current_task()
        await self._ending.wait()

    def _do(self, work: Coroutine[object, object, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        # again and again: one that was just accepted has yet to come into `_open`
        while serving := asyncio.all_tasks() - {self._main, asyncio.current_task()}:
            for writer in self._open:
                writer.transport.abort()
            await asyncio.wait(serving, timeout=0.01)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            if self._is_deaf:
                await reader.read()
            else:
                await self._forward(reader, writer)
        except OSError:
            pass  # one of the sides went away: so does the other
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_engine, to_engine = await asyncio.open_connection("127.0.0.1", self._target_port)
        try:
            await asyncio.gather(_copy(reader, to_engine), _copy(from_engine, writer))
        finally:
            to_engine.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK_BYTES):
        writer.write(data)
        await writer.drain()
    writer.close()

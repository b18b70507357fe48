"""A TCP relay that records every byte sent to the engine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Relay:
    engine: tuple[str, int]
    port: int = 0
    sent: bytearray = field(default_factory=bytearray)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_engine, to_engine = await asyncio.open_connection(*self.engine)
        try:
            await asyncio.gather(
                self._pass(reader, to_engine, self.sent), self._pass(from_engine, writer, None)
            )
        except ConnectionError:
            pass
        finally:
            to_engine.close()
            writer.close()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray | None
    ) -> None:
        while data := await reader.read(65_536):
            if kept is not None:
                kept += data
            writer.write(data)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def relay_to(url: str) -> AsyncIterator[Relay]:
    place = urlsplit(url)
    relay = Relay((place.hostname or "", place.port or 0))
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        server.close()

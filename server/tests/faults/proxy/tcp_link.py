"""One client's connection through a `TcpProxy`: a pipe in each direction, to which the active faults apply."""

import asyncio
from typing import TYPE_CHECKING, final

from faults.proxy.reply import close
from faults.proxy.tcp_faults import Direction

if TYPE_CHECKING:
    from faults.proxy.tcp_conditions import TcpConditions

type Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

CHUNK_BYTES = 64 * 1024
CHUNKS_ON_THE_WAY = 256
PACES_PER_S = 50


@final
class Pipe:
    """Bytes in one direction: one task reads them and sets when they are due, another writes them."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        way: Direction,
        weather: "TcpConditions",
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._way = way
        self._weather = weather
        self._flow = weather.flows[way]
        self._line: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(CHUNKS_ON_THE_WAY)
        self._into_blackhole_bytes = 0
        self._waiting_bytes = 0
        self.has_hole = False

    async def take_in(self) -> None:
        loop = asyncio.get_running_loop()
        chunk = b"-"
        while chunk:
            chunk = await self._reader.read(CHUNK_BYTES)
            self._waiting_bytes += len(chunk)
            with self._weather.board:
                self._flow.taken_bytes += len(chunk)
            await self._line.put((loop.time() + self._weather.latency_s(self._way), chunk))

    async def let_out(self) -> None:
        """Write bytes when they are due, until the end of the stream was forwarded."""
        loop = asyncio.get_running_loop()
        while True:
            due, chunk = await self._line.get()
            await asyncio.sleep(max(due - loop.time(), 0))
            if not chunk:
                break
            await self._pace(chunk)
        await self._weather.until(lambda: not self.is_shut)
        self._writer.write_eof()

    @property
    def is_shut(self) -> bool:
        """Return whether the end of a connection has to wait as well."""
        return self._weather.is_frozen(self._way) or self._room_bytes() == 0

    def leave_blackhole(self) -> None:
        self._into_blackhole_bytes = 0

    def abandon(self) -> None:
        """Count the bytes that still wait when the connection ends as lost."""
        with self._weather.board:
            self._flow.lost_bytes += self._waiting_bytes
        self._waiting_bytes = 0

    async def _pace(self, chunk: bytes) -> None:
        while chunk:
            bytes_per_s = self._weather.bytes_per_s(self._way)
            size = len(chunk) if bytes_per_s is None else max(bytes_per_s // PACES_PER_S, 1)
            piece, chunk = chunk[:size], chunk[size:]
            if bytes_per_s is not None:
                await asyncio.sleep(len(piece) / bytes_per_s)
            # Race: a freeze begins while this task waits before its write. So it must not await between this check
            # and the write.
            await self._weather.until(lambda: not self._weather.is_frozen(self._way))
            self._pass_on(piece)
            await self._writer.drain()

    def _pass_on(self, piece: bytes) -> None:
        room_bytes = self._room_bytes()
        kept = piece[:room_bytes]
        if room_bytes is not None:
            self._into_blackhole_bytes += len(piece)
        self._waiting_bytes -= len(piece)
        self.has_hole = self.has_hole or kept != piece
        with self._weather.board:
            self._flow.passed_bytes += len(kept)
            self._flow.lost_bytes += len(piece) - len(kept)
        self._writer.write(kept)

    def _room_bytes(self) -> int | None:
        """Return how many bytes pass before the blackhole, or None without one."""
        depth_bytes = self._weather.blackhole_bytes(self._way)
        if depth_bytes is None:
            return None
        return max(depth_bytes - self._into_blackhole_bytes, 0)


@final
class Link:
    """A client's connection and its connection to the engine."""

    def __init__(self, client: Streams, upstream: Streams, weather: "TcpConditions") -> None:
        self._weather = weather
        self._writers = (client[1], upstream[1])
        self._pipes = (
            Pipe(client[0], upstream[1], Direction.TO_UPSTREAM, weather),
            Pipe(upstream[0], client[1], Direction.TO_CLIENT, weather),
        )
        self._task = asyncio.current_task()

    async def run(self) -> None:
        """Copy bytes until both sides have ended. If one side fails, reset the other."""
        is_broken = False
        try:
            async with asyncio.TaskGroup() as tasks:
                for pipe in self._pipes:
                    tasks.create_task(pipe.take_in())
                    tasks.create_task(pipe.let_out())
        except* OSError:
            is_broken = True
            await self._weather.until(lambda: not any(pipe.is_shut for pipe in self._pipes))
        finally:
            self._close(reset=is_broken)
            for pipe in self._pipes:
                pipe.abandon()

    def cut(self, *, reset: bool) -> None:
        self._close(reset=reset)
        if self._task is not None:
            self._task.cancel()

    def leave_blackhole(self) -> None:
        """Reset the connection if it lost bytes: a stream with a gap must not continue."""
        if any(pipe.has_hole for pipe in self._pipes):
            self.cut(reset=True)
        for pipe in self._pipes:
            pipe.leave_blackhole()

    def _close(self, *, reset: bool) -> None:
        for writer in self._writers:
            close(writer, reset=reset)

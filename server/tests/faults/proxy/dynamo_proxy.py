"""A proxy in front of an engine that speaks DynamoDB's protocol, with faults that a test puts in and takes out.

It listens on 127.0.0.1 in a thread of its own. It signs nothing, so it suits local engines, not AWS.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, final

from faults.proxy.aws_answers import refusal
from faults.proxy.calls import Call, CallLog
from faults.proxy.event_log import ProxyEventLog
from faults.proxy.fault import Fault
from faults.proxy.frequency import ALWAYS, Frequency
from faults.proxy.held_requests import HeldRequests
from faults.proxy.http_message import MAX_HEAD_BYTES, ProtocolError, read_request
from faults.proxy.installed import InstalledFault
from faults.proxy.loop_thread import LoopThread
from faults.proxy.matching import EVERYTHING, Match
from faults.proxy.pipeline import RequestPipeline
from faults.proxy.reply import close, send
from faults.proxy.upstream import Upstream


@dataclass(slots=True, eq=False)
class _Client:
    writer: asyncio.StreamWriter
    is_idle: bool = True


@final
class DynamoProxy:
    """`with DynamoProxy(engine_url) as proxy:` and give clients `proxy.url`. Thread-safe.

    `record=False` keeps counts but no `calls`, for load.
    """

    def __init__(self, upstream_url: str, *, record: bool = True) -> None:
        self._board = ProxyEventLog()
        self._log = CallLog(self._board, records=record)
        self._upstream = Upstream(upstream_url)
        self._installing = threading.Lock()
        self._clients: set[_Client] = set()
        self._loop_thread = LoopThread("dynamo-proxy")
        self._way = RequestPipeline(self._upstream, self._log, self._board, self._loop_thread)
        self._server = self._loop_thread.call(self._listen())
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def fault(self, fault: Fault, on: Match = EVERYTHING, dose: Frequency = ALWAYS) -> InstalledFault:
        """Put a fault in; it is at work when this returns, until its `remove` or the end of its `with`.

        A request meets the faults in order of installation, so a later one sits closer to the engine.
        """
        installed = InstalledFault(fault, on, dose, HeldRequests(self._loop_thread, self._board), self._board)
        with self._installing:
            still_at_work = (other for other in self._way.faults if not other.is_removed)
            self._way.faults = (*still_at_work, installed)
        return installed

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every request so far, in order of arrival."""
        return self._log.calls

    @property
    def counts(self) -> Counter[str]:
        """How many requests of each operation arrived."""
        return self._log.counts

    def forget(self) -> None:
        """Count and record from here on."""
        self._log.forget()

    def wait_until(self, condition: Callable[[], bool], *, timeout_s: float = 60) -> None:
        """Wait for something that the proxy notes: calls, their fields, hits, what is held."""
        self._board.wait(condition, timeout_s=timeout_s, what=f"the condition; calls: {self.counts}")

    async def until(self, condition: Callable[[], bool], *, timeout_s: float = 60) -> None:
        """`wait_until` for tests whose own loop has to bring it about."""
        await asyncio.to_thread(self.wait_until, condition, timeout_s=timeout_s)

    def close_idle(self, *, reset: bool = False) -> int:
        """Close every connection that waits for its client's next request; returns how many, when it is done."""
        return self._loop_thread.call(self._close_idle(reset=reset))

    def cpu_s(self) -> float:
        """CPU seconds that the proxy's thread has used."""
        return self._loop_thread.cpu_s()

    def stop(self) -> None:
        """Drop everything that is under way. Raises what failed in the proxy's thread."""
        if not self._loop_thread.loop.is_closed():
            self._loop_thread.call(self._shut())
        self._loop_thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _listen(self) -> asyncio.Server:
        serve = self._loop_thread.serving(self._serve)
        return await asyncio.start_server(serve, "127.0.0.1", 0, limit=MAX_HEAD_BYTES, backlog=1024)

    async def _shut(self) -> None:
        self._server.close()
        for client in self._clients:
            client.writer.transport.abort()
        self._upstream.close()

    async def _close_idle(self, *, reset: bool) -> int:
        idle = [client for client in self._clients if client.is_idle]
        for client in idle:
            close(client.writer, reset=reset)
        await asyncio.gather(*(client.writer.wait_closed() for client in idle), return_exceptions=True)
        return len(idle)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Client(writer)
        self._clients.add(client)
        # what was drained is then in the kernel, where a reset that follows does not take it back
        writer.transport.set_write_buffer_limits(0)
        try:
            await self._answer_all(reader, client)
        except ProtocolError as error:
            await send(refusal(str(error)), writer)
        finally:
            self._clients.discard(client)
            writer.close()

    async def _answer_all(self, reader: asyncio.StreamReader, client: _Client) -> None:
        while (message := await read_request(reader)) is not None:
            client.is_idle = False
            reply = await self._way.run(message)
            if not await send(reply, client.writer):
                return
            client.is_idle = True

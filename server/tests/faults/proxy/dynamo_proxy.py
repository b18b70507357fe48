"""A proxy in front of a DynamoDB engine, into which a test injects faults.

It listens on 127.0.0.1 in its own thread. It signs nothing, so it works with local engines and not with AWS.
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
    """Use it as `with DynamoProxy(engine_url) as proxy:` and connect clients to `proxy.url`. Thread-safe.

    `record=False` keeps counts and no `calls`, for load tests.
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
        """Inject a fault. It is active when this returns, until `remove` or the end of its `with` block.

        A request passes the faults in order of installation, so a later fault is closer to the engine.
        """
        installed = InstalledFault(fault, on, dose, HeldRequests(self._loop_thread, self._board), self._board)
        with self._installing:
            still_at_work = (other for other in self._way.faults if not other.is_removed)
            self._way.faults = (*still_at_work, installed)
        return installed

    @property
    def calls(self) -> tuple[Call, ...]:
        """Return all requests so far, in order of arrival."""
        return self._log.calls

    @property
    def counts(self) -> Counter[str]:
        """Return the number of requests by operation."""
        return self._log.counts

    def forget(self) -> None:
        """Clear counts and records."""
        self._log.forget()

    def wait_until(self, condition: Callable[[], bool], *, timeout_s: float = 60) -> None:
        """Wait for a condition on state that the proxy records: calls, their fields, hits, held requests."""
        self._board.wait(condition, timeout_s=timeout_s, what=f"the condition; calls: {self.counts}")

    async def until(self, condition: Callable[[], bool], *, timeout_s: float = 60) -> None:
        """Wait as `wait_until` does, without blocking the event loop of the test."""
        await asyncio.to_thread(self.wait_until, condition, timeout_s=timeout_s)

    def close_idle(self, *, reset: bool = False) -> int:
        """Close all connections that wait for the client's next request. Return their number after they are closed."""
        return self._loop_thread.call(self._close_idle(reset=reset))

    def cpu_s(self) -> float:
        """Return the CPU seconds used by the proxy's thread."""
        return self._loop_thread.cpu_s()

    def stop(self) -> None:
        """Drop all requests in flight. Raises the errors of the proxy's thread."""
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
        # An empty write buffer means that drained bytes are in the kernel, where a later reset does not discard them.
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

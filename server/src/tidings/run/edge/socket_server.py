"""The gateway's server as a component: listens, keeps its timers, and on stop lets the devices leave in order."""

from collections.abc import Callable
from typing import override

from tidings.gateway.drain import DrainOptions
from tidings.gateway.server import Server
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.tasks import Tasks
from tidings.platform.telemetry import logs

log = logs.get(__name__)


class SocketServer(Component):
    """`make` is called at the start, when what the server needs has been opened."""

    name = "sockets"

    def __init__(
        self, make: Callable[[], Server], leaving: DrainOptions, tasks: Tasks, *, stop_s: float
    ) -> None:
        self._make = make
        self._leaving = leaving
        self._tasks = tasks
        self.stop_s = stop_s
        self._server: Server | None = None

    @override
    async def start(self) -> None:
        server = self._make()
        await server.listener.start()
        self._server = server
        self._timing = self._tasks.spawn("gateway timers", server.keep_time())
        log.info("listening", port=server.listener.port)

    @override
    async def stop(self) -> None:
        if self._server is None:
            return
        log.info("no longer accepting", connections=len(self._server.listener.sockets))
        drained = await self._server.drain(self._leaving)
        await self._tasks.stop(self._timing)
        log.info("devices have left", told=drained.told, left=drained.left, closed=drained.closed)

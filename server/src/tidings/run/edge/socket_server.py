"""The gateway's server as a component: listens, keeps its timers, and on stop lets the devices leave in order."""

import asyncio
from asyncio import Task
from collections.abc import Callable, Iterator
from typing import override

from tidings.accounts.revocations import OnRevocations, RevocationWatch
from tidings.gateway.drain import DrainOptions
from tidings.gateway.revoking import RevocationEnforcer
from tidings.gateway.server import GatewayServer
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.memory import MallocTrimmer
from tidings.platform.lifecycle.tasks import TaskSupervisor
from tidings.platform.telemetry import logs

log = logs.get_logger(__name__)

_CHECK_EVERY_S = 5.0


class SocketServer(Component):
    """`make` is called at the start, when what the server needs has been opened."""

    name = "sockets"

    def __init__(
        self,
        make: Callable[[], GatewayServer],
        leaving: DrainOptions,
        tasks: TaskSupervisor,
        *,
        watch: Callable[[OnRevocations], RevocationWatch],
        stop_s: float,
    ) -> None:
        self._make = make
        self._watch = watch
        self._leaving = leaving
        self._tasks = tasks
        self.stop_s = stop_s
        self._server: GatewayServer | None = None

    @override
    async def start(self) -> None:
        server = self._make()
        server.start()
        await server.listener.start()
        self._server = server
        self._running = (
            self._tasks.spawn("gateway timers", server.run_timers()),
            self._tasks.spawn("gateway routes", server.run_lease_renewal()),
            self._tasks.spawn("gateway memory", _give_back(server)),
            *self._watching(server.revoking),
        )
        log.info("listening", port=server.listener.port)

    def _watching(self, revoking: RevocationEnforcer | None) -> Iterator[Task[None]]:
        if revoking is not None:
            yield self._tasks.spawn("gateway revocations", self._watch(revoking.on_revocations).run())
            yield self._tasks.spawn("gateway signing keys", _sweep(revoking))

    @override
    async def stop(self) -> None:
        if self._server is None:
            return
        log.info("no longer accepting", connections=len(self._server.listener.sockets))
        drained = await self._server.drain(self._leaving)
        await self._tasks.stop(*self._running)
        log.info("devices have left", told=drained.notified, left=drained.disconnected, closed=drained.closed)


async def _sweep(revoking: RevocationEnforcer) -> None:
    while True:
        await asyncio.sleep(_CHECK_EVERY_S)
        await revoking.sweep()


async def _give_back(server: GatewayServer) -> None:
    """After a storm: what its connections took is the machine's again."""
    memory = MallocTrimmer()
    while True:
        await asyncio.sleep(_CHECK_EVERY_S)
        memory.trim_if_idle(len(server.listener.sockets))

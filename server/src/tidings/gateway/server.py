"""The gateway of one process: a listener, a peer for each connection, their timers, and the way out.

Knows no engine and no library: both are given. `keep_time` is to be run as long as it serves.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

from tidings.gateway.calls import RequestTasks
from tidings.gateway.dispatch import HandlerDeps
from tidings.gateway.drain import Drain, DrainOptions, DrainResult
from tidings.gateway.hub import Hub, HubOptions
from tidings.gateway.node_deps import NodeDeps
from tidings.gateway.peer import Connection, ConnectionDeps
from tidings.gateway.ports import CredentialRechecker
from tidings.gateway.revoking import RevocationEnforcer
from tidings.gateway.routed import GatewayNode
from tidings.gateway.seat import ConnectedDevice
from tidings.gateway.socket.ports import ErrorReporter, Listener, OnOpen, Socket, UpgradeRequest
from tidings.gateway.timers import TimerWheel
from tidings.gateway.traffic import NoRequestMetrics, RequestMetrics, TrafficStats

TURN_S = 0.25
"""How often timers are looked at: so much later than due a ping or a close may be."""

type ListenerFactory = Callable[[OnOpen], Listener]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDeps:
    """What a gateway is given. Without `node` nothing is pushed, and without `rechecks` no socket is closed by a revocation: for tests of what a device asks. `flush_timeout_s`: how long calls that are on their way have when it stops."""

    dispatch: HandlerDeps
    make_listener: ListenerFactory
    report: ErrorReporter
    node: NodeDeps | None = None
    rechecks: CredentialRechecker | None = None
    hub: HubOptions = field(default_factory=HubOptions)
    measure: RequestMetrics = field(default_factory=NoRequestMetrics)
    flush_timeout_s: float = 2.0


@final
class GatewayServer:
    def __init__(self, given: ServerDeps) -> None:
        self._deps = given
        self.traffic = TrafficStats()
        self.calls = RequestTasks(given.measure, given.report, given.dispatch.limits.user_in_flight)
        self.listener = given.make_listener(self._open)
        self.hub: Hub[ConnectedDevice] = Hub(self.listener.send_all, self.traffic, given.hub)
        self.node = GatewayNode(given.node, self.hub, given.report) if given.node else None
        self.revoking = RevocationEnforcer(self.hub, given.rechecks) if given.rechecks else None
        self._timers: TimerWheel[Connection] = TimerWheel(TURN_S)
        self._shared = ConnectionDeps(
            dispatch=given.dispatch,
            hub=self.hub,
            timers=self._timers,
            calls=self.calls,
            traffic=self.traffic,
            now=given.dispatch.clock.monotonic,
            node=self.node,
        )

    async def run_timers(self) -> None:
        while True:
            await asyncio.sleep(TURN_S)
            for peer in self._timers.due(self._shared.now()):
                peer.on_timer()

    def start(self) -> None:
        """Before the listener: what is said to this gateway is heard from then on."""
        if self.node is not None:
            self.node.start()

    async def run_lease_renewal(self) -> None:
        if self.node is not None:
            await self.node.leases.run()

    async def drain(self, options: DrainOptions) -> DrainResult:
        """Everybody is told to leave and has the time for it; then what they asked for last is finished."""
        drained = await Drain(self.listener, self._report, options).run()
        await self.calls.wait_idle(self._deps.flush_timeout_s)
        if self.node is not None:
            await self.node.stop(self._deps.flush_timeout_s)
        return drained

    def _open(self, socket: Socket, upgrade: UpgradeRequest) -> Connection:
        return Connection(self._shared, socket, upgrade)

    def _report(self, socket: Socket, after_ms: int) -> None:
        if (peer := self._shared.peers.get(socket)) is not None:
            peer.drain(after_ms)

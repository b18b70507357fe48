"""Taking a gateway out of service: nobody new, everybody told when to reconnect, a wait, then the close.

The devices do the spreading: each is told its own moment, so the other gateways see an even stream.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import final

from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.connection import Connection, ConnectionDeps, RequestTasks
from tidings.gateway.hub import Hub, HubOptions
from tidings.gateway.node import GatewayNode
from tidings.gateway.node_deps import NodeDeps
from tidings.gateway.ports import CredentialRechecker
from tidings.gateway.request_handler import HandlerDeps
from tidings.gateway.revocations import RevocationEnforcer
from tidings.gateway.stats import NoRequestMetrics, RequestMetrics, TrafficStats
from tidings.gateway.timer_wheel import TimerWheel
from tidings.gateway.transport.ports import (
    ErrorReporter,
    Listener,
    OnOpen,
    Socket,
    SocketCloseCode,
    UpgradeRequest,
)

_NOTIFIED_PER_TURN = 256

type NotifyDrain = Callable[[Socket, int], None]
"""Sends a device the frame that asks it to reconnect in so many milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainOptions:
    """`spread_s`: over how long the devices leave. `grace_s`: how long the last ones may take."""

    spread_s: float = 10.0
    grace_s: float = 2.0
    close_code: int = SocketCloseCode.GOING_AWAY
    close_reason: str = "this gateway is going away: reconnect"


@dataclass(frozen=True, slots=True)
class DrainResult:
    """How it went: told to leave; left by themselves; had to be closed."""

    notified: int
    disconnected: int
    closed: int


def spread_delays_ms(count: int, spread_s: float, draw: Callable[[], float]) -> list[int]:
    """When each of so many leaves: evenly over the spread, each at a random place in its own slot."""
    slot_ms = spread_s * 1_000 / max(count, 1)
    return [round((number + draw()) * slot_ms) for number in range(count)]


@final
class Drain:
    """Once per listener."""

    def __init__(self, listener: Listener, notify: NotifyDrain, options: DrainOptions) -> None:
        self._listener = listener
        self._notify = notify
        self._options = options

    async def run(self) -> DrainResult:
        """Returns when no connection is left."""
        self._listener.stop_accepting()
        told = list(self._listener.sockets)
        await self._notify_all(told)
        await self._wait()
        closed = len(self._listener.sockets)
        await self._listener.close(self._options.close_code, self._options.close_reason)
        return DrainResult(notified=len(told), disconnected=len(told) - closed, closed=closed)

    async def _notify_all(self, sockets: Sequence[Socket]) -> None:
        """In random order, or those who connected last would always wait longest."""
        moments = spread_delays_ms(len(sockets), self._options.spread_s, random.random)
        random.shuffle(moments)
        for number, (socket, after_ms) in enumerate(zip(sockets, moments, strict=True)):
            self._notify(socket, after_ms)
            if number % _NOTIFIED_PER_TURN == _NOTIFIED_PER_TURN - 1:
                await asyncio.sleep(0)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._options.spread_s + self._options.grace_s):
                await self._listener.all_closed()
        except TimeoutError:
            return


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

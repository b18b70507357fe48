"""The gateway's server: its listener, its connections, and its orderly shutdown."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import final

from tidings.accounts.credentials import CredentialVerifierChain
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.connection import Connection, ConnectionDeps, OnAnswered, RequestTasks
from tidings.gateway.handlers import HandlerDeps
from tidings.gateway.hub import Hub, HubOptions, SendToAll
from tidings.gateway.node import GatewayNode
from tidings.gateway.ports import NodeDeps
from tidings.gateway.revocations import RevocationEnforcer
from tidings.gateway.stats import TrafficStats
from tidings.gateway.timer_wheel import TimerWheel
from tidings.gateway.transport.listener import WebSocketListener
from tidings.gateway.transport.ports import ErrorReporter, OnOpen, Socket, SocketCloseCode, UpgradeRequest

_NOTIFIED_PER_TURN = 256

type NotifyDrain = Callable[[Socket, int], None]
"""Send a device the frame that asks it to reconnect after this many milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainOptions:
    """`spread_s`: period over which the devices leave. `grace_s`: additional time for the last ones."""

    spread_s: float = 10.0
    grace_s: float = 2.0
    close_code: int = SocketCloseCode.GOING_AWAY
    close_reason: str = "this gateway is going away: reconnect"


@dataclass(frozen=True, slots=True)
class DrainResult:
    """Number of devices that were asked to leave, that left, and that had to be closed."""

    notified: int
    disconnected: int
    closed: int


def spread_delays_ms(count: int, spread_s: float, draw: Callable[[], float]) -> list[int]:
    """Return when each device leaves: evenly over the spread, at a random time within its own slot."""
    slot_ms = spread_s * 1_000 / max(count, 1)
    return [round((number + draw()) * slot_ms) for number in range(count)]


@final
class Drain:
    """Take one listener out of service.

    It stops accepting, asks each device to reconnect at its own time, waits, and closes the rest. Because the times are
    spread, the other gateways receive an even stream of connections.
    """

    def __init__(self, listener: WebSocketListener, notify: NotifyDrain, options: DrainOptions) -> None:
        self._listener = listener
        self._notify = notify
        self._options = options

    async def run(self) -> DrainResult:
        """Return when no connection is left."""
        self._listener.stop_accepting()
        # Race: an upgrade that is already decided, and waits for its admission, opens a socket after this line. The
        # device is not notified, and `close` below closes the socket.
        notified = list(self._listener.sockets)
        await self._notify_all(notified)
        await self._wait()
        closed = len(self._listener.sockets)
        await self._listener.close(self._options.close_code, self._options.close_reason)
        return DrainResult(notified=len(notified), disconnected=len(notified) - closed, closed=closed)

    async def _notify_all(self, sockets: Sequence[Socket]) -> None:
        """Notify in random order, so that the newest connections do not always wait longest."""
        delays = spread_delays_ms(len(sockets), self._options.spread_s, random.random)
        random.shuffle(delays)
        for number, (socket, after_ms) in enumerate(zip(sockets, delays, strict=True)):
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
"""How often timers are checked. A ping or a close may be late by this much."""

type ListenerFactory = Callable[[OnOpen], WebSocketListener]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDeps:
    """Dependencies of a gateway server.

    send_all: that of the WebSocket library that `make_listener` uses.
    flush_timeout_s: time for requests in flight when the server stops.
    """

    handlers: HandlerDeps
    make_listener: ListenerFactory
    send_all: SendToAll
    report: ErrorReporter
    node: NodeDeps
    credentials: CredentialVerifierChain
    on_answered: OnAnswered
    hub: HubOptions = field(default_factory=HubOptions)
    flush_timeout_s: float = 2.0


@final
class GatewayServer:
    def __init__(self, deps: ServerDeps) -> None:
        self._deps = deps
        self.traffic = TrafficStats()
        self.requests = RequestTasks(deps.on_answered, deps.report, deps.handlers.limits.user_in_flight)
        self.listener = deps.make_listener(self._open)
        self.hub: Hub[ConnectedDevice] = Hub(deps.send_all, self.traffic, deps.hub)
        self.node = GatewayNode(deps.node, self.hub, deps.report)
        self.revocations = RevocationEnforcer(self.hub, deps.credentials)
        self._timers: TimerWheel[Connection] = TimerWheel(TURN_S)
        self._shared = ConnectionDeps(
            handlers=deps.handlers,
            hub=self.hub,
            timers=self._timers,
            requests=self.requests,
            traffic=self.traffic,
            now=deps.handlers.clock.monotonic,
            node=self.node,
        )

    async def run_timers(self) -> None:
        while True:
            await asyncio.sleep(TURN_S)
            for connection in self._timers.due(self._shared.now()):
                connection.on_timer()

    def start(self) -> None:
        """Subscribe to the bus. Call it before the listener starts, so that no push to a device is missed."""
        self.node.start()

    async def run_lease_renewal(self) -> None:
        await self.node.leases.run()

    async def drain(self, options: DrainOptions) -> DrainResult:
        """Let all devices leave, then finish the requests in flight and stop the node."""
        self.node.is_draining = True
        # Devices first: their last requests may still need the node, and their routes are removed as they leave.
        drained = await Drain(self.listener, self._notify_drain, options).run()
        await self.requests.wait_idle(self._deps.flush_timeout_s)
        await self.node.stop(self._deps.flush_timeout_s)
        return drained

    def _open(self, socket: Socket, upgrade: UpgradeRequest) -> Connection:
        return Connection(self._shared, socket, upgrade)

    def _notify_drain(self, socket: Socket, after_ms: int) -> None:
        # Race: a device disconnects while `_notify_all` lets the event loop run between two groups of devices.
        if (connection := self._shared.connections.get(socket)) is not None:
            connection.drain(after_ms)

"""The gateway of one process: a listener, a peer for each connection, their timers, and the way out.

Knows no engine and no library: both are given. `keep_time` is to be run as long as it serves.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

from tidings.gateway.calls import Calls
from tidings.gateway.dispatch import Dispatch
from tidings.gateway.drain import Drain, Drained, DrainOptions
from tidings.gateway.hub import Hub, HubOptions
from tidings.gateway.peer import Peer, Shared
from tidings.gateway.ports import Rechecks
from tidings.gateway.revoking import Revoking
from tidings.gateway.routed import Routed, World
from tidings.gateway.seat import Seat
from tidings.gateway.socket.ports import Listener, OnOpen, Report, Socket, Upgrade
from tidings.gateway.timers import Timers
from tidings.gateway.traffic import Measure, NoMeasure, Traffic

TURN_S = 0.25
"""How often timers are looked at: so much later than due a ping or a close may be."""

type MakeListener = Callable[[OnOpen], Listener]


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What a gateway is given. Without `routed` nothing is pushed, and without `rechecks` no socket is closed by a revocation: for tests of what a device asks. `settle_s`: how long calls that are on their way have when it stops."""

    dispatch: Dispatch
    make_listener: MakeListener
    report: Report
    routed: World | None = None
    rechecks: Rechecks | None = None
    hub: HubOptions = field(default_factory=HubOptions)
    measure: Measure = field(default_factory=NoMeasure)
    settle_s: float = 2.0


@final
class Server:
    def __init__(self, given: Serving) -> None:
        self._given = given
        self.traffic = Traffic()
        self.calls = Calls(given.measure, given.report, given.dispatch.limits.user_in_flight)
        self.listener = given.make_listener(self._open)
        self.hub: Hub[Seat] = Hub(self.listener.send_all, self.traffic, given.hub)
        self.routed = Routed(given.routed, self.hub, given.report) if given.routed else None
        self.revoking = Revoking(self.hub, given.rechecks) if given.rechecks else None
        self._timers: Timers[Peer] = Timers(TURN_S)
        self._shared = Shared(
            dispatch=given.dispatch,
            hub=self.hub,
            timers=self._timers,
            calls=self.calls,
            traffic=self.traffic,
            now=given.dispatch.clock.monotonic,
            routed=self.routed,
        )

    async def keep_time(self) -> None:
        while True:
            await asyncio.sleep(TURN_S)
            for peer in self._timers.due(self._shared.now()):
                peer.tick()

    def start(self) -> None:
        """Before the listener: what is said to this gateway is heard from then on."""
        if self.routed is not None:
            self.routed.start()

    async def keep_routes(self) -> None:
        if self.routed is not None:
            await self.routed.leases.keep()

    async def drain(self, options: DrainOptions) -> Drained:
        """Everybody is told to leave and has the time for it; then what they asked for last is finished."""
        drained = await Drain(self.listener, self._tell, options).run()
        await self.calls.settled(self._given.settle_s)
        if self.routed is not None:
            await self.routed.stop(self._given.settle_s)
        return drained

    def _open(self, socket: Socket, upgrade: Upgrade) -> Peer:
        return Peer(self._shared, socket, upgrade)

    def _tell(self, socket: Socket, after_ms: int) -> None:
        if (peer := self._shared.peers.get(socket)) is not None:
            peer.drain(after_ms)

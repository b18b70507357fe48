"""The heartbeat of the routes: all of a process's devices, every few seconds. A route that is gone is made anew, and its
device resumes, because nobody knows what was pushed meanwhile.
"""

import asyncio
from collections.abc import Callable
from itertools import batched
from typing import final

from tidings.gateway.hub import Hub
from tidings.gateway.seat import ConnectedDevice
from tidings.kernel.ids import ChatId, DeviceKey
from tidings.routing.model import GatewayId
from tidings.routing.ports import ConnectionRegistry, HeldRoute
from tidings.wire.close_codes import CloseCode

_MAX_CONCURRENT_RENEWED = 2_000


@final
class LeaseRenewer:
    """`again`: has a device resume; one that has no route gets one first."""

    def __init__(
        self,
        hub: Hub[ConnectedDevice],
        routes: ConnectionRegistry,
        gateway: GatewayId,
        again: Callable[[ConnectedDevice], None],
        *,
        every_s: float,
    ) -> None:
        self._hub = hub
        self._routes = routes
        self._gateway = gateway
        self._on_lost = again
        self._every_s = every_s
        self.unheard: Callable[[ConnectedDevice, ChatId], None] = lambda _, __: None
        """Told at each heartbeat of a large chat whose channel a device still can't hear."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            await self.renew_all()

    async def renew_all(self) -> None:
        seats = list(self._hub)
        for seat in seats:
            if not seat.is_registered and seat.is_live:
                self._on_lost(seat)
            for chat in seat.unheard:
                self.unheard(seat, chat)
        held = [HeldRoute(seat.key, seat.epoch) for seat in seats if seat.is_registered]
        for some in batched(held, _MAX_CONCURRENT_RENEWED):
            await self._renew(some)

    async def _renew(self, held: tuple[HeldRoute, ...]) -> None:
        """Renew what can be renewed. A route whose shard does not answer stays as it is until the next heartbeat."""
        renewed = await self._routes.renew(self._gateway, held)
        epochs = dict(held)
        for key in renewed.lost:
            if (seat := self._same(key, epochs[key])) is not None:
                seat.is_registered = False
                self._on_lost(seat)
        for key in renewed.elsewhere:
            # which of the two sockets the device rests on is not known here: it comes back on the one that counts
            if (seat := self._same(key, epochs[key])) is not None:
                seat.connected.close(CloseCode.TRY_LATER)

    def _same(self, key: DeviceKey, epoch: int) -> ConnectedDevice | None:
        """Who has registered anew since he was asked about is another matter."""
        seat = self._hub.get(key)
        return seat if seat is not None and seat.is_registered and seat.epoch == epoch else None

"""The heartbeat of the routes: all of a process's devices, every few seconds. A route that is gone is made anew, and its
device resumes, because nobody knows what was pushed meanwhile.
"""

import asyncio
from collections.abc import Callable
from itertools import batched
from typing import final

from tidings.gateway.hub import Hub
from tidings.gateway.seat import Seat
from tidings.kernel.ids import ChatId, DeviceKey
from tidings.routing.model import GatewayId
from tidings.routing.ports import Held, Routes
from tidings.wire.close_codes import CloseCode

_RENEWED_AT_ONCE = 2_000


@final
class Leases:
    """`again`: has a device resume; one that has no route gets one first."""

    def __init__(
        self,
        hub: Hub[Seat],
        routes: Routes,
        gateway: GatewayId,
        again: Callable[[Seat], None],
        *,
        every_s: float,
    ) -> None:
        self._hub = hub
        self._routes = routes
        self._gateway = gateway
        self._again = again
        self._every_s = every_s
        self.unheard: Callable[[Seat, ChatId], None] = lambda _, __: None
        """Told at each heartbeat of a large chat whose channel a device still can't hear."""

    async def keep(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            await self.beat()

    async def beat(self) -> None:
        seats = list(self._hub)
        for seat in seats:
            if not seat.is_routed and seat.is_live:
                self._again(seat)
            for chat in seat.unheard:
                self.unheard(seat, chat)
        held = [Held(seat.key, seat.epoch) for seat in seats if seat.is_routed]
        for some in batched(held, _RENEWED_AT_ONCE):
            await self._renew(some)

    async def _renew(self, held: tuple[Held, ...]) -> None:
        """Renew what can be renewed. A route whose shard does not answer stays as it is until the next heartbeat."""
        renewed = await self._routes.renew(self._gateway, held)
        epochs = dict(held)
        for key in renewed.gone:
            if (seat := self._same(key, epochs[key])) is not None:
                seat.is_routed = False
                self._again(seat)
        for key in renewed.elsewhere:
            # which of the two sockets the device rests on is not known here: it comes back on the one that counts
            if (seat := self._same(key, epochs[key])) is not None:
                seat.connected.close(CloseCode.TRY_LATER)

    def _same(self, key: DeviceKey, epoch: int) -> Seat | None:
        """Who has registered anew since he was asked about is another matter."""
        seat = self._hub.get(key)
        return seat if seat is not None and seat.is_routed and seat.epoch == epoch else None

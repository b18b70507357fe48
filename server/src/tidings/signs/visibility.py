"""Presence for somebody who asks once; and word to those who watch, when who may see a user has changed."""

import asyncio
from collections.abc import Sequence
from typing import final

from tidings.kernel.ids import TenantId, UserId
from tidings.routing.model import Ring, Route, RoutesAwayError, by_gateway, encode
from tidings.signs.model import UNKNOWN, Hint, Presence
from tidings.signs.ports import Line, Routes
from tidings.signs.watching import Watching


@final
class Visibility:
    def __init__(self, watching: Watching, line: Line, routes: Routes) -> None:
        self._watching = watching
        self._line = line
        self._routes = routes

    async def look(self, tenant: TenantId, viewer: UserId, user: UserId) -> Presence:
        """Who may not see is told what is told of somebody of whom nothing is known; so is everybody without Redis."""
        try:
            return await self._watching.one(tenant, viewer, user)
        except RoutesAwayError:
            return UNKNOWN

    async def changed(self, tenant: TenantId, user: UserId) -> None:
        """Those who watch him judge anew; and his own devices, because who hides sees nobody. Never raises for Redis:
        whoever is not told now is when he looks again.
        """
        await self.reconsider(tenant, user)
        try:
            found = await self._routes.of(tenant, [user])
            await self._ring(tenant, user, found.found.get(user, ()))
        except RoutesAwayError:
            return

    async def reconsider(self, tenant: TenantId, user: UserId) -> None:
        """Those who watch him judge anew. Never raises for Redis."""
        try:
            await self._line.to_presence(tenant, user, Hint.RULES.encode())
        except RoutesAwayError:
            return

    async def _ring(self, tenant: TenantId, user: UserId, routes: Sequence[Route]) -> None:
        rings = {
            gateway: encode((Ring(tenant, user, devices),))
            for gateway, devices in by_gateway(user, routes).items()
        }
        await asyncio.gather(*(self._line.to_gateway(to, ring) for to, ring in rings.items()))

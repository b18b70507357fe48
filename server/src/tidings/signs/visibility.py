"""Presence for somebody who asks once; and word to those who watch, when who may see a user has changed."""

import asyncio
from collections.abc import Sequence
from typing import final

from tidings.kernel.ids import TenantId, UserId
from tidings.routing.model import (
    RegistryUnavailableError,
    ResumeSignal,
    Route,
    encode_messages,
    group_by_gateway,
)
from tidings.signs.model import UNKNOWN, Presence, PresenceHint
from tidings.signs.ports import BusPublisher, RouteLookup
from tidings.signs.watching import PresenceAccess


@final
class PresenceQuery:
    def __init__(self, watching: PresenceAccess, bus: BusPublisher, routes: RouteLookup) -> None:
        self._watching = watching
        self._bus = bus
        self._routes = routes

    async def get_presence(self, tenant: TenantId, viewer: UserId, user: UserId) -> Presence:
        """Who may not see is told what is told of somebody of whom nothing is known; so is everybody without Redis."""
        try:
            return await self._watching.one(tenant, viewer, user)
        except RegistryUnavailableError:
            return UNKNOWN

    async def changed(self, tenant: TenantId, user: UserId) -> None:
        """Those who watch him judge anew; and his own devices, because who hides sees nobody. Never raises for Redis:
        whoever is not told now is when he looks again.
        """
        await self.reconsider(tenant, user)
        try:
            found = await self._routes.look_up(tenant, [user])
            await self._signal_resume(tenant, user, found.found.get(user, ()))
        except RegistryUnavailableError:
            return

    async def reconsider(self, tenant: TenantId, user: UserId) -> None:
        """Those who watch him judge anew. Never raises for Redis."""
        try:
            await self._bus.publish_presence(tenant, user, PresenceHint.RULES.encode())
        except RegistryUnavailableError:
            return

    async def _signal_resume(self, tenant: TenantId, user: UserId, routes: Sequence[Route]) -> None:
        rings = {
            gateway: encode_messages((ResumeSignal(tenant, user, devices),))
            for gateway, devices in group_by_gateway(user, routes).items()
        }
        await asyncio.gather(*(self._bus.publish_to_gateway(to, ring) for to, ring in rings.items()))

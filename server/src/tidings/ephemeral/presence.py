"""Whose presence a user may see: of those with whom he shares a chat now, who do not block him and do not hide.

Who hides sees nobody either. What it costs is in `docs/explanation/ephemeral-events.md`.
"""

import asyncio
from collections.abc import Collection, Container, Sequence
from typing import Final, final

from tidings.bus.model import ResumeSignal, encode_messages, group_by_gateway
from tidings.chats.model import direct_chat_key
from tidings.connections.model import Route
from tidings.ephemeral.model import UNKNOWN, Presence, PresenceHint
from tidings.ephemeral.ports import BusPublisher, PresenceStore, RouteLookup, VisibilityReader
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatId, TenantId, UserId

_MAX_CONCURRENT_QUERIES: Final = 8


@final
class PresenceAccess:
    def __init__(self, visibility: VisibilityReader, presences: PresenceStore) -> None:
        self._visibility = visibility
        self._presences = presences

    async def visible(
        self, tenant: TenantId, viewer: UserId, chats: Container[ChatId], users: Collection[UserId]
    ) -> set[UserId]:
        """`chats`: those of the viewer, as he is told. Himself he always sees."""
        others = set(users) - {viewer}
        oneself = {viewer} & set(users)
        hidden = await self._visibility.hidden(tenant, {viewer, *others}) if others else set()
        if viewer in hidden or not (others := others - hidden):
            return oneself
        others -= await self._visibility.blockers(tenant, others, viewer)
        known = {other for other in others if direct_chat_key(tenant, viewer, other).chat in chats}
        return oneself | known | await self._sharing(tenant, chats, others - known)

    async def one(self, tenant: TenantId, viewer: UserId, user: UserId) -> Presence:
        """For somebody who asks once. Who may not see is told what is told of somebody unknown."""
        mine = await self._visibility.chats_of(tenant, viewer)
        if user not in await self.visible(tenant, viewer, mine, [user]):
            return UNKNOWN
        return (await self._presences.read(tenant, [user]))[user].presence

    async def _sharing(
        self, tenant: TenantId, chats: Container[ChatId], users: Collection[UserId]
    ) -> set[UserId]:
        """Those with whom there is no direct chat: one Query each, of their rows."""
        ordered = sorted(users)
        reads = (self._visibility.chats_of(tenant, user) for user in ordered)
        theirs = await gather_limited(reads, _MAX_CONCURRENT_QUERIES)
        return {user for user, own in zip(ordered, theirs, strict=True) if any(c in chats for c in own)}


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
        except UnavailableError:
            return UNKNOWN

    async def changed(self, tenant: TenantId, user: UserId) -> None:
        """Those who watch him judge anew; and his own devices, because who hides sees nobody. Never raises for Redis:
        whoever is not told now is when he looks again.
        """
        await self.reconsider(tenant, user)
        try:
            found = await self._routes.look_up(tenant, [user])
            await self._signal_resume(tenant, user, found.found.get(user, ()))
        except UnavailableError:
            return

    async def reconsider(self, tenant: TenantId, user: UserId) -> None:
        """Those who watch him judge anew. Never raises for Redis."""
        try:
            await self._bus.publish_presence(tenant, user, PresenceHint.RULES.encode())
        except UnavailableError:
            return

    async def _signal_resume(self, tenant: TenantId, user: UserId, routes: Sequence[Route]) -> None:
        rings = {
            gateway: encode_messages((ResumeSignal(tenant, user, devices),))
            for gateway, devices in group_by_gateway(user, routes).items()
        }
        await asyncio.gather(*(self._bus.publish_to_gateway(to, ring) for to, ring in rings.items()))

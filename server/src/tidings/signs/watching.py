"""Whose presence a user may see: of those with whom he shares a chat now, who do not block him and do not hide.

Who hides sees nobody either. What it costs is in `docs/explanation/signs.md`.
"""

import asyncio
from collections.abc import Collection, Container
from itertools import batched
from typing import Final, final

from tidings.chats.model import direct_chat_key
from tidings.kernel.ids import ChatId, TenantId, UserId
from tidings.signs.model import UNKNOWN, Presence
from tidings.signs.ports import PresenceStore, VisibilityReader

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
        found: set[UserId] = set()
        for some in batched(sorted(users), _MAX_CONCURRENT_QUERIES):
            theirs = await asyncio.gather(*(self._visibility.chats_of(tenant, user) for user in some))
            found |= {user for user, his in zip(some, theirs, strict=True) if any(c in chats for c in his)}
        return found

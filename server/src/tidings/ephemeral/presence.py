"""Decide whose presence a user may see and what watchers are shown, and notify watchers when that changes.

A viewer sees users who share a chat with them, do not block them and do not hide. A viewer who hides sees no other
user. `docs/explanation/ephemeral-events.md` explains the cost.
"""

import asyncio
from collections.abc import Collection, Container, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, final

from tidings.bus.model import ResumeSignal, encode_messages, group_by_gateway
from tidings.bus.ports import BusPublisher
from tidings.chats.model import direct_chat_key
from tidings.connections.model import Route, RouteLookup
from tidings.ephemeral.model import (
    UNKNOWN,
    Presence,
    PresenceHint,
    PresenceRecord,
    PresenceStatus,
    PresenceStore,
    VisibilityReader,
)
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
        """Return the users that the viewer may see; `chats` are the viewer's own. Viewers see themselves."""
        others = set(users) - {viewer}
        oneself = {viewer} & set(users)
        hidden = await self._visibility.hidden(tenant, {viewer, *others}) if others else set()
        if viewer in hidden or not (others := others - hidden):
            return oneself
        others -= await self._visibility.blockers(tenant, others, viewer)
        direct = {other for other in others if direct_chat_key(tenant, viewer, other).chat in chats}
        return oneself | direct | await self._in_shared_chats(tenant, chats, others - direct)

    async def read_one(self, tenant: TenantId, viewer: UserId, user: UserId) -> Presence:
        """Read the presence of a user, or `UNKNOWN` if the viewer may not see it. Raises `UnavailableError`."""
        chats = await self._visibility.chats_of(tenant, viewer)
        if user not in await self.visible(tenant, viewer, chats, [user]):
            return UNKNOWN
        return (await self._presences.read(tenant, [user]))[user].presence

    async def _in_shared_chats(
        self, tenant: TenantId, chats: Container[ChatId], users: Collection[UserId]
    ) -> set[UserId]:
        """Return the users who are in one of `chats`, with one Query per user."""
        ordered = sorted(users)
        reads = (self._visibility.chats_of(tenant, user) for user in ordered)
        found = await gather_limited(reads, _MAX_CONCURRENT_QUERIES)
        return {user for user, own in zip(ordered, found, strict=True) if any(chat in chats for chat in own)}


@final
class PresenceQuery:
    """Presence for the REST API. Its methods never raise `UnavailableError`."""

    def __init__(self, access: PresenceAccess, bus: BusPublisher, routes: RouteLookup) -> None:
        self._access = access
        self._bus = bus
        self._routes = routes

    async def get_presence(self, tenant: TenantId, viewer: UserId, user: UserId) -> Presence:
        """Read the presence of a user, or `UNKNOWN` if the viewer may not see it or Redis does not answer."""
        try:
            return await self._access.read_one(tenant, viewer, user)
        except UnavailableError:
            return UNKNOWN

    async def changed(self, tenant: TenantId, user: UserId) -> None:
        """Apply a changed visibility: watchers check their access again, and the user's own devices resume.

        The devices resume because a user who hides sees no other user. Without Redis, the change applies when a device
        subscribes the next time.
        """
        await self.reconsider(tenant, user)
        with suppress(UnavailableError):
            found = await self._routes.look_up(tenant, [user])
            await self._signal_resume(tenant, user, found.found.get(user, ()))

    async def reconsider(self, tenant: TenantId, user: UserId) -> None:
        """Make all watchers of the user check their access again."""
        with suppress(UnavailableError):
            await self._bus.publish_presence(tenant, user, PresenceHint.RULES.encode())

    async def _signal_resume(self, tenant: TenantId, user: UserId, routes: Sequence[Route]) -> None:
        signals = {
            gateway: encode_messages((ResumeSignal(tenant, user, devices),))
            for gateway, devices in group_by_gateway(user, routes).items()
        }
        await asyncio.gather(*(self._bus.publish_to_gateway(*signal) for signal in signals.items()))


class WatchedPresence(NamedTuple):
    """The presence that watchers see. `absent_since`: the user has no route, and `shown` stays until the grace period ends."""

    shown: Presence | None = None
    absent_since: float | None = None


ARRIVED = WatchedPresence(Presence(PresenceStatus.ONLINE))
"""A device has just connected."""


def next_presence(
    before: WatchedPresence, found: PresenceRecord, now: float, grace_s: float
) -> WatchedPresence:
    """Return the presence to show. A user is shown as offline after `grace_s` without a route: most reconnect sooner."""
    if found.presence.status is not PresenceStatus.OFFLINE:
        return WatchedPresence(found.presence)
    if before.shown is None:
        return _first(found, now, grace_s)
    if before.shown.status is PresenceStatus.OFFLINE:
        return WatchedPresence(found.presence)
    since = now if before.absent_since is None else before.absent_since
    return WatchedPresence(found.presence) if now - since >= grace_s else WatchedPresence(before.shown, since)


def _first(found: PresenceRecord, now: float, grace_s: float) -> WatchedPresence:
    """Return the presence for the first watcher: the same as a longer watcher would see."""
    absent_s = grace_s if found.disconnected_ms is None else found.disconnected_ms / 1000
    return (
        WatchedPresence(found.presence)
        if absent_s >= grace_s
        else WatchedPresence(Presence(PresenceStatus.ONLINE), now - absent_s)
    )


def has_changed(before: WatchedPresence, after: WatchedPresence) -> bool:
    """Report whether the status changed. A new `seen_ms` alone is no change."""
    return after.shown is not None and (before.shown is None or before.shown.status is not after.shown.status)

"""Joins signs with the stores: who tells of gains, and what a gateway reads for devices that look."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from tidings.accounts.store.users import DynamoUserReader
from tidings.chats.store import DynamoRows
from tidings.delivery.rules import is_member
from tidings.gateway.signs.desk import SignOptions, SignWorld
from tidings.kernel.clock import Clock
from tidings.kernel.epoch import Epoch, first_epoch
from tidings.kernel.ids import ChatId, TenantId, UserId
from tidings.platform.dynamo.client import Client
from tidings.platform.lifecycle.run import Host
from tidings.platform.redis.client import Redis
from tidings.platform.telemetry import logs
from tidings.routing.store import RedisLine, RedisPresence, RedisRoutes
from tidings.run.chat_lists import join_lists, join_watermarks
from tidings.run.held import Held
from tidings.run.settings import Settings
from tidings.signs.own_rows import OwnRows
from tidings.signs.telling import Telling
from tidings.signs.visibility import Visibility
from tidings.signs.watching import Watching
from tidings.signs.whole import Whole

log = logs.get(__name__)

_NO_LEASE_S = 1.0
"""Who tells takes none."""
_SETTLE_S = 1.0


class Acquaintances:
    """Who may see whom, out of the rows of users, blocks and chats."""

    def __init__(self, client: Client, clock: Clock, epoch: Epoch = first_epoch) -> None:
        self._users = DynamoUserReader(client)
        self._rows = DynamoRows(client, clock)
        self._lists = join_lists(client, epoch)

    async def hidden(self, tenant: TenantId, users: Collection[UserId]) -> set[UserId]:
        """Of a user without a row of his own nothing is known, so nothing is hidden either."""
        found = await self._users.confirm_many(tenant, users)
        return {user for user, row in found.items() if row.last_seen == "nobody"}

    async def blockers(self, tenant: TenantId, users: Collection[UserId], whom: UserId) -> set[UserId]:
        return await self._rows.blockers(tenant, users, whom)

    async def chats_of(self, tenant: TenantId, user: UserId) -> set[ChatId]:
        rows = await self._lists.rows(tenant, user)
        return {row.chat for row in rows if is_member(row.known)}


def watching(client: Client, redis: Redis, clock: Clock, epoch: Epoch) -> Watching:
    return Watching(Acquaintances(client, clock, epoch), RedisPresence(redis))


def visibility(client: Client, redis: Redis, clock: Clock, epoch: Epoch) -> Visibility:
    line, routes = RedisLine(redis), RedisRoutes(redis, lease_s=_NO_LEASE_S)
    return Visibility(watching(client, redis, clock, epoch), line, routes)


def own_rows(redis: Redis) -> OwnRows:
    return OwnRows(RedisLine(redis), RedisRoutes(redis, lease_s=_NO_LEASE_S))


def telling(settings: Settings, redis: Held[Redis], host: Host) -> Held[Telling]:
    """For every process in which people get further. Declared before what raises watermarks, so that it stops after it."""
    return Held("receipts", lambda: _opened(settings, redis.it, host))


@asynccontextmanager
async def _opened(settings: Settings, redis: Redis, host: Host) -> AsyncIterator[Telling]:
    made = _telling(settings, redis, host)
    try:
        yield made
    finally:
        await made.settled(_SETTLE_S)


def _telling(settings: Settings, redis: Redis, host: Host) -> Telling:
    routes = RedisRoutes(redis, lease_s=_NO_LEASE_S)
    made = Telling(RedisLine(redis), routes, within_s=settings.signs.receipts_within_s, report=_report)
    told = made.told
    host.metrics.tallies(
        "receipts_total",
        "Watermarks that rose; words about them to chats and to users' own devices; those that Redis did not take.",
        "what",
        lambda: {"gains": told.gains, "words": told.words, "own": told.own, "lost": told.lost},
    )
    return made


def sign_world(settings: Settings, client: Client, redis: Redis, clock: Clock, epoch: Epoch) -> SignWorld:
    given = settings.signs
    return SignWorld(
        line=RedisLine(redis),
        whole=Whole(DynamoRows(client, clock), join_watermarks(client, clock, epoch)),
        presences=RedisPresence(redis),
        seeing=watching(client, redis, clock, epoch),
        options=SignOptions(
            receipts_within_s=given.receipts_within_s,
            subscriptions=given.max_subscriptions,
            hold_s=given.presence_hold_s,
            look_every_s=settings.gateway.lease_s,
        ),
    )


def _report(what: str, error: BaseException) -> None:
    log.error(what, exc_info=error)

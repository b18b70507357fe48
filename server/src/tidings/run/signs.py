"""Joins signs with the stores: who tells of gains, and what a gateway reads for devices that look."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from tidings.accounts.store.users import DynamoUserReader
from tidings.chats.store import DynamoChatStore
from tidings.delivery.rules import is_member
from tidings.gateway.signs.desk import EphemeralDeps, EphemeralOptions
from tidings.kernel.clock import Clock
from tidings.kernel.epoch import Epoch, initial_epoch
from tidings.kernel.ids import ChatId, TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.redis.client import RedisClient
from tidings.platform.telemetry import logs
from tidings.routing.store import RedisBus, RedisConnectionRegistry, RedisPresenceStore
from tidings.run.chat_lists import build_chat_row_reader, build_watermark_store
from tidings.run.held import ManagedResource
from tidings.run.settings import Settings
from tidings.signs.own_rows import ChatRowNotifier
from tidings.signs.telling import ReceiptPublisher
from tidings.signs.visibility import PresenceQuery
from tidings.signs.watching import PresenceAccess
from tidings.signs.whole import ReceiptSnapshotReader

log = logs.get_logger(__name__)

_NO_LEASE_S = 1.0
"""Who tells takes none."""
_SETTLE_S = 1.0


class VisibilityStore:
    """Who may see whom, out of the rows of users, blocks and chats."""

    def __init__(self, client: DynamoClient, clock: Clock, epoch: Epoch = initial_epoch) -> None:
        self._users = DynamoUserReader(client)
        self._rows = DynamoChatStore(client, clock)
        self._lists = build_chat_row_reader(client, epoch)

    async def hidden(self, tenant: TenantId, users: Collection[UserId]) -> set[UserId]:
        """Of a user without a row of his own nothing is known, so nothing is hidden either."""
        found = await self._users.confirm_many(tenant, users)
        return {user for user, row in found.items() if row.last_seen == "nobody"}

    async def blockers(self, tenant: TenantId, users: Collection[UserId], whom: UserId) -> set[UserId]:
        return await self._rows.blockers(tenant, users, whom)

    async def chats_of(self, tenant: TenantId, user: UserId) -> set[ChatId]:
        rows = await self._lists.rows(tenant, user)
        return {row.chat for row in rows if is_member(row.known)}


def make_presence_access(
    client: DynamoClient, redis: RedisClient, clock: Clock, epoch: Epoch
) -> PresenceAccess:
    return PresenceAccess(VisibilityStore(client, clock, epoch), RedisPresenceStore(redis))


def make_presence_query(
    client: DynamoClient, redis: RedisClient, clock: Clock, epoch: Epoch
) -> PresenceQuery:
    line, routes = RedisBus(redis), RedisConnectionRegistry(redis, lease_s=_NO_LEASE_S)
    return PresenceQuery(make_presence_access(client, redis, clock, epoch), line, routes)


def make_chat_row_notifier(redis: RedisClient) -> ChatRowNotifier:
    return ChatRowNotifier(RedisBus(redis), RedisConnectionRegistry(redis, lease_s=_NO_LEASE_S))


def make_receipt_publisher(
    settings: Settings, redis: ManagedResource[RedisClient], host: ProcessContext
) -> ManagedResource[ReceiptPublisher]:
    """For every process in which people get further. Declared before what raises watermarks, so that it stops after it."""
    return ManagedResource("receipts", lambda: _opened(settings, redis.value, host))


@asynccontextmanager
async def _opened(
    settings: Settings, redis: RedisClient, host: ProcessContext
) -> AsyncIterator[ReceiptPublisher]:
    made = _telling(settings, redis, host)
    try:
        yield made
    finally:
        await made.wait_idle(_SETTLE_S)


def _telling(settings: Settings, redis: RedisClient, host: ProcessContext) -> ReceiptPublisher:
    routes = RedisConnectionRegistry(redis, lease_s=_NO_LEASE_S)
    made = ReceiptPublisher(
        RedisBus(redis), routes, within_s=settings.signs.receipts_within_s, on_error=_report
    )
    told = made.stats
    host.metrics.counter_callbacks(
        "receipts_total",
        "Watermarks that rose; words about them to chats and to users' own devices; those that Redis did not take.",
        "what",
        lambda: {
            "gains": told.advances,
            "words": told.published,
            "own": told.own_devices,
            "lost": told.dropped,
        },
    )
    return made


def make_ephemeral_deps(
    settings: Settings, client: DynamoClient, redis: RedisClient, clock: Clock, epoch: Epoch
) -> EphemeralDeps:
    given = settings.signs
    return EphemeralDeps(
        bus=RedisBus(redis),
        whole=ReceiptSnapshotReader(
            DynamoChatStore(client, clock), build_watermark_store(client, clock, epoch)
        ),
        presences=RedisPresenceStore(redis),
        seeing=make_presence_access(client, redis, clock, epoch),
        options=EphemeralOptions(
            receipts_within_s=given.receipts_within_s,
            subscriptions=given.max_subscriptions,
            presence_grace_s=given.presence_hold_s,
            presence_refresh_s=settings.gateway.lease_s,
        ),
    )


def _report(what: str, error: BaseException) -> None:
    log.error(what, exc_info=error)

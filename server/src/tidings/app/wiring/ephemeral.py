"""Wire presence, typing and receipts."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from tidings.accounts.store.users import DynamoUserReader
from tidings.app.settings import Settings
from tidings.app.wiring.chats import build_chat_row_reader, build_chat_store, build_watermark_store
from tidings.app.wiring.engine_clients import EngineComponents
from tidings.app.wiring.webhook_events import PresenceEvents
from tidings.bus.store import RedisBus
from tidings.connections.store import RedisConnectionRegistry
from tidings.delivery.rules import is_member
from tidings.ephemeral.presence import PresenceAccess, PresenceQuery
from tidings.ephemeral.receipts import ChatRowNotifier, ReceiptPublisher, ReceiptSnapshotReader
from tidings.ephemeral.store import RedisPresenceStore
from tidings.gateway.ephemeral.service import EphemeralDeps, EphemeralOptions
from tidings.kernel.clock import Clock
from tidings.kernel.ids import ChatId, Epoch, TenantId, UserId, initial_epoch
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.lifecycle.component import ManagedResource
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.redis.client import RedisClient
from tidings.platform.telemetry import logs

log = logs.get_logger(__name__)

_NO_LEASE_S = 1.0  # a publisher takes no lease
_SETTLE_S = 1.0


class VisibilityStore:
    """Decide which users may see each other, from the rows of users, blocks and chats."""

    def __init__(self, client: DynamoClient, clock: Clock, epoch: Epoch = initial_epoch) -> None:
        self._users = DynamoUserReader(client)
        self._rows = build_chat_store(client, clock, epoch)
        self._lists = build_chat_row_reader(client, epoch)

    async def hidden(self, tenant: TenantId, users: Collection[UserId]) -> set[UserId]:
        """Return the users who hide their last seen time. A user without a row hides nothing."""
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
    made = _receipt_publisher(settings, redis, host)
    try:
        yield made
    finally:
        await made.wait_idle(_SETTLE_S)


def _receipt_publisher(settings: Settings, redis: RedisClient, host: ProcessContext) -> ReceiptPublisher:
    routes = RedisConnectionRegistry(redis, lease_s=_NO_LEASE_S)
    made = ReceiptPublisher(
        RedisBus(redis), routes, within_s=settings.ephemeral.receipt_flush_s, on_error=_report
    )
    stats = made.stats
    host.metrics.counter_callbacks(
        "receipts_total",
        "Watermark advances; receipts published to chats and to the user's own devices; receipts that Redis did not "
        "accept.",
        "what",
        lambda: {
            "advances": stats.advances,
            "published": stats.published,
            "own_devices": stats.own_devices,
            "dropped": stats.dropped,
        },
    )
    return made


def make_ephemeral_deps(settings: Settings, engines: EngineComponents, clock: Clock) -> EphemeralDeps:
    given, client, redis = settings.ephemeral, engines.dynamo.value, engines.redis.value
    epoch = engines.epoch
    return EphemeralDeps(
        bus=RedisBus(redis),
        snapshots=ReceiptSnapshotReader(
            build_chat_store(client, clock, epoch), build_watermark_store(client, clock, epoch).rows_now
        ),
        presences=RedisPresenceStore(redis),
        access=make_presence_access(client, redis, clock, epoch),
        options=EphemeralOptions(
            receipt_flush_s=given.receipt_flush_s,
            subscriptions=given.max_subscriptions,
            presence_grace_s=given.presence_grace_s,
            presence_refresh_s=settings.gateway.lease_s,
        ),
        on_presence=PresenceEvents(
            RedisPresenceStore(redis), engines.events.value, given.presence_grace_s
        ).report,
    )


def _report(what: str, error: BaseException) -> None:
    log.error(what, exc_info=error)

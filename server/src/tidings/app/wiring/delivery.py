"""Kafka's publisher as a component, and what goes through it. It never gates readiness: sends are acked without it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from tidings.app.settings import Settings
from tidings.app.wiring.chats import (
    build_chat_row_reader,
    build_chat_store,
    build_past_log,
    build_row_projector,
    build_watermark_store,
)
from tidings.app.wiring.engine_clients import make_user_key_ring, open_key_ring, read_epoch
from tidings.app.wiring.media import make_delete_uploads
from tidings.app.wiring.message_traces import MessageTraces, TracedCommitPublisher
from tidings.app.wiring.options import dynamo_endpoint, kafka_config
from tidings.bus.ports import BusPublisher
from tidings.bus.store import RedisBus
from tidings.chats.model import ChatType, chat_type
from tidings.chats.queries import DirectChatCache
from tidings.connections.model import OfflineStatus, RouteLookup
from tidings.connections.store import RedisConnectionRegistry
from tidings.delivery.audience import CachedAudience, StoredAudience
from tidings.delivery.fanout import Fanout
from tidings.delivery.mentions import MentionChecks, MessageText
from tidings.delivery.model import ChatRow, DeliveryStats
from tidings.delivery.offline import OfflineQueueRedactor
from tidings.delivery.offline_checker import (
    OfflineChecker,
    OfflineCheckerDeps,
    OfflineCheckStats,
)
from tidings.delivery.ports import AudienceReader, DeleteUploads, DeliveryCheckpoints, OfflineCheckPublisher
from tidings.delivery.rules import highest_sequence
from tidings.delivery.store import DynamoOfflineQueue, KafkaOfflineChecks, KafkaOfflineEvents
from tidings.delivery.store.checkpoints import RedisDeliveryCheckpoints
from tidings.delivery.unfinished_redactions import UnfinishedRedactions
from tidings.delivery.worker import DeliveryWorker, WorkerDeps
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import ChatKey, Epoch, TenantId, initial_epoch
from tidings.messages import sender
from tidings.messages.model import Entry
from tidings.messages.ports import KeyProvider
from tidings.messages.store import DynamoEditStore, DynamoLogReader, KafkaCommitPublisher
from tidings.messages.store.entry_items import entry_from_item
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.component import Health, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.redis.client import RedisClient
from tidings.relay import rules
from tidings.relay.repair import Repair
from tidings.relay.store import DynamoRepairReader
from tidings.relay.store.publisher import KafkaEventPublisher
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore
from tidings.tenants.user_keys import UserKeyRing

CLOSE_S = 1.0
"""How long a stopping process waits for unsent events; the relay publishes the rest again."""


def publisher_component(settings: Settings, host: ProcessContext) -> ManagedResource[KafkaPublisher]:
    """Build the publisher. List it before components that commit: it then stops after them and publishes their events."""
    since = host.clock.now()

    def look(it: KafkaPublisher) -> Health:
        how = it.health()
        return Health(how.is_ok, how.reason, since)

    return ManagedResource("publisher", lambda: open_publisher(settings), look=look, gates_readiness=False)


@asynccontextmanager
async def open_publisher(settings: Settings) -> AsyncIterator[KafkaPublisher]:
    made = KafkaPublisher(kafka_config(settings))
    try:
        yield made
    finally:
        await made.close(CLOSE_S)


def make_on_commit(
    publisher: KafkaPublisher, host: ProcessContext, traces: MessageTraces | None = None
) -> KafkaCommitPublisher:
    if traces is None:
        made = KafkaCommitPublisher(publisher)
    else:
        made = TracedCommitPublisher(publisher)
        made.traces = traces
    host.metrics.counter_callbacks(
        "events_published_total",
        "Appends published to Kafka: acknowledged, or left to the relay.",
        "outcome",
        lambda: {"ok": made.published, "failed": made.failed},
    )
    return made


_NO_LEASE_S = 1.0
"""A worker takes no lease."""


@dataclass(frozen=True, slots=True)
class RedisPorts:
    """The ports of a worker that Redis implements."""

    routes: RouteLookup
    bus: BusPublisher
    checkpoints: DeliveryCheckpoints


def redis_ports(redis: RedisClient) -> RedisPorts:
    return RedisPorts(
        RedisConnectionRegistry(redis, lease_s=_NO_LEASE_S), RedisBus(redis), RedisDeliveryCheckpoints(redis)
    )


def build_worker(
    client: DynamoClient,
    keys: KeyProvider,
    clock: Clock,
    *,
    wiring: RedisPorts,
    offline_checks: OfflineCheckPublisher,
    failpoints: Failpoints = NO_FAILPOINTS,
    counts: DeliveryStats,
    epoch: Epoch = initial_epoch,
    traces: Mapping[ChatKey, tuple[str, ...]] | None = None,
    delete_uploads: DeleteUploads | None = None,
) -> DeliveryWorker:
    log, queue = DynamoLogReader(client), DynamoOfflineQueue(client, clock)
    audience = CachedAudience(StoredAudience(DirectChatCache(build_chat_store(client, clock, epoch))))
    deps = WorkerDeps(
        rows=build_row_projector(client, keys, audience, epoch),
        audience=audience,
        log=log,
        redactor=_build_redactor(client, clock, audience, delete_uploads),
        checkpoints=wiring.checkpoints,
        fanout=Fanout(
            wiring.routes,
            wiring.bus,
            queue,
            offline_checks,
            stats=counts,
            failpoints=failpoints,
            mentions=MentionChecks(keys, message_text, offline_checks),
            traces=traces,
        ),
    )
    return DeliveryWorker(deps, stats=counts, failpoints=failpoints)


def make_offline_checks(publisher: KafkaPublisher, host: ProcessContext) -> KafkaOfflineChecks:
    made = KafkaOfflineChecks(publisher, host.clock)
    host.metrics.counter_callbacks(
        "offline_checks_published_total",
        "Checks of users who may be offline: accepted by Kafka, or lost.",
        "outcome",
        lambda: {"ok": made.published, "failed": made.failed},
    )
    return made


def build_offline_checker(
    client: DynamoClient,
    keys: UserKeyRing,
    clock: Clock,
    *,
    status: OfflineStatus,
    checks: OfflineCheckPublisher,
    publisher: KafkaPublisher,
    stats: OfflineCheckStats,
    epoch: Epoch = initial_epoch,
) -> OfflineChecker:
    tenants = TenantReader(DynamoTenantStore(client, AuthenticatedRows(keys.tenants)), clock)

    async def shows_previews(tenant: TenantId) -> bool:
        found = await tenants.find(tenant)
        return found is not None and found.settings.push.has_previews

    deps = OfflineCheckerDeps(
        status=status,
        rows=build_chat_row_reader(client, epoch),
        rows_of=build_watermark_store(client, clock, epoch).rows_now,
        log=DynamoLogReader(client),
        keys=keys,
        checks=checks,
        publish=KafkaOfflineEvents(publisher).publish,
        read_text=message_text,
        shows_previews=shows_previews,
        clock=clock,
    )
    return OfflineChecker(deps, stats)


def message_text(body: bytes) -> MessageText:
    read = sender.decode_content(body)
    return MessageText(sender.preview_text(read), read.mentions)


_CLOSE_S = 30.0


class RepairTools(NamedTuple):
    repair: Repair
    reader: DynamoRepairReader


@asynccontextmanager
async def open_repair(settings: Settings) -> AsyncIterator[RepairTools]:
    wanted, clock = settings.dynamo, SystemClock()
    async with (
        open_client(dynamo_endpoint(settings), wanted.region, wanted.table_prefix) as client,
        open_key_ring(settings, client, clock) as keys,
    ):
        publisher = KafkaPublisher(kafka_config(settings))
        epoch = await read_epoch(client, clock)
        books = RowRepairReader(client, epoch)
        audience = StoredAudience(build_chat_store(client, clock, epoch))
        rows = build_row_projector(
            client,
            make_user_key_ring(settings, client, keys, clock),
            audience,
            epoch,
        )
        log, edits = DynamoLogReader(client), DynamoEditStore(client)
        redactor = _build_redactor(client, clock, audience, make_delete_uploads(settings, publisher))
        redactions = UnfinishedRedactions(build_past_log(client, clock, epoch), log, edits, redactor)
        try:
            yield RepairTools(Repair(books, rows.handle, KafkaEventPublisher(publisher), redactions), books)
        finally:
            await publisher.close(_CLOSE_S)


def _build_redactor(
    client: DynamoClient, clock: Clock, audience: AudienceReader, delete_uploads: DeleteUploads | None
) -> OfflineQueueRedactor:
    clear_reactions = DynamoEditStore(client).clear_reactions
    return OfflineQueueRedactor(
        DynamoOfflineQueue(client, clock), audience, DynamoLogReader(client), clear_reactions, delete_uploads
    )


class RowRepairReader(DynamoRepairReader):
    """A chat's rows: both of a direct chat; of a group its head, and the rows that show each member's last join or leave."""

    def __init__(self, client: DynamoClient, epoch: Epoch) -> None:
        super().__init__(client)
        clock = SystemClock()
        self._chats = build_chat_store(client, clock, epoch)
        # Trusted unchanged: the repair must find rows of another epoch, and handling an entry reconciles them.
        self._rows = build_watermark_store(client, clock)
        self._heads = build_chat_row_reader(client)

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        return [entry_from_item(item) for item in await self.items(chat, after, up_to)]

    async def row_progress(self, chat: ChatKey, head: int) -> int:
        members = await self._chats.members(chat)
        rows = await self._rows.rows_of(chat, [member.user for member in members])
        if chat_type(chat.chat) is ChatType.DIRECT:
            had = {user: _row_position(row, head) for user, row in rows.items()}
            each = [rules.row_progress(member.intervals, had.get(member.user, 0), head) for member in members]
        else:
            each = [rules.named_progress(m.intervals, _named(rows.get(m.user)), head) for m in members]
            each.append(await self._head_progress(chat, head))
        return min(each, default=head)

    async def _head_progress(self, chat: ChatKey, head: int) -> int:
        found = (await self._heads.heads(chat.tenant, [chat.chat])).get(chat.chat)
        return 0 if found is None else _row_position(ChatRow(chat=chat.chat, known=found), head)


def _named(row: ChatRow | None) -> int:
    """Return the last join or leave of a row."""
    if row is None:
        return 0
    joined, removed = row.known.joined, row.known.removed
    return max(joined.sequence if joined else 0, removed or 0)


def _row_position(row: ChatRow, head: int) -> int:
    """Return the last sequence of a row. A row ahead of its log counts as behind: handling the last entry fixes it."""
    if highest_sequence(row) > head:
        return head - 1
    return row.known.head.sequence if row.known.head is not None else 0

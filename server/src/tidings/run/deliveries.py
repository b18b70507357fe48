"""Joins the delivery worker with the stores, the routes and Kafka."""

from dataclasses import dataclass

import msgspec

from tidings.chats.directs import DirectChatCache
from tidings.chats.store import DynamoChatStore
from tidings.delivery.audience import CachedAudience, StoredAudience
from tidings.delivery.counts import DeliveryStats
from tidings.delivery.ports import (
    BusPublisher,
    DeliveryCheckpoints,
    DeliveryKeys,
    OfflineNotifier,
    RouteLookup,
)
from tidings.delivery.reaching import Fanout
from tidings.delivery.store import DynamoOfflineQueue, KafkaOfflineEvents
from tidings.delivery.unreached import MessageText, OfflineEventPublisher
from tidings.delivery.withdrawing import OfflineQueueRedactor
from tidings.delivery.worker import DeliveryWorker, WorkerDeps
from tidings.kernel.clock import Clock
from tidings.kernel.epoch import Epoch, initial_epoch
from tidings.kernel.ids import TenantId
from tidings.kernel.pauses import NO_PAUSES, Failpoints
from tidings.messages import content, events
from tidings.messages.events import CommittedEvent
from tidings.messages.store import DynamoLogReader, DynamoReactionWriter
from tidings.platform.dynamo.authentic import AuthenticatedRows
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.kafka.errors import UndecodableError
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.kafka.records import Record
from tidings.platform.redis.client import RedisClient
from tidings.routing.store import RedisBus, RedisConnectionRegistry, RedisDeliveryCheckpoints
from tidings.run.chat_lists import build_chat_row_reader, build_row_projector
from tidings.tables.items.chat import chat_key
from tidings.tables.keys import KeyPartError
from tidings.tenants.keys import KeyRing
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore

_NO_LEASE_S = 1.0
"""Who delivers takes none."""


@dataclass(frozen=True, slots=True)
class RedisPorts:
    """What a worker finds in Redis."""

    routes: RouteLookup
    bus: BusPublisher
    checkpoints: DeliveryCheckpoints


def redis_ports(redis: RedisClient) -> RedisPorts:
    return RedisPorts(
        RedisConnectionRegistry(redis, lease_s=_NO_LEASE_S), RedisBus(redis), RedisDeliveryCheckpoints(redis)
    )


def build_worker(
    client: DynamoClient,
    keys: DeliveryKeys,
    clock: Clock,
    *,
    wiring: RedisPorts,
    away: OfflineNotifier,
    failpoints: Failpoints = NO_PAUSES,
    counts: DeliveryStats,
    epoch: Epoch = initial_epoch,
) -> DeliveryWorker:
    log, pending = DynamoLogReader(client), DynamoOfflineQueue(client, clock)
    audience = CachedAudience(StoredAudience(DirectChatCache(DynamoChatStore(client, clock))))
    stores = WorkerDeps(
        rows=build_row_projector(client, keys, audience, epoch),
        audience=audience,
        log=log,
        withdrawing=OfflineQueueRedactor(pending, audience, log, DynamoReactionWriter(client)),
        checkpoints=wiring.checkpoints,
    )
    reaching = Fanout(wiring.routes, wiring.bus, pending, away, counts=counts, failpoints=failpoints)
    return DeliveryWorker(stores, reaching, counts=counts, failpoints=failpoints)


def build_offline_events(
    client: DynamoClient, keys: KeyRing, clock: Clock, publisher: KafkaPublisher, epoch: Epoch = initial_epoch
) -> OfflineEventPublisher:
    wishes = TenantPushPreferences(TenantReader(DynamoTenantStore(client, AuthenticatedRows(keys)), clock))
    return OfflineEventPublisher(
        build_chat_row_reader(client, epoch),
        keys,
        KafkaOfflineEvents(publisher),
        read=message_text,
        wishes=wishes,
        clock=clock,
    )


class TenantPushPreferences:
    def __init__(self, tenants: TenantReader) -> None:
        self._tenants = tenants

    async def shows_previews(self, tenant: TenantId, /) -> bool:
        found = await self._tenants.find(tenant)
        return found is not None and found.settings.push.has_previews


def message_text(body: bytes) -> MessageText:
    read = content.decode_content(body)
    return MessageText(read.text, read.mentions)


def decode_committed(record: Record) -> CommittedEvent:
    """An event that a worker could do nothing with is as undecodable as one that is no event."""
    try:
        event = events.decode_event(record.value or b"")
        chat_key(event.key)
    except (msgspec.DecodeError, KeyPartError) as error:
        raise UndecodableError(str(error), record) from error
    sequences = [entry.sequence for entry in event.entries]
    if not sequences or sequences != list(range(sequences[0], sequences[0] + len(sequences))):
        raise UndecodableError(f"entries without order, or none: {sequences[:10]}", record)
    return event

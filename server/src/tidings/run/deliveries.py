"""Joins the delivery worker with the stores, the routes and Kafka."""

from dataclasses import dataclass

import msgspec

from tidings.chats.directs import Directs
from tidings.chats.store import DynamoRows
from tidings.delivery.audience import KeptAudience, ReadAudience
from tidings.delivery.counts import Counts
from tidings.delivery.ports import Keys, Line, Marks, Routes, UserAway
from tidings.delivery.reaching import Reaching
from tidings.delivery.store import DynamoPending, KafkaUnreached
from tidings.delivery.unreached import Said, Unreached
from tidings.delivery.withdrawing import Withdrawing
from tidings.delivery.worker import Stores, Worker
from tidings.kernel.clock import Clock
from tidings.kernel.epoch import Epoch, first_epoch
from tidings.kernel.ids import TenantId
from tidings.kernel.pauses import NO_PAUSES, Pauses
from tidings.messages import content, events
from tidings.messages.events import Committed
from tidings.messages.store import DynamoReactions, DynamoReader
from tidings.platform.dynamo.authentic import AuthenticRows
from tidings.platform.dynamo.client import Client
from tidings.platform.kafka.errors import UndecodableError
from tidings.platform.kafka.publisher import Publisher
from tidings.platform.kafka.records import Record
from tidings.platform.redis.client import Redis
from tidings.routing.store import RedisLine, RedisMarks, RedisRoutes
from tidings.run.chat_lists import join_lists, join_rows
from tidings.tables.items.chat import chat_key
from tidings.tables.keys import KeyPartError
from tidings.tenants.keys import KeyRing
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore

_NO_LEASE_S = 1.0
"""Who delivers takes none."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a worker finds in Redis."""

    routes: Routes
    line: Line
    marks: Marks


def wiring_in(redis: Redis) -> Wiring:
    return Wiring(RedisRoutes(redis, lease_s=_NO_LEASE_S), RedisLine(redis), RedisMarks(redis))


def join_worker(
    client: Client,
    keys: Keys,
    clock: Clock,
    *,
    wiring: Wiring,
    away: UserAway,
    pauses: Pauses = NO_PAUSES,
    counts: Counts,
    epoch: Epoch = first_epoch,
) -> Worker:
    log, pending = DynamoReader(client), DynamoPending(client, clock)
    audience = KeptAudience(ReadAudience(Directs(DynamoRows(client, clock))))
    stores = Stores(
        rows=join_rows(client, keys, audience, epoch),
        audience=audience,
        log=log,
        withdrawing=Withdrawing(pending, audience, log, DynamoReactions(client)),
        marks=wiring.marks,
    )
    reaching = Reaching(wiring.routes, wiring.line, pending, away, counts=counts, pauses=pauses)
    return Worker(stores, reaching, counts=counts, pauses=pauses)


def join_unreached(
    client: Client, keys: KeyRing, clock: Clock, publisher: Publisher, epoch: Epoch = first_epoch
) -> Unreached:
    wishes = TenantWishes(TenantReader(DynamoTenantStore(client, AuthenticRows(keys)), clock))
    return Unreached(
        join_lists(client, epoch), keys, KafkaUnreached(publisher), read=said, wishes=wishes, clock=clock
    )


class TenantWishes:
    def __init__(self, tenants: TenantReader) -> None:
        self._tenants = tenants

    async def shows_previews(self, tenant: TenantId, /) -> bool:
        found = await self._tenants.find(tenant)
        return found is not None and found.settings.push.has_previews


def said(body: bytes) -> Said:
    read = content.decode(body)
    return Said(read.text, read.mentions)


def decode(record: Record) -> Committed:
    """An event that a worker could do nothing with is as undecodable as one that is no event."""
    try:
        event = events.decode(record.value or b"")
        chat_key(event.key)
    except (msgspec.DecodeError, KeyPartError) as error:
        raise UndecodableError(str(error), record) from error
    sequences = [entry.sequence for entry in event.entries]
    if not sequences or sequences != list(range(sequences[0], sequences[0] + len(sequences))):
        raise UndecodableError(f"entries without order, or none: {sequences[:10]}", record)
    return event

"""Wire the trace of a message, and what support looks up: messages by time, chats and presence of a user."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass

import msgspec

from tidings.app.processes.delivery import GROUP
from tidings.app.settings import Settings
from tidings.app.wiring.chats import build_chat_store, build_epoch_reconciler
from tidings.app.wiring.engine_clients import read_epoch
from tidings.app.wiring.options import dynamo_endpoint, kafka_config, redis_options
from tidings.bus.store import RedisBus
from tidings.chats.items import chat_from_item
from tidings.connections.model import GatewayId, LookupResult, Route
from tidings.connections.store import RedisConnectionRegistry
from tidings.delivery.store import DynamoChatRowReader, DynamoOfflineQueue, DynamoWatermarkStore
from tidings.delivery.store.checkpoints import RedisDeliveryCheckpoints
from tidings.ephemeral.model import Presence
from tidings.ephemeral.store import RedisPresenceStore
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.fences import PartitionProgress
from tidings.kernel.ids import ChatKey, Epoch, TenantId, UserId, initial_epoch
from tidings.messages import model
from tidings.messages.store import DynamoLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.kafka.consumer import KafkaConsumerLag
from tidings.platform.redis.client import RedisClient
from tidings.push.store.results import DynamoResultStore
from tidings.schema.tables.model import KeyPartError
from tidings.schema.topics.model import MESSAGES
from tidings.trace.collector import EvidenceCollector, connected_devices
from tidings.trace.lookup import MessageFinder, UserChatFinder
from tidings.trace.model import DeviceRoute, FoundEvent, Trace
from tidings.trace.rules import build_trace
from tidings.trace.store import KafkaEventFinder


@dataclass(frozen=True, slots=True)
class SupportLookup:
    messages: MessageFinder
    chats: UserChatFinder
    settings: Settings

    async def presence(self, tenant: TenantId, user: UserId) -> Presence | None:
        """Ask Redis; None if none is set, or if it does not answer."""
        if self.settings.redis.url is None:
            return None
        redis = await RedisClient.connect(redis_options(self.settings), wait=False)
        try:
            found = await RedisPresenceStore(redis).read(tenant, [user])
        except UnavailableError:
            return None
        finally:
            await redis.close()
        return found[user].presence


def build_support_lookup(settings: Settings, client: DynamoClient, clock: Clock) -> SupportLookup:
    """Build the look-up. It shows the rows as they are stored."""
    reader, rows = DynamoLogReader(client), build_chat_store(client, clock, initial_epoch)
    chats = UserChatFinder(rows.chats_of, rows.names, reader)
    return SupportLookup(MessageFinder(reader), chats, settings)


BUILDS = (dynamo_endpoint, kafka_config, redis_options)
_NO_LEASE_S = 1.0


@dataclass(frozen=True, slots=True)
class TraceSearch:
    collector: EvidenceCollector
    client: DynamoClient

    def cost(self) -> dict[str, tuple[int, float]]:
        """Return the calls and read units so far, by access pattern."""
        found: dict[str, dict[str, float]] = {}
        for count in self.client.ledger:
            found.setdefault(count.pattern, {})[count.name] = count.value
        return {name: (int(each["calls"]), each["read_units"]) for name, each in found.items()}


@asynccontextmanager
async def open_trace_search(settings: Settings, clock: Clock) -> AsyncIterator[TraceSearch]:
    wanted = settings.dynamo
    redis = await RedisClient.connect(redis_options(settings), wait=False)
    try:
        async with open_client(dynamo_endpoint(settings), wanted.region, wanted.table_prefix) as client:
            with closing(_Events(settings)) as topic:
                epoch = await read_epoch(client, clock)
                yield TraceSearch(_find(client, _RedisState(redis), topic, clock, epoch), client)
    finally:
        await redis.close()


@asynccontextmanager
async def open_trace_services(
    settings: Settings, client: DynamoClient, redis: RedisClient, clock: Clock, epoch: Epoch
) -> AsyncIterator["TraceServices"]:
    """Open the trace for a process, on its own clients."""
    state = _RedisState(redis)
    with closing(_Events(settings)) as topic:
        yield TraceServices(_find(client, state, topic, clock, epoch), state)


@dataclass(frozen=True, slots=True)
class TraceServices:
    collector: EvidenceCollector
    redis: "_RedisState"

    async def trace(self, tenant: TenantId, name: str, users: Sequence[UserId]) -> Trace:
        try:
            return build_trace(await self.collector.collect(tenant, name, users))
        except KeyPartError as error:
            raise TidingsError(Code.REQUEST_INVALID, f"Not a valid id: {error}") from error

    async def devices(self, tenant: TenantId, user: UserId) -> Sequence[DeviceRoute]:
        routes = (await self.redis.routes(tenant, [user])).get(user, ())
        subscribed = await self.redis.subscribed({each.gateway for each in routes})
        return connected_devices(routes, subscribed)


def _find(
    client: DynamoClient, redis: "_RedisState", topic: "_Events", clock: Clock, epoch: Epoch
) -> EvidenceCollector:
    settling = build_epoch_reconciler(client, epoch, is_read_only=True)
    return EvidenceCollector(
        DynamoLogReader(client),
        build_chat_store(client, clock, epoch, is_read_only=True),
        read_rows=DynamoWatermarkStore(client, clock, settling).rows_and_times,
        heads=DynamoChatRowReader(client, settling, chat_from_item),
        read_queue=DynamoOfflineQueue(client, clock).queued_for,
        read_pushes=DynamoResultStore(client).of_message,
        redis=redis,
        events=topic,
        clock=clock,
        event_kept_s=MESSAGES.retention_s,
    )


class _RedisState:
    def __init__(self, redis: RedisClient) -> None:
        self._checkpoints, self._bus = RedisDeliveryCheckpoints(redis), RedisBus(redis)
        self._routes = RedisConnectionRegistry(redis, lease_s=_NO_LEASE_S)
        self._presence = RedisPresenceStore(redis)

    async def checkpoint(self, chat: ChatKey) -> int | None:
        return _all(await self._checkpoints.read([chat])).get(chat)

    async def routes(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, Sequence[Route]]:
        return _all(await self._routes.look_up(tenant, users))

    async def last_seen(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, int]:
        found = await self._presence.read(tenant, users)
        return {
            user: each.presence.seen_ms for user, each in found.items() if each.presence.seen_ms is not None
        }

    async def subscribed(self, gateways: Collection[GatewayId]) -> set[GatewayId]:
        return {each for each in sorted(gateways) if await self._bus.has_subscriber(each)}


class _Events:
    def __init__(self, settings: Settings) -> None:
        connection = kafka_config(settings)
        self._events = KafkaEventFinder(connection, topic=MESSAGES.name, carries=_carries)
        self._consumers = KafkaConsumerLag(
            connection, topic=MESSAGES.name, group=GROUP, key_of=model.partition_key
        )

    def close(self) -> None:
        self._consumers.close()

    async def progress(self, chat: ChatKey) -> PartitionProgress:
        reached = (await self._consumers.progress([chat])).get(chat)
        if reached is None:
            raise UnavailableError("Kafka: the partition of this chat is unavailable")
        return reached

    async def find(
        self, chat: ChatKey, sequence: int, partition: int, since_ms: int
    ) -> tuple[FoundEvent | None, int]:
        return await self._events.find(chat, sequence, partition, since_ms)


def _carries(chat: ChatKey, sequence: int, value: bytes) -> bool:
    try:
        event = model.decode_event(value)
    except msgspec.DecodeError:
        return False
    return event.key == chat and any(entry.sequence == sequence for entry in event.entries)


def _all[K, V](answers: LookupResult[K, V]) -> Mapping[K, V]:
    if answers.unknown:
        raise UnavailableError(f"Redis: {answers.failure}")
    return answers.found

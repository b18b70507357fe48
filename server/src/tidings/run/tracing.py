"""Joins the search for a message with the engines. Everything is opened for reading alone."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass

import msgspec

from tidings.chats.model import Chat, Membership, Part
from tidings.chats.store import DynamoRows
from tidings.chats.store.shelf import DynamoShelf
from tidings.delivery.store import DynamoLists, DynamoPending, DynamoWatermarks
from tidings.kernel.clock import Clock
from tidings.kernel.fences import ConsumersAwayError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages import events
from tidings.messages.store import DynamoReader
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.opening import open_client
from tidings.platform.kafka.consumers import KafkaConsumers
from tidings.platform.redis.client import Redis
from tidings.routing.model import Answers, GatewayId, Route, RoutesAwayError
from tidings.routing.store import RedisLine, RedisMarks, RedisPresence, RedisRoutes
from tidings.run.chat_lists import join_settling
from tidings.run.delivery import GROUP
from tidings.run.installation.row import Row as InstallationRow
from tidings.run.options import dynamo_endpoint, kafka_connection, redis_options
from tidings.run.settings import Settings
from tidings.topics.declaration import MESSAGES
from tidings.whereabouts.find import Find
from tidings.whereabouts.model import Event
from tidings.whereabouts.ports import AwayError, Stretch
from tidings.whereabouts.store import KafkaEvents

BUILDS = (dynamo_endpoint, kafka_connection, redis_options)
_NO_LEASE_S = 1.0


@dataclass(frozen=True, slots=True)
class Search:
    find: Find
    client: Client

    def cost(self) -> dict[str, tuple[int, float]]:
        """Calls and read units so far, by access pattern."""
        found: dict[str, dict[str, float]] = {}
        for count in self.client.ledger:
            found.setdefault(count.pattern, {})[count.name] = count.value
        return {name: (int(each["calls"]), each["read_units"]) for name, each in found.items()}


@asynccontextmanager
async def open_search(settings: Settings, clock: Clock) -> AsyncIterator[Search]:
    wanted = settings.dynamo
    redis = await Redis.connect(redis_options(settings), wait=False)
    try:
        async with open_client(dynamo_endpoint(settings), wanted.region, wanted.table_prefix) as client:
            with closing(_Events(settings)) as topic:
                installed = await InstallationRow(client, clock).read()
                epoch = installed.epoch if installed is not None else 0
                yield Search(_find(client, _Places(redis), topic, clock, epoch), client)
    finally:
        await redis.close()


def _find(client: Client, places: "_Places", topic: "_Events", clock: Clock, epoch: int) -> Find:
    settling = join_settling(client, lambda: epoch, is_read_only=True)
    return Find(
        DynamoReader(client),
        _Chats(client, clock),
        rows=DynamoWatermarks(client, clock, settling),
        heads=DynamoLists(client, settling),
        queues=DynamoPending(client, clock),
        places=places,
        events=topic,
        clock=clock,
        event_kept_s=MESSAGES.retention_s,
    )


class _Chats:
    """Strong, unlike what people are shown: a chat that was made a moment ago is looked for first of all."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._rows = DynamoRows(client, clock)
        self._shelf = DynamoShelf(client, self._rows)

    async def chat(self, chat: ChatKey) -> Chat | None:
        return await self._rows.chat(chat)

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None:
        return await self._rows.membership(chat, user)

    async def members(self, chat: ChatKey, after: UserId | None, limit: int) -> Part[Membership]:
        return await self._shelf.members(chat, after, limit)


class _Places:
    def __init__(self, redis: Redis) -> None:
        self._marks, self._line = RedisMarks(redis), RedisLine(redis)
        self._routes = RedisRoutes(redis, lease_s=_NO_LEASE_S)
        self._presence = RedisPresence(redis)

    async def mark(self, chat: ChatKey) -> int | None:
        return _all(await self._marks.of([chat])).get(chat)

    async def routes(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, Sequence[Route]]:
        return _all(await self._routes.of(tenant, users))

    async def last_seen(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, int]:
        with _redis_away():
            found = await self._presence.of(tenant, users)
        return {
            user: each.presence.seen_ms for user, each in found.items() if each.presence.seen_ms is not None
        }

    async def listening(self, gateways: Collection[GatewayId]) -> set[GatewayId]:
        with _redis_away():
            return {each for each in sorted(gateways) if await self._line.is_heard(each)}


class _Events:
    def __init__(self, settings: Settings) -> None:
        connection = kafka_connection(settings)
        self._events = KafkaEvents(connection, topic=MESSAGES.name, carries=_carries)
        self._consumers = KafkaConsumers(
            connection, topic=MESSAGES.name, group=GROUP, key_of=events.kafka_key
        )

    def close(self) -> None:
        self._consumers.close()

    async def stretch(self, chat: ChatKey) -> Stretch:
        try:
            reached = (await self._consumers.reached([chat])).get(chat)
        except ConsumersAwayError as error:
            raise AwayError(str(error)) from error
        if reached is None:
            raise AwayError("Kafka: the partition of this chat could not be asked")
        return Stretch(*reached)

    async def find(
        self, chat: ChatKey, sequence: int, partition: int, since_ms: int
    ) -> tuple[Event | None, int]:
        return await self._events.find(chat, sequence, partition, since_ms)


def _carries(chat: ChatKey, sequence: int, value: bytes) -> bool:
    try:
        event = events.decode(value)
    except msgspec.DecodeError:
        return False
    return event.key == chat and any(entry.sequence == sequence for entry in event.entries)


def _all[K, V](answers: Answers[K, V]) -> Mapping[K, V]:
    if answers.unknown:
        raise AwayError(f"Redis: {answers.why}")
    return answers.found


@contextmanager
def _redis_away() -> Iterator[None]:
    try:
        yield
    except RoutesAwayError as error:
        raise AwayError(f"Redis: {error}") from error

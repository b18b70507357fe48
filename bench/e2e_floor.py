"""Measure the CPU of the engine calls that a direct message needs, without Tidings around them.

For each message: one script for the rate limit, one PutItem and one record; then two UpdateItem, two look-ups, one publish
to a subscribed channel and one checkpoint. The clients are those of the product. Sockets of users, encryption and all
rules are missing, so no implementation with these clients can need less.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from confluent_kafka.admin import AdminClient, NewTopic
from fixtures.installation_processes import InstallationProcesses

from tidings.connections.store import LOOK_UP
from tidings.delivery.store.checkpoints import ADVANCE_CHECKPOINT, CHECKPOINT_TTL_S
from tidings.kernel.concurrency import gather_limited
from tidings.limits.store import TAKE
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.consumer import KafkaConsumer
from tidings.platform.kafka.partition_worker import RecordHandlers
from tidings.platform.kafka.publisher import KafkaPublisher, dead_letter_to
from tidings.platform.kafka.records import Batch, Record
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.keys import Key
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.pubsub import ChannelEvent, ChannelMessage
from tidings.schema.tables.patterns import delivery as delivery_patterns
from tidings.schema.tables.patterns import messages as chat_patterns
from tidings.schema.topics.model import MESSAGES_DEAD

_CONTENT = bytes(160)
_RECORD = bytes(400)
_TENANT = _TOPIC = "floor"
_PARTITIONS = 12


@dataclass
class Calls:
    """The calls of one message. `delivered` has the messages whose push has not arrived yet."""

    dynamo: DynamoClient
    redis: RedisClient
    publisher: KafkaPublisher
    chat: str = field(default_factory=lambda: secrets.token_hex(8))
    delivered: dict[bytes, asyncio.Future[None]] = field(default_factory=dict)

    def key(self, name: str, kind: str) -> Key:
        return self.redis.keys.key(_TENANT, name, kind)

    async def send(self, pair: int, sequence: int) -> None:
        """Do what the gateway of the sender does, and wait for the push."""
        name = b"%d#%d" % (pair, sequence)
        arrived = self.delivered[name] = asyncio.get_running_loop().create_future()
        await self.redis.run(TAKE, [self.key(f"user{pair}", "limit")], 10**12, 10**6, 10**6)
        item = {
            "chat_id": f"{_TENANT}#{self.chat}-{pair}",
            "sequence": sequence,
            "ordinal": sequence,
            "kind": "message",
            "sender_id": f"user{pair}",
            "client_message_id": secrets.token_hex(16),
            "fingerprint": bytes(32),
            "created_at": "2026-11-18T02:11:21.957Z",
            "content": _CONTENT,
        }
        await self.dynamo.put(
            chat_patterns.APPEND, item, condition="attribute_not_exists(chat_id)", repeatable=True
        )
        await self.publisher.send(_TOPIC, b"%d" % pair, name.ljust(len(_RECORD)))
        await arrived

    async def deliver(self, batch: Batch[bytes]) -> None:
        """Do what the worker does."""
        names = [event.body for event in batch.events]
        await gather_limited(self._raise(name, side) for name in names for side in "ab")
        await gather_limited(
            self.redis.run(LOOK_UP, [self.key(f"{name.decode()}{side}", "routes")])
            for name in names
            for side in "ab"
        )
        await self.redis.publish(self.key("gateway", "push"), b" ".join(names))
        await gather_limited(
            self.redis.run(ADVANCE_CHECKPOINT, [self.key(name.decode(), "handled")], 1, 1, CHECKPOINT_TTL_S)
            for name in names
        )

    async def _raise(self, name: bytes, side: str) -> None:
        pair, _, sequence = name.decode().partition("#")
        await self.dynamo.update(
            delivery_patterns.RAISE_ROW,
            {"user_id": f"{_TENANT}#{side}{pair}", "chat_id": f"{_TENANT}#{self.chat}-{pair}"},
            "SET #s = :s, #o = :s, #t = :t, #u = :u, #p = :p",
            condition="(attribute_not_exists(#s) OR #s < :s)",
            names={
                "#s": "last_sequence",
                "#o": "last_ordinal",
                "#t": "last_at",
                "#u": "last_sender",
                "#p": "last_preview",
            },
            values={":s": int(sequence), ":t": 1_790_000_000_000, ":u": f"user{pair}", ":p": _CONTENT},
            repeatable=True,
        )

    def on_push(self, event: ChannelEvent) -> None:
        if isinstance(event, ChannelMessage):
            for name in event.payload.split():
                if not (arrived := self.delivered.pop(name)).done():
                    arrived.set_result(None)


def _decode(record: Record) -> bytes:
    return (record.value or b"").rstrip()


@asynccontextmanager
async def _calls(env: InstallationProcesses) -> AsyncIterator[Calls]:
    kafka = KafkaConfig(bootstrap_servers=env.kafka, topic_prefix=env.space.topic_prefix)
    with AdminClient(kafka.admin_config()) as admin:
        name = kafka.topic(_TOPIC)
        admin.create_topics([NewTopic(name, _PARTITIONS, 1)])[name].result(20)
    publisher = KafkaPublisher(kafka)
    redis = await RedisClient.connect(RedisOptions.from_url(env.redis_url))
    async with env.use_cases() as use_cases:
        calls = Calls(use_cases.client, redis, publisher)
        work = RecordHandlers(_decode, calls.deliver, dead_letter_to(publisher, MESSAGES_DEAD.name))
        consumer = KafkaConsumer(kafka, work, group=_TOPIC, topics=[_TOPIC])
        running = asyncio.create_task(consumer.run())
        subscription = await redis.subscribe(calls.key("gateway", "push"), calls.on_push)
        try:
            yield calls
        finally:
            subscription.close()
            consumer.stop()
            await running
            await publisher.close()
            await redis.close()


async def floor_us(env: InstallationProcesses, pairs: int, seconds: float) -> float:
    """Return the CPU of this process per message, with as many messages in flight as there are pairs."""
    async with _calls(env) as calls:
        loop, sent = asyncio.get_running_loop(), 0

        async def ping_pong(pair: int, numbers: Iterator[int], until: float) -> None:
            nonlocal sent
            while loop.time() < until:
                await calls.send(pair, next(numbers))
                sent += 1

        sequences = [count(1) for _ in range(pairs)]

        async def run(within_s: float) -> None:
            until = loop.time() + within_s
            await asyncio.gather(*(ping_pong(pair, sequences[pair], until) for pair in range(pairs)))

        await run(3)
        sent, before = 0, time.process_time()
        await run(seconds)
        return (time.process_time() - before) / max(1, sent) * 1e6

"""Shared code of the Kafka contract tests: topics, reading a whole log, a consumer that records its work."""

import asyncio
import contextlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from confluent_kafka import Consumer as RawConsumer
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.consumer import ConsumerTuning, KafkaConsumer
from tidings.platform.kafka.consumer_thread import ReaderTuning
from tidings.platform.kafka.errors import NotAcceptedError, RejectedError, UnknownOutcomeError
from tidings.platform.kafka.partition_worker import PartitionWorkerOptions, RecordHandlers
from tidings.platform.kafka.publisher import DeadLetterPublisher, KafkaPublisher
from tidings.platform.kafka.records import Batch, Record, RecordDecoder

GROUP = "workers"
TOPIC = "messages"

QUICK = ConsumerTuning(
    worker=PartitionWorkerOptions(
        max_batch_records=50, max_queued_records=100, first_retry_s=0.02, max_retry_s=0.1
    ),
    reader=ReaderTuning(lot_records=100, commit_every_s=0.02, drain_s=2),
    survey_every_s=0.2,
)


async def eventually(what: Callable[[], object], within_s: float = 120) -> None:
    async with asyncio.timeout(within_s):
        while not what():  # noqa: ASYNC110 - the condition depends on a broker
            await asyncio.sleep(0.02)


_FAULTS = ThreadPoolExecutor(1, "faults")


async def meanwhile[**P](fault: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Run a fault in a thread that stays alive: an engine ends with the thread that started it."""
    await asyncio.get_running_loop().run_in_executor(_FAULTS, partial(fault, *args, **kwargs))


def make_topic(connection: KafkaConfig, name: str = TOPIC, partitions: int = 1, replicas: int = 1) -> None:
    config = {"min.insync.replicas": "2"} if replicas > 1 else {}
    topic = NewTopic(connection.topic(name), partitions, replicas, config=config)
    with AdminClient(connection.admin_config()) as admin:
        admin.create_topics([topic], operation_timeout=60, request_timeout=60)[topic.topic].result(70)


def read_log(connection: KafkaConfig, name: str = TOPIC) -> dict[int, list[bytes]]:
    """Return every value in the log by partition, in order."""
    raw = RawConsumer({**connection.admin_config(), "group.id": "reader", "enable.partition.eof": True})
    topic = connection.topic(name)
    parts = list(raw.list_topics(topic, timeout=10).topics[topic].partitions)
    raw.assign([TopicPartition(topic, part, 0) for part in parts])
    log: dict[int, list[bytes]] = defaultdict(list)
    open_parts = set(parts)
    while open_parts:
        for message in raw.consume(500, 0.5):
            if message.error() is not None:
                open_parts.discard(message.partition() or 0)
            else:
                log[message.partition() or 0].append(message.value() or b"")
    raw.close()
    return log


def committed(connection: KafkaConfig, partition: int = 0, name: str = TOPIC) -> int | None:
    """Return the offset that the broker stores for the group, or None while there is none or no coordinator."""
    raw = RawConsumer({**connection.admin_config(), "group.id": connection.group(GROUP)})
    try:
        offset = raw.committed([TopicPartition(connection.topic(name), partition)], timeout=10)[0].offset
    except KafkaException as refusal:
        if refusal.args[0].code() != KafkaError.NOT_COORDINATOR:
            raise
        return None  # The broker is still loading the group.
    finally:
        raw.close()
    return None if offset < 0 else offset


@dataclass
class Outcomes:
    """The outcome of each value that was sent."""

    acknowledged: list[bytes] = field(default_factory=list)
    unknown: list[bytes] = field(default_factory=list)
    refused: list[bytes] = field(default_factory=list)

    async def note(self, value: bytes, answer: Awaitable[object]) -> None:
        try:
            await answer
        except UnknownOutcomeError:
            self.unknown.append(value)
        except (NotAcceptedError, RejectedError):
            self.refused.append(value)
        else:
            self.acknowledged.append(value)

    def hold_against(self, log: dict[int, list[bytes]]) -> None:
        """Check that acknowledged values are in the log once, unknown ones at most once, and no others."""
        times = Counter(value for values in log.values() for value in values)
        assert {value: times[value] for value in self.acknowledged if times[value] != 1} == {}
        assert {value: times[value] for value in self.unknown if times[value] > 1} == {}
        assert [value for value in self.refused if times[value]] == []
        assert set(times) <= {*self.acknowledged, *self.unknown}


@dataclass
class Traffic:
    """Send numbered values with a few keys until stopped, with at most `width` unanswered."""

    publisher: KafkaPublisher
    width: int = 200
    outcomes: Outcomes = field(default_factory=Outcomes)
    sent: int = 0

    async def flow(self, stop: asyncio.Event) -> None:
        room = asyncio.Semaphore(self.width)
        async with asyncio.TaskGroup() as tasks:
            while not stop.is_set():
                await room.acquire()
                value = f"{self.sent:07}".encode()
                answer = self.publisher.send(TOPIC, b"key-%d" % (self.sent % 8), value)
                self.sent += 1
                tasks.create_task(self.outcomes.note(value, answer)).add_done_callback(
                    lambda _: room.release()
                )

    @contextlib.asynccontextmanager
    async def flowing(self) -> AsyncIterator[None]:
        stop = asyncio.Event()
        task = asyncio.create_task(self.flow(stop))
        try:
            yield
        finally:
            stop.set()
            await task


@contextlib.asynccontextmanager
async def publishing(connection: KafkaConfig, **tuning: Any) -> AsyncIterator[KafkaPublisher]:
    from tidings.platform.kafka.publisher import PublisherTuning  # noqa: PLC0415 - one use

    publisher = KafkaPublisher(connection, PublisherTuning(**tuning))
    try:
        yield publisher
    finally:
        await publisher.close(10)


async def fill(connection: KafkaConfig, count: int, partitions: int = 1, name: str = TOPIC) -> None:
    """`count` numbered values in each partition."""
    by_partition = key_per_partition(partitions)
    async with publishing(connection) as publisher:
        answers = [
            publisher.send(name, key, f"{number}".encode())
            for number in range(count)
            for key in by_partition.values()
        ]
        await asyncio.gather(*answers)


def key_per_partition(partitions: int) -> dict[int, bytes]:
    from confluent_kafka.cimpl import murmur2  # noqa: PLC0415 - one use

    found: dict[int, bytes] = {}
    number = 0
    while len(found) < partitions:
        key = f"key-{number}".encode()
        found.setdefault(murmur2(key, partitions), key)
        number += 1
    return dict(sorted(found.items()))


class DependencyError(Exception):
    """A dependency of a handler does not answer."""

    retryable = True


async def never_bury(record: Record, reason: str) -> None:
    raise AssertionError(f"{record.offset} was to be buried: {reason}")


def as_number(record: Record) -> int:
    return int(record.value or b"")


@dataclass
class Worker:
    """A consumer whose effects are noted: per partition, the offsets in the order of their effect."""

    connection: KafkaConfig
    tuning: ConsumerTuning = QUICK
    bury: DeadLetterPublisher = never_bury
    decode: RecordDecoder[int] = as_number
    before: Callable[[Batch[int]], Awaitable[None]] | None = None
    """Called before a batch's effect; may wait, or raise."""
    effects: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    values: set[int] = field(default_factory=set)
    topics: tuple[str, ...] = (TOPIC,)
    is_ordered: bool = False

    def __post_init__(self) -> None:
        work = RecordHandlers(self.decode, self._handle, self.bury, is_ordered=self.is_ordered)
        self.consumer = KafkaConsumer(
            self.connection, work, group=GROUP, topics=list(self.topics), tuning=self.tuning
        )

    async def _handle(self, batch: Batch[int]) -> None:
        if self.before is not None:
            await self.before(batch)
        self.effects[batch.partition] += [event.record.offset for event in batch.events]
        self.values |= {event.body for event in batch.events}

    def count(self) -> int:
        return sum(len(offsets) for offsets in self.effects.values())

    def distinct(self) -> int:
        return sum(len(set(offsets)) for offsets in self.effects.values())

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Worker"]:
        task = asyncio.create_task(self.consumer.run())
        try:
            yield self
        finally:
            self.consumer.stop()
            await task


def first_times(effects: Iterable[int]) -> list[int]:
    """The effects without repeats. In order and without a hole, if nothing was skipped or overtaken."""
    reached = -1
    kept = []
    for offset in effects:
        if offset > reached:
            kept.append(offset)
            reached = offset
    return kept


def repeats(effects: Iterable[int]) -> list[int]:
    """Return the repeated effects, in order."""
    seen: set[int] = set()
    again = []
    for offset in effects:
        if offset in seen:
            again.append(offset)
        seen.add(offset)
    return again

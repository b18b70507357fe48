"""The reader's thread at the moments that no broker can be made to produce on demand."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pytest
from confluent_kafka import KafkaError, TopicPartition

from tidings.platform.kafka import consumer_thread as reader_module
from tidings.platform.kafka.config import KafkaHealthTracker
from tidings.platform.kafka.consumer_thread import ConsumerThread, PartitionWorkerFactory, ReaderTuning
from tidings.platform.kafka.partition_worker import (
    OffsetCommits,
    PartitionWorker,
    PartitionWorkerOptions,
    RecordHandlers,
)
from tidings.platform.kafka.records import Batch, PartitionKey, Record

if TYPE_CHECKING:
    from confluent_kafka import Message

PART = TopicPartition("t", 0)


class FakeMessage:
    def __init__(self, offset: int, partition: int = 0) -> None:
        self._offset, self._partition = offset, partition

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def error(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 0, 0

    def key(self) -> bytes:
        return b""

    value = key

    def headers(self) -> None:
        return None


class FakeConsumer:
    """Run the callbacks of the test inside `consume`, as librdkafka does."""

    def __init__(self, _config: object = None) -> None:
        self.during_consume: Callable[[], None] = lambda: None
        self.messages: list[FakeMessage] = []
        self.commits: list[tuple[bool, list[tuple[int, int]]]] = []

    def consume(self, _count: int, _timeout: float) -> list[FakeMessage]:
        self.during_consume()
        return self.messages

    def commit(self, offsets: list[TopicPartition], *, asynchronous: bool) -> None:
        self.commits.append((asynchronous, [(part.partition, part.offset) for part in offsets]))


async def handle(_: Batch[int]) -> None: ...


async def bury(_: Record, __: str) -> None: ...


def make_worker(key: PartitionKey, on_progress: Callable[[], None] = lambda: None) -> PartitionWorker[int]:
    return PartitionWorker(
        key, RecordHandlers(lambda record: record.offset, handle, bury), PartitionWorkerOptions(), on_progress
    )


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(reader_module, "Consumer", FakeConsumer)

    async def make() -> ConsumerThread[int]:
        maker = PartitionWorkerFactory(make_worker, lambda _worker: None)
        return ConsumerThread({}, ["t"], maker, KafkaHealthTracker("test"), ReaderTuning())

    return asyncio.run(make())


def offsets(lot: list[Any]) -> list[int]:
    return [message.offset() for message in lot]


def test_a_message_from_before_its_partition_was_lost_and_given_back_is_dropped(reader: Any) -> None:
    """Otherwise the new worker would start with it and commit past the records between."""
    reader._on_assign(reader._consumer, [PART])

    def lose_and_get_back() -> None:
        reader._on_lost(reader._consumer, [PART])
        reader._on_assign(reader._consumer, [PART])

    reader._consumer.during_consume = lose_and_get_back
    reader._consumer.messages = [FakeMessage(50)]
    assert offsets(reader._with_rest(cast("Message", FakeMessage(57)))) == [50]


def test_the_first_message_of_a_fresh_partition_is_kept(reader: Any) -> None:
    reader._on_assign(reader._consumer, [PART])
    reader._consumer.messages = [FakeMessage(1)]
    assert offsets(reader._with_rest(cast("Message", FakeMessage(0)))) == [0, 1]


def test_records_of_a_lost_partition_are_dropped(reader: Any) -> None:
    reader._on_assign(reader._consumer, [PART])
    worker = reader._workers["t", 0]
    reader._hand_over([FakeMessage(0), FakeMessage(0, partition=1)])
    assert (worker.handed_records, worker.position) == (1, 1)


def test_nothing_is_committed_for_a_partition_that_was_lost(reader: Any) -> None:
    reader._on_assign(reader._consumer, [PART])
    reader._workers["t", 0].done = 10
    reader._on_lost(reader._consumer, [PART])
    reader._commits.send(reader._consumer, reader._workers.values())
    assert reader._consumer.commits == []


def test_nothing_is_committed_for_revoked_partitions_while_the_loop_does_not_answer(reader: Any) -> None:
    """The event loop of this consumer is closed, so the progress of its workers is unknown."""
    reader._on_assign(reader._consumer, [PART])
    reader._workers["t", 0].done = 10
    reader._on_revoke(reader._consumer, [PART])
    assert reader._consumer.commits == []


def commits_of(
    *workers: PartitionWorker[int],
) -> tuple[OffsetCommits[int], FakeConsumer, list[PartitionWorker[int]]]:
    return OffsetCommits(KafkaHealthTracker("test"), every_s=0), FakeConsumer(), list(workers)


def test_a_failed_commit_is_repeated_and_a_confirmed_one_is_not() -> None:
    worker = make_worker(("t", 0))
    commits, consumer, workers = commits_of(worker)
    worker.done = 5
    commits.send(cast("Any", consumer), workers)
    commits.send(cast("Any", consumer), workers)
    assert consumer.commits == [(True, [(0, 5)])], "one at a time"
    commits.on_commit(KafkaError(KafkaError.STALE_MEMBER_EPOCH), [TopicPartition("t", 0, 5)])
    commits.send(cast("Any", consumer), workers)
    assert consumer.commits == [(True, [(0, 5)])] * 2
    commits.on_commit(None, [TopicPartition("t", 0, 5)])
    commits.send(cast("Any", consumer), workers)
    assert len(consumer.commits) == 2
    assert commits.due(workers) == []


def test_a_commit_in_flight_stays_due_until_it_is_confirmed() -> None:
    worker = make_worker(("t", 0))
    commits, consumer, workers = commits_of(worker)
    worker.done = 5
    commits.send(cast("Any", consumer), workers)
    assert [part.offset for part in commits.due(workers)] == [5]
    commits.drop(workers)
    commits.on_commit(None, [TopicPartition("t", 0, 5)])
    assert [part.offset for part in commits.due([make_worker(("t", 1))])] == []

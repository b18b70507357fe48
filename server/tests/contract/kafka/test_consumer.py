"""Consuming from a healthy broker while a dependency of the handler fails."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest
from confluent_kafka import Consumer as RawConsumer
from confluent_kafka import ConsumerGroupType, TopicPartition
from confluent_kafka.admin import AdminClient
from contract.kafka.harness import (
    GROUP,
    QUICK,
    TOPIC,
    DependencyError,
    Worker,
    as_number,
    committed,
    eventually,
    fill,
    first_times,
    key_per_partition,
    make_topic,
    publishing,
)

from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.errors import UndecodableError
from tidings.platform.kafka.partition_worker import PartitionWorker, PartitionWorkerOptions
from tidings.platform.kafka.publisher import dead_letter_to
from tidings.platform.kafka.records import Batch, PartitionKey, Record

pytestmark = pytest.mark.deadline(240)

SMALL_BATCHES = replace(QUICK, worker=PartitionWorkerOptions(max_batch_records=10, max_queued_records=50))


async def test_a_dependency_that_fails_pauses_its_partition_and_no_other(connection: KafkaConfig) -> None:
    make_topic(connection, partitions=3)
    is_healed = False

    async def fail_in_0(batch: Batch[int]) -> None:
        if batch.partition == 0 and not is_healed:
            raise DependencyError("the table is throttled")

    await fill(connection, 60, partitions=3)
    worker = Worker(connection, before=fail_in_0)
    async with worker.running():
        await eventually(lambda: worker.count() == 120)
        await eventually(lambda: behind(worker) == {0: 60, 1: 0, 2: 0})
        await fill(connection, 40, partitions=3)  # more comes while it is paused
        await eventually(lambda: worker.count() == 200)
        await eventually(lambda: behind(worker) == {0: 100, 1: 0, 2: 0})
        (paused,) = worker.consumer.paused()
        assert (paused.partition, paused.why) == (0, "DependencyError: the table is throttled")
        assert paused.tries > 1
        assert len(worker.consumer.assigned()) == 3
        assert worker.effects[0] == []
        is_healed = True
        await eventually(lambda: behind(worker) == {0: 0, 1: 0, 2: 0})
        assert worker.consumer.paused() == ()
    assert worker.effects == {part: list(range(100)) for part in range(3)}


def behind(worker: Worker) -> dict[int, int]:
    return {lag.partition: lag.behind for lag in worker.consumer.lag()}


async def test_nothing_is_committed_before_its_effect_and_a_slow_partition_stalls_no_other(
    connection: KafkaConfig,
) -> None:
    """Partition 0 is stuck in its second batch, with far more waiting than it may hold in memory."""
    make_topic(connection, partitions=3)
    go_on = asyncio.Event()

    async def stall_in_0(batch: Batch[int]) -> None:
        if batch.partition == 0 and batch.events[0].record.offset > 0:
            await go_on.wait()

    await fill(connection, 600, partitions=3)
    worker = Worker(connection, before=stall_in_0)
    async with worker.running():
        await eventually(lambda: len(worker.effects[1]) == len(worker.effects[2]) == 600)
        await eventually(lambda: worker.effects[0])
        first_batch = len(worker.effects[0])
        assert first_batch <= 50
        await eventually(lambda: committed(connection, 0) == first_batch)
        await fill(connection, 1, partitions=3)  # once these are committed, commits have had their time
        await eventually(lambda: committed(connection, 1) == committed(connection, 2) == 601)
        assert committed(connection, 0) == first_batch
        go_on.set()
        await eventually(lambda: len(worker.effects[0]) == 601)
    assert worker.effects == {part: list(range(601)) for part in range(3)}
    assert committed(connection, 0) == 601


def numbers_only(record: Record) -> int:
    if not (record.value or b"").isdigit():
        raise UndecodableError("not a number")
    return as_number(record)


async def test_an_undecodable_record_becomes_a_dead_letter_and_the_next_is_handled(
    connection: KafkaConfig,
) -> None:
    make_topic(connection)
    make_topic(connection, "dead")
    async with publishing(connection) as publisher:
        for value in (b"0", b"\xff\x00", b"2"):
            await publisher.send(TOPIC, b"chat", value, (("trace", b"\x01"),))
        worker = Worker(connection, decode=numbers_only, bury=dead_letter_to(publisher, "dead"))
        async with worker.running():
            await eventually(lambda: committed(connection) == 3)
        assert worker.effects[0] == [0, 2]
        letters = Worker(replace(connection), decode=lambda _: 0, topics=("dead",))
        found: list[Record] = []

        async def keep(batch: Batch[int]) -> None:
            found.extend(event.record for event in batch.events)

        letters.before = keep
        async with letters.running():
            await eventually(lambda: found)
    (letter,) = found
    assert (letter.key, letter.value) == (b"chat", b"\xff\x00")
    assert letter.headers == (
        ("trace", b"\x01"),
        ("dead-reason", b"not a number"),
        ("dead-topic", connection.topic(TOPIC).encode()),
        ("dead-partition", b"0"),
        ("dead-offset", b"1"),
    )


async def test_the_offset_does_not_move_before_the_dead_letter_is_acknowledged(
    connection: KafkaConfig,
) -> None:
    """It fails at first, then is slow. The other partition shows that commits continue meanwhile."""
    make_topic(connection, partitions=2)
    acknowledged, tries = asyncio.Event(), 0

    async def bury(record: Record, reason: str) -> None:
        nonlocal tries
        tries += 1
        assert (record.value, reason) == (b"poison", "not a number")
        if tries == 1:
            raise DependencyError("Kafka is away")
        await acknowledged.wait()

    keys = key_per_partition(2)
    async with publishing(connection) as publisher:
        await publisher.send(TOPIC, keys[0], b"poison")
        worker = Worker(connection, decode=numbers_only, bury=bury)
        async with worker.running():
            await eventually(lambda: tries == 2)
            await publisher.send(TOPIC, keys[1], b"1")
            await eventually(lambda: committed(connection, 1) == 1)
            assert committed(connection, 0) is None
            acknowledged.set()
            await eventually(lambda: committed(connection, 0) == 1)


async def test_a_handler_may_name_the_record_that_cannot_be_understood(connection: KafkaConfig) -> None:
    make_topic(connection)
    buried: list[tuple[int, str]] = []

    async def bury(record: Record, reason: str) -> None:
        buried.append((record.offset, reason))

    async def refuse_3(batch: Batch[int]) -> None:
        for event in batch.events:
            if event.body == 3:
                raise UndecodableError("no such kind", event.record)

    await fill(connection, 6)
    worker = Worker(connection, before=refuse_3, bury=bury)
    async with worker.running():
        await eventually(lambda: committed(connection) == 6)
    assert worker.effects[0] == [0, 1, 2, 4, 5]
    assert buried == [(3, "no such kind")]


async def test_a_record_that_cannot_be_processed_is_a_dead_letter_and_the_consumer_continues(
    connection: KafkaConfig,
) -> None:
    make_topic(connection)
    buried: list[tuple[int, str]] = []

    async def break_at_30(batch: Batch[int]) -> None:
        if any(event.body == 30 for event in batch.events):
            raise ZeroDivisionError("a defect")

    async def bury(record: Record, reason: str) -> None:
        buried.append((record.offset, reason))

    await fill(connection, 50)
    worker = Worker(connection, tuning=SMALL_BATCHES, before=break_at_30, bury=bury)
    async with worker.running():
        await eventually(lambda: committed(connection) == 50)
    assert buried == [(30, "It failed 3 times: ZeroDivisionError: a defect")]
    assert sorted(worker.effects[0]) == [offset for offset in range(50) if offset != 30]


async def test_where_order_matters_a_defect_ends_the_consumer_and_its_records_stay_uncommitted(
    connection: KafkaConfig,
) -> None:
    make_topic(connection)

    async def break_at_30(batch: Batch[int]) -> None:
        if any(event.body == 30 for event in batch.events):
            raise ZeroDivisionError("a defect")

    await fill(connection, 50)
    worker = Worker(connection, tuning=SMALL_BATCHES, before=break_at_30, is_ordered=True)
    with pytest.raises(ZeroDivisionError, match="a defect"):
        async with asyncio.timeout(20):
            await worker.consumer.run()
    assert committed(connection) == len(worker.effects[0]) <= 30


async def test_consumers_that_join_and_leave_skip_and_repeat_nothing(connection: KafkaConfig) -> None:
    make_topic(connection, partitions=4)

    async def take_a_moment(_: Batch[int]) -> None:
        await asyncio.sleep(0.01)

    await fill(connection, 1000, partitions=4)
    first, second = (Worker(connection, tuning=SMALL_BATCHES, before=take_a_moment) for _ in range(2))
    async with second.running():
        await eventually(lambda: second.count() > 400)
        async with first.running():
            await eventually(lambda: len(first.consumer.assigned()) == 2 and first.count() > 100)
            assert len(second.consumer.assigned()) == 2
        await eventually(lambda: len(second.consumer.assigned()) == 4)
        await eventually(lambda: first.distinct() + second.distinct() >= 4000)
    for partition in range(4):
        mine, others = second.effects[partition], first.effects[partition]
        assert sorted(mine + others) == list(range(1000))
        assert first_times(mine) == mine
        assert first_times(others) == others


async def test_a_partition_that_librdkafka_forgot_to_resume_is_woken_up(connection: KafkaConfig) -> None:
    """Its version 2.16 can lose a resume; here it is paused behind our back instead."""
    make_topic(connection)
    await fill(connection, 10)
    worker = Worker(connection)
    async with worker.running():
        await eventually(lambda: worker.count() == 10)
        pause_behind_its_back(worker, connection.topic(TOPIC))
        await fill(connection, 10)
        await eventually(lambda: worker.count() == 20)
    assert worker.effects[0] == list(range(20))


def pause_behind_its_back(worker: Worker, topic: str) -> None:
    """In the reader's own thread: from another one librdkafka's consumer may lock up."""
    reader = worker.consumer._reader
    assert reader is not None
    flow, steer = reader._flow, reader._flow.steer

    def pause_once(consumer: RawConsumer, _: Mapping[PartitionKey, PartitionWorker[int]]) -> None:
        consumer.pause([TopicPartition(topic, 0)])
        flow.steer = steer  # type: ignore[method-assign]

    flow.steer = pause_once  # type: ignore[method-assign, assignment]


async def test_a_group_of_the_classic_protocol_shares_partitions_and_takes_over(
    connection: KafkaConfig,
) -> None:
    """For a Kafka without KIP-848. A member that joins gets partitions, and one that leaves gives them back."""
    connection = replace(connection, group_protocol="classic")
    make_topic(connection, partitions=3)
    await fill(connection, 20, partitions=3)
    stays, leaves = Worker(connection), Worker(connection)
    async with stays.running():
        await eventually(lambda: stays.count() == 60)
        async with leaves.running():
            await eventually(leaves.consumer.assigned)
            assert _group_type(connection) is ConsumerGroupType.CLASSIC
            await fill(connection, 20, partitions=3)
            await eventually(lambda: stays.count() + leaves.count() >= 120)
            assert leaves.count()
        await eventually(lambda: len(stays.consumer.assigned()) == 3)
        await fill(connection, 20, partitions=3)
        await eventually(lambda: stays.count() + leaves.count() >= 180)
    for part in range(3):
        assert sorted({*stays.effects[part], *leaves.effects[part]}) == list(range(60))
        assert committed(connection, part) == 60


def _group_type(connection: KafkaConfig) -> object:
    with AdminClient(connection.admin_config()) as admin:
        listed = admin.list_consumer_groups(request_timeout=20).result(30)
    (found,) = [group.type for group in listed.valid if group.group_id == connection.group(GROUP)]
    return found

"""The job sweeper with Kafka: it waits while consumers lag, and publishes lost chunks again."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path

import msgspec
from contract.kafka.harness import QUICK, make_topic, never_bury, publishing, read_log
from fixtures.engines import Namespace
from fixtures.ledger_units import spent
from fixtures.notifications import NotificationEnv, open_notification_env
from fixtures.tables import Tables

from tidings.app.processes.channel_chunks import process_chunks
from tidings.jobs.chunk_topic import CHUNK_GROUP, KafkaChunkPublisher, decode_chunk, kafka_key
from tidings.jobs.model import ChunkRef, DueJob
from tidings.jobs.service import JobSweeper
from tidings.jobs.store import DynamoJobStore
from tidings.kernel.fences import PartitionProgress
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.consumer import KafkaConsumer, KafkaConsumerLag
from tidings.platform.kafka.partition_worker import RecordHandlers
from tidings.schema.tables.declaration import INBOX
from tidings.schema.topics.model import NOTIFICATIONS

USERS = [f"user{number:04d}" for number in range(205)]
ENDS_S = 120.0


async def test_chunks_behind_lag_are_left_and_lost_chunks_are_published_after_it(
    tables_dynoxide: Tables, kafka: str, space: Namespace, tmp_path: Path
) -> None:
    connection = KafkaConfig(bootstrap_servers=kafka, topic_prefix=space.topic_prefix)
    make_topic(connection, NOTIFICATIONS.name)
    async with (
        open_notification_env(tables_dynoxide, space.tenant, tmp_path / "tidings.key") as at,
        publishing(connection) as publisher,
        asyncio.timeout(ENDS_S),
    ):
        chunks = KafkaChunkPublisher(publisher)
        made = KafkaConsumerLag(connection, topic=NOTIFICATIONS.name, group=CHUNK_GROUP, key_of=kafka_key)
        with closing(made) as consumers:
            jobs = JobSweeper(at.cases.job_store, chunks, consumers.progress, at.clock)
            await waits_for_lag(at, jobs, chunks, connection)


async def test_a_check_that_another_process_has_moved_has_no_effect(
    tables_dynoxide: Tables, space: Namespace, tmp_path: Path
) -> None:
    """The list of due checks can still contain it: its read is eventually consistent, which costs half as much."""
    async with open_notification_env(tables_dynoxide, space.tenant, tmp_path / "tidings.key") as at:
        await at.send(USERS)
        sent = at.chunks.take()
        queue = DynamoJobStore(at.client, at.clock, 90)
        sweeper = JobSweeper(queue, at.chunks, consumed_all, at.clock)
        at.clock.ahead_ms += 100_000
        (moved,) = await due_checks(at, queue)
        await sweeper.sweep(moved)
        assert at.chunks.take() == sent
        await sweeper.sweep(moved)
        assert at.chunks.take() == []
        at.clock.ahead_ms += 400_000
        assert len(await due_checks(at, queue)) == 1
        assert await spent(at.client, queue.due(0, 0)) == {("read", INBOX.name): 0.5}


async def consumed_all(refs: Collection[ChunkRef]) -> Mapping[ChunkRef, PartitionProgress]:
    return {ref: PartitionProgress(partition=0, committed=9, end=9) for ref in refs}


async def waits_for_lag(
    at: NotificationEnv, jobs: JobSweeper, chunks: KafkaChunkPublisher, connection: KafkaConfig
) -> None:
    waits, lost = await at.send(USERS), await at.send(USERS)
    chunks.publish([ref for ref in at.chunks.take() if ref.job == waits.job])
    log = await published(connection, 3)
    for _ in range(4):
        at.clock.ahead_ms += 100_000
        await look_after(at, jobs)
    # A record that the sweeps had published would be before this one.
    chunks.publish([log[0]])
    assert await published(connection, 4) == [*log, log[0]]
    async with consuming(at, connection):
        while await at.state(lost.job) != "done":
            at.clock.ahead_ms += 400_000
            await look_after(at, jobs)
            await asyncio.sleep(0.05)
    assert await at.state(waits.job) == "done"
    all_of_it = await published(connection, 7)
    assert [ref.chunk for ref in all_of_it if ref.job == waits.job] == [0, 1, 2, 0]
    assert {ref.chunk for ref in all_of_it if ref.job == lost.job} == {0, 1, 2}
    assert [await at.total(user) for user in (USERS[0], USERS[100], USERS[204])] == [2, 2, 2]


async def published(connection: KafkaConfig, at_least: int) -> list[ChunkRef]:
    """Read the log when it has this number of records."""
    found: list[ChunkRef] = []
    while len(found) < at_least:
        log = await asyncio.to_thread(read_log, connection, NOTIFICATIONS.name)
        found = [msgspec.json.decode(value, type=ChunkRef) for value in log[0]]
    return found


async def look_after(at: NotificationEnv, jobs: JobSweeper) -> None:
    for due in await due_checks(at, DynamoJobStore(at.client, at.clock, 90)):
        await jobs.sweep(due)


async def due_checks(at: NotificationEnv, queue: DynamoJobStore) -> list[DueJob]:
    """Return the due checks of this test: all tenants share the queue."""
    shards = [await queue.due(shard, at.clock.now_ms()) for shard in range(queue.due_shards)]
    return [due for found in shards for due in found if due.tenant == at.tenant]


@asynccontextmanager
async def consuming(at: NotificationEnv, connection: KafkaConfig) -> AsyncIterator[None]:
    work = RecordHandlers(decode_chunk, lambda batch: process_chunks(at.cases.worker, batch), never_bury)
    consumer = KafkaConsumer(connection, work, group=CHUNK_GROUP, topics=[NOTIFICATIONS.name], tuning=QUICK)
    running = asyncio.create_task(consumer.run())
    try:
        yield
    finally:
        consumer.stop()
        await running

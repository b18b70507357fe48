"""A topic and the group that reads it, as the worker and the relay rely on them. Also run on the simulated one."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Consumer as RawConsumer
from confluent_kafka import KafkaException, TopicPartition
from contract.kafka.consumer_env import (
    PARTITIONS,
    STALLS_NEVER,
    ConsumerEnv,
    Effect,
    offsets,
    values,
)
from contract.kafka.harness import (
    GROUP,
    TOPIC,
    committed,
    eventually,
    first_times,
    key_per_partition,
    make_topic,
    meanwhile,
    publishing,
)

from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine
from tidings.kernel.fences import PartitionProgress
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import partition_key
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.consumer import KafkaConsumerLag
from tidings.platform.kafka.publisher import KafkaPublisher

pytestmark = pytest.mark.deadline(240)

ROOT = Path(__file__).parents[2]
BOTH = range(PARTITIONS)


@dataclass
class ConsumerProcess:
    """A process that runs `killable_consumer.py`."""

    process: subprocess.Popen[bytes]
    written: Path

    def effects(self) -> list[Effect]:
        lines = self.written.read_text().splitlines() if self.written.exists() else []
        return [_effect(line) for line in lines]

    def die(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)


def _effect(line: str) -> Effect:
    partition, first, last, values = line.split(" ")
    return Effect(int(partition), int(first), int(last), tuple(map(int, values.split(","))))


@dataclass
class BrokerEnv:
    fleet: LocalCluster
    connection: KafkaConfig
    directory: Path
    members: list[ConsumerProcess] = field(default_factory=list)

    def publishing(self) -> AbstractAsyncContextManager[KafkaPublisher]:
        return publishing(self.connection)

    def keys(self) -> Mapping[int, bytes]:
        return key_per_partition(PARTITIONS)

    def join(self, stalls_from: int = STALLS_NEVER) -> ConsumerProcess:
        written = self.directory / f"effects-{len(self.members)}"
        at = [self.connection.bootstrap_servers, self.connection.topic_prefix, str(written), str(stalls_from)]
        process = subprocess.Popen([sys.executable, "-m", "contract.kafka.killable_consumer", *at], cwd=ROOT)
        self.members.append(ConsumerProcess(process, written))
        return self.members[-1]

    def committed(self, partition: int) -> int:
        return committed(self.connection, partition) or 0

    async def progress(self, chats: Collection[ChatKey]) -> Mapping[ChatKey, PartitionProgress]:
        made = KafkaConsumerLag(self.connection, topic=TOPIC, group=GROUP, key_of=partition_key)
        with closing(made) as consumers:
            return await consumers.progress(chats)

    async def wipe(self) -> None:
        await meanwhile(self.fleet.wipe, Engine.KAFKA)
        await meanwhile(make_topic, self.connection, partitions=PARTITIONS)

    async def set_back(self, offset: int) -> None:
        await eventually(lambda: self._is_set_back(offset))

    def _is_set_back(self, offset: int) -> bool:
        """Commit from outside the group. The broker refuses this while the group has members."""
        raw = RawConsumer({**self.connection.admin_config(), "group.id": self.connection.group(GROUP)})
        places = [TopicPartition(self.connection.topic(TOPIC), number, offset) for number in BOTH]
        try:
            raw.commit(offsets=places, asynchronous=False)
        except KafkaException:
            return False
        finally:
            raw.close()
        return True

    def end(self) -> None:
        for member in self.members:
            member.thaw()
            member.die()


@pytest.fixture
def consumer_env(lone: LocalCluster, at_lone: KafkaConfig, tmp_path: Path) -> Iterator[ConsumerEnv]:
    make_topic(at_lone, partitions=PARTITIONS)
    env = BrokerEnv(lone, at_lone, tmp_path)
    yield env
    env.end()


async def fill(consumer_env: ConsumerEnv, first: int, count: int) -> None:
    """Publish `count` numbered values to each partition."""
    async with consumer_env.publishing() as publisher:
        answers = [
            publisher.send(TOPIC, key, b"%d" % (number * PARTITIONS + partition))
            for number in range(first, first + count)
            for partition, key in consumer_env.keys().items()
        ]
        await asyncio.gather(*answers)


async def test_an_answer_has_partition_and_offset_and_a_key_keeps_its_partition_and_order(
    consumer_env: ConsumerEnv,
) -> None:
    async with consumer_env.publishing() as publisher:
        keys = [b"key-%d" % (n % 5) for n in range(60)]
        placed = await asyncio.gather(*(publisher.send(TOPIC, key, b"0") for key in keys))
    for partition in BOTH:
        mine = [each.offset for each in placed if each.partition == partition]
        assert mine == list(range(len(mine)))
    assert len({(key, each.partition) for key, each in zip(keys, placed, strict=True)}) == 5


async def test_every_record_has_its_effect_once_and_in_order_and_is_committed(
    consumer_env: ConsumerEnv,
) -> None:
    await fill(consumer_env, 0, 40)
    member = consumer_env.join()
    await eventually(lambda: all(consumer_env.committed(partition) == 40 for partition in BOTH))
    assert [offsets(member, partition) for partition in BOTH] == [list(range(40))] * PARTITIONS
    await fill(consumer_env, 40, 10)
    await eventually(lambda: all(consumer_env.committed(partition) == 50 for partition in BOTH))
    assert [offsets(member, partition) for partition in BOTH] == [list(range(50))] * PARTITIONS


async def test_after_a_death_between_effect_and_commit_exactly_the_uncommitted_is_repeated(
    consumer_env: ConsumerEnv,
) -> None:
    await fill(consumer_env, 0, 40)
    dies = consumer_env.join(stalls_from=20)
    await eventually(lambda: all(20 in offsets(dies, partition) for partition in BOTH))
    at = {each.partition: each for each in dies.effects()}
    await eventually(
        lambda: all(consumer_env.committed(partition) == at[partition].first for partition in BOTH)
    )
    dies.die()
    successor = consumer_env.join()
    await eventually(lambda: all(consumer_env.committed(partition) == 40 for partition in BOTH))
    for partition in BOTH:
        assert offsets(successor, partition) == list(range(at[partition].first, 40))


async def test_a_new_member_gets_its_share_and_nothing_is_skipped_or_repeated(
    consumer_env: ConsumerEnv,
) -> None:
    await fill(consumer_env, 0, 10)
    first_member = consumer_env.join()
    await eventually(lambda: all(offsets(first_member, partition) for partition in BOTH))
    new_member, sent = consumer_env.join(), 10
    async with asyncio.timeout(120):
        while not new_member.effects():
            await fill(consumer_env, sent, 2)
            sent += 2
            await asyncio.sleep(0.1)
    await eventually(lambda: all(consumer_env.committed(partition) == sent for partition in BOTH))
    for partition in BOTH:
        mine, others = offsets(first_member, partition), offsets(new_member, partition)
        assert mine + others == list(range(sent))
    assert {each.partition for each in new_member.effects()} != set(BOTH), (
        "the other member keeps one partition"
    )


async def test_a_frozen_member_loses_its_partitions_and_moves_no_offset_back(
    consumer_env: ConsumerEnv,
) -> None:
    stops = consumer_env.join()
    await fill(consumer_env, 0, 8)
    await eventually(lambda: values(stops) == set(range(8 * PARTITIONS)))
    stops.freeze()
    successor = consumer_env.join()
    await fill(consumer_env, 8, 8)
    await eventually(lambda: all(consumer_env.committed(partition) == 16 for partition in BOTH))
    stops.thaw()
    await fill(consumer_env, 16, 8)
    await eventually(lambda: values(successor, stops) == set(range(24 * PARTITIONS)))
    assert all(consumer_env.committed(partition) >= 16 for partition in BOTH)
    for partition in BOTH:
        mine = offsets(successor, partition)
        assert first_times(mine) == mine


async def test_a_recreated_log_is_read_from_its_start(consumer_env: ConsumerEnv) -> None:
    member = consumer_env.join()
    await fill(consumer_env, 0, 20)
    await eventually(lambda: all(consumer_env.committed(partition) == 20 for partition in BOTH))
    await consumer_env.wipe()
    await fill(consumer_env, 20, 5)
    await eventually(lambda: values(member) == set(range(25 * PARTITIONS)))
    await eventually(lambda: all(consumer_env.committed(partition) == 5 for partition in BOTH))
    for partition in BOTH:
        assert offsets(member, partition)[:20] == list(range(20))


async def test_records_are_repeated_from_offsets_that_were_set_back(consumer_env: ConsumerEnv) -> None:
    first = consumer_env.join()
    await fill(consumer_env, 0, 20)
    await eventually(lambda: all(consumer_env.committed(partition) == 20 for partition in BOTH))
    first.die()
    await consumer_env.set_back(6)
    second = consumer_env.join()
    await eventually(lambda: all(consumer_env.committed(partition) == 20 for partition in BOTH))
    assert [offsets(second, partition) for partition in BOTH] == [list(range(6, 20))] * PARTITIONS


async def test_consumer_progress_is_that_of_the_partition_of_each_chat(consumer_env: ConsumerEnv) -> None:
    chats = [ChatKey(TenantId("acme"), ChatId(f"g{number}")) for number in range(6)]
    async with consumer_env.publishing() as publisher:
        placed = {chat: await publisher.send(TOPIC, partition_key(chat), b"0") for chat in chats}
    ends = {each.partition: each.offset + 1 for each in placed.values()}
    wanted = {chat: PartitionProgress(at.partition, ends[at.partition], 0) for chat, at in placed.items()}
    assert await consumer_env.progress(chats) == wanted
    consumer_env.join()
    await eventually(lambda: all(consumer_env.committed(partition) == end for partition, end in ends.items()))
    assert await consumer_env.progress(chats) == {
        chat: was._replace(committed=was.end) for chat, was in wanted.items()
    }

"""Publisher and consumer through kill -9, freeze and wipe of the broker, on one node and on three.

Nothing acknowledged is lost, nothing is skipped, and what is repeated was not committed.
"""

import asyncio
import time
from dataclasses import replace

import pytest
from confluent_kafka.admin import AdminClient
from contract.kafka.harness import (
    QUICK,
    TOPIC,
    Traffic,
    Worker,
    committed,
    eventually,
    fill,
    first_times,
    make_topic,
    meanwhile,
    publishing,
    read_log,
    repeats,
)

from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.consumer_thread import ReaderTuning
from tidings.schema.topics.control_plane import TopicControlPlane, apply_topics
from tidings.schema.topics.diff import plan_topics
from tidings.schema.topics.model import TOPICS, InstallationSize, desired_topic

pytestmark = pytest.mark.deadline(240)

SOME = 500


@pytest.mark.long
async def test_kill_9_of_the_only_broker(lone: LocalCluster, at_lone: KafkaConfig) -> None:
    """The delivery timeout is shorter than the outage, so that some outcomes are unknown."""
    make_topic(at_lone)
    worker = Worker(at_lone)
    async with publishing(at_lone, delivery_timeout_s=1) as publisher, worker.running():
        traffic = Traffic(publisher)
        async with traffic.flowing():
            await eventually(lambda: len(traffic.outcomes.acknowledged) > SOME and worker.count() > SOME)
            floor = committed(at_lone) or 0
            await meanwhile(lone.kill, "kafka-1")
            await eventually(lambda: traffic.outcomes.unknown)
            await meanwhile(lone.restart, "kafka-1")
            await more(traffic)
        await all_handled(worker, traffic)
    print(f"{len(traffic.outcomes.acknowledged)} acknowledged, {len(traffic.outcomes.unknown)} unknown")
    log = read_log(at_lone)
    traffic.outcomes.hold_against(log)
    hold(worker, len(log[0]), floor)


async def test_a_broker_that_is_frozen_for_5_s(lone: LocalCluster, at_lone: KafkaConfig) -> None:
    """The client gives up on its requests and repeats them; the thawed broker finds both in its sockets.

    The consumer's session expires meanwhile, so it loses its partition.
    """
    make_topic(at_lone)
    worker = Worker(at_lone)
    async with publishing(at_lone, request_timeout_s=1) as publisher, worker.running():
        traffic = Traffic(publisher)
        async with traffic.flowing():
            await eventually(lambda: len(traffic.outcomes.acknowledged) > SOME and worker.count() > SOME)
            floor = committed(at_lone) or 0
            lone.pause("kafka-1")
            await passes(5)
            lone.resume("kafka-1")
            await more(traffic)
        await all_handled(worker, traffic)
    assert traffic.outcomes.unknown == []
    log = read_log(at_lone)
    traffic.outcomes.hold_against(log)
    hold(worker, len(log[0]), floor)


@pytest.mark.long
async def test_kill_9_of_the_leader_among_three(trio: LocalCluster, at_trio: KafkaConfig) -> None:
    """The worst case: the other two did not receive the last second of the leader's log."""
    make_topic(at_trio, replicas=3)
    worker = Worker(at_trio)
    async with publishing(at_trio) as publisher, worker.running():
        traffic = Traffic(publisher)
        async with traffic.flowing():
            await eventually(lambda: len(traffic.outcomes.acknowledged) > SOME and worker.count() > SOME)
            floor = committed(at_trio) or 0
            dead = leader(at_trio)
            others = [r.node.name for r in trio.status() if r.node.name != dead]
            for name in others:
                trio.pause(name)
            await passes(1)
            await meanwhile(trio.kill, dead)
            for name in others:
                trio.resume(name)
            await more(traffic)
        await all_handled(worker, traffic)
    assert traffic.outcomes.unknown == []
    log = read_log(at_trio)
    traffic.outcomes.hold_against(log)
    hold(worker, len(log[0]), floor)


async def test_a_log_that_is_wiped_in_mid_traffic(lone: LocalCluster, at_lone: KafkaConfig) -> None:
    """The group and its offsets are deleted too: the consumer starts the new log at its beginning."""
    apply_declaration(at_lone)
    worker = Worker(at_lone)
    async with publishing(at_lone, delivery_timeout_s=1) as publisher, worker.running():
        traffic = Traffic(publisher)
        async with traffic.flowing():
            await eventually(lambda: len(traffic.outcomes.acknowledged) > SOME and worker.count() > SOME)
            await meanwhile(lone.wipe, Engine.KAFKA)
            await meanwhile(apply_declaration, at_lone)
            mark = traffic.sent
            await eventually(lambda: any(int(v) > mark + SOME for v in traffic.outcomes.acknowledged))
        log = [value for values in read_log(at_lone).values() for value in values]
        await eventually(lambda: worker.values >= {int(value) for value in log})
    fresh = [value for value in traffic.outcomes.acknowledged if int(value) > mark]
    assert sorted(value for value in log if value in set(fresh)) == sorted(fresh)


def apply_declaration(connection: KafkaConfig) -> None:
    plane = TopicControlPlane(connection)
    brokers = plane.brokers()
    wants = [desired_topic(topic, plane.prefix, InstallationSize.SMALL, brokers) for topic in TOPICS]
    apply_topics(plane, plan_topics(wants, plane.observe(want.name for want in wants)), lambda _: None)


async def test_stopping_takes_a_bounded_time_though_no_broker_answers(
    lone: LocalCluster, at_lone: KafkaConfig
) -> None:
    """librdkafka's own close waits for the coordinator without a limit."""
    make_topic(at_lone)
    tuning = replace(QUICK, reader=ReaderTuning(commit_every_s=60, last_commit_s=0.5), close_s=0.5)
    worker = Worker(at_lone, tuning=tuning)
    async with publishing(at_lone, delivery_timeout_s=1):
        await fill(at_lone, 10)
        async with worker.running():
            await eventually(lambda: worker.count() == 10)
            lone.kill("kafka-1")
            before = time.monotonic()
            worker.consumer.stop()
        took_s = time.monotonic() - before
    assert took_s < 5


async def passes(seconds: float) -> None:
    """The time for which something is out of order; nothing is expected to happen meanwhile."""
    until = asyncio.get_running_loop().time() + seconds
    await eventually(lambda: asyncio.get_running_loop().time() > until)


async def more(traffic: Traffic) -> None:
    before = len(traffic.outcomes.acknowledged)
    await eventually(lambda: len(traffic.outcomes.acknowledged) > before + SOME)


async def all_handled(worker: Worker, traffic: Traffic) -> None:
    wanted = {int(value) for value in traffic.outcomes.acknowledged}
    await eventually(lambda: worker.values >= wanted)


def hold(worker: Worker, log_length: int, floor: int) -> None:
    """Assert that every record had its effect in order, and that only uncommitted records were repeated."""
    effects = worker.effects[0]
    assert first_times(effects) == list(range(log_length))
    again = repeats(effects)
    print(f"{len(again)} of {log_length} repeated")
    assert all(offset >= floor for offset in again)


def leader(connection: KafkaConfig) -> str:
    topic = connection.topic(TOPIC)
    with AdminClient(connection.admin_config()) as admin:
        metadata = admin.list_topics(topic, timeout=10)
    return f"kafka-{metadata.topics[topic].partitions[0].leader}"

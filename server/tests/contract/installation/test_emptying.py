"""A restore empties the data and finds the running processes of its own installation, and of no other."""

import asyncio
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from fixtures.engines import Namespace
from fixtures.installation_processes import make_topics
from fixtures.redis_cluster import Connect, Servers

from tidings.installation import store
from tidings.platform.kafka.config import KafkaConfig
from tidings.schema.topics.control_plane import TopicControlPlane

_WITHIN_S = 150.0


async def test_only_keys_with_the_prefix_are_deleted_from_redis(
    servers: Servers, connect: Connect, space: Namespace
) -> None:
    options = replace(servers.options, key_prefix=space.key_prefix)
    async with connect(servers) as client:
        ours = [client.keys.key("acme", f"user-{n}", "route") for n in range(60)]
        theirs = replace(client.keys, prefix=f"{space.key_prefix}x").key("acme", "user-0", "route")
        for key in (*ours, theirs):
            await client.write("SET", key, "1")
        assert await asyncio.to_thread(store.delete_all_keys, options) == len(ours)
        assert [await client.read("GET", key) for key in ours] == [None] * len(ours)
        assert await client.read("GET", theirs) == b"1"
        assert await asyncio.to_thread(store.delete_all_keys, options) == 0


async def test_active_channels_in_redis_are_counted(
    servers: Servers, connect: Connect, space: Namespace
) -> None:
    options = replace(servers.options, key_prefix=space.key_prefix)
    assert await asyncio.to_thread(store.active_channels, options) == 0
    async with connect(servers) as client:
        for number in range(3):
            await client.subscribe(client.keys.key("_system", f"gateway-{number}", "line"), lambda _: None)
        assert await asyncio.to_thread(store.active_channels, options) == 3


def test_topics_without_a_leader_yet_are_emptied_once_they_have_one(
    kafka: str, space: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tidings restore finish` follows `tidings topics apply`, and a broker can learn of its partitions later."""
    make_topics(kafka, space.topic_prefix)
    plane = TopicControlPlane(KafkaConfig(bootstrap_servers=kafka, topic_prefix=space.topic_prefix))
    topic, delete_records = f"{space.topic_prefix}messages", AdminClient.delete_records
    refusals = [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE]

    def refused_at_first(admin: AdminClient, parts: list[TopicPartition], **options: Any) -> Any:
        if not refusals:
            return delete_records(admin, parts, **options)
        refused: Future[None] = Future()
        refused.set_exception(KafkaException(KafkaError(refusals.pop())))
        return dict.fromkeys(parts, refused)

    producer = Producer({"bootstrap.servers": kafka})
    producer.produce(topic, value=b"of before")
    assert producer.flush(_WITHIN_S) == 0
    monkeypatch.setattr(AdminClient, "delete_records", refused_at_first)
    plane.empty([topic])
    assert refusals == []
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": f"{space.topic_prefix}any"})
    parts = [TopicPartition(topic, number) for number in consumer.list_topics(topic).topics[topic].partitions]
    offsets = [consumer.get_watermark_offsets(part) for part in parts]
    assert all(low == high for low, high in offsets)
    consumer.close()


def test_topics_are_emptied_and_consumers_are_found(kafka: str, space: Namespace) -> None:
    make_topics(kafka, space.topic_prefix)
    plane = TopicControlPlane(KafkaConfig(bootstrap_servers=kafka, topic_prefix=space.topic_prefix))
    topic, group = f"{space.topic_prefix}messages", f"{space.topic_prefix}delivery"
    producer = Producer({"bootstrap.servers": kafka})
    for number in range(20):
        producer.produce(topic, value=b"of before", key=str(number))
    assert producer.flush(_WITHIN_S) == 0
    assert plane.working() == {}
    plane.empty([topic])
    producer.produce(topic, value=b"of now", key="0")
    assert producer.flush(_WITHIN_S) == 0
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = consumer.poll(_WITHIN_S)
    assert found is not None
    assert found.value() == b"of now"
    assert plane.working() == {group: 1}
    consumer.close()
    assert plane.working() == {}

"""Publish undecodable events between valid ones."""

import asyncio
import os
from contextlib import closing

from confluent_kafka import Consumer, Producer, TopicPartition

from faults.whole.fault import Fault, FaultRun
from faults.whole.installation import within

_POISON = (b"", b"{}", b"not an event", b"\xff\xfe\x00", b"\x93\xa1\xff", b"\x93" * 5_000)
"""The second to last is an event whose tenant is not a string."""
_AT_ONCE = 50


async def inflict(run: FaultRun) -> None:
    processes = run.installation.processes
    topic = processes.space.topic_prefix + "messages"
    dead_letters = await asyncio.to_thread(_records, processes.kafka, topic + "-dead")
    for _ in run.rounds(4):
        run.load.step(f"{_AT_ONCE} poison events")
        await asyncio.to_thread(_poison, processes.kafka, topic)
        dead_letters += _AT_ONCE
        await run.load.sent_more(20)
    await within(
        180,
        lambda: _records(processes.kafka, topic + "-dead") >= dead_letters,
        "all poison events are in the dead-letter topic",
    )


def _poison(servers: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number in range(_AT_ONCE):
        event = _POISON[number // 2 % len(_POISON)] if number % 2 else os.urandom(64)
        producer.produce(topic, key=os.urandom(4), value=event)
    producer.flush(60)


def _records(servers: str, topic: str) -> int:
    """Return the number of records in a topic."""
    with closing(Consumer({"bootstrap.servers": servers, "group.id": "counts"})) as consumer:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        ends = [
            consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=30) for each in partitions
        ]
    return sum(high - low for low, high in ends)


FAULT = Fault(
    name="poison events",
    invariant="Every undecodable event goes to the dead-letter topic, and the events behind it are delivered.",
    fault="bytes that are not an event, 50 at a time, in all partitions of `messages`",
    inflict=inflict,
)

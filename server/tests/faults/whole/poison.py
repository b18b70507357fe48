"""Events that can't be read stand in the topic between good ones."""

import asyncio
import os

from confluent_kafka import Producer

from faults.whole.fault import Doing, Fault

_POISON = (b"", b"{}", b"not an event", b"\xff\xfe\x00", b'{"tenant": 7}', b"[" * 5_000)


def _poison(servers: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number in range(count):
        event = _POISON[number % len(_POISON)] if number % 2 else os.urandom(64)
        producer.produce(topic, key=os.urandom(4), value=event)
    producer.flush(30)


async def inflict(doing: Doing) -> None:
    city = doing.stand.city
    for _ in doing.times(4, 40):
        doing.load.step("50 poison events")
        await asyncio.to_thread(_poison, city.kafka, city.space.topic_prefix + "messages", 50)
        await doing.load.sent_more(10, 60)


FAULT = Fault(
    name="poison events",
    invariant="What can't be read is set aside, and keeps nobody behind it from being delivered.",
    fault="bytes that are no event, 50 at a time, over all partitions of `messages`",
    inflict=inflict,
)

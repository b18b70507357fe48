"""Compare the CPU per message of the Kafka client with plain librdkafka, on a running broker.

`tidings engines start kafka` starts a broker. Only the CPU of this process counts.
"""

import argparse
import asyncio
import importlib
import secrets
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from confluent_kafka import Consumer as RawConsumer
from confluent_kafka import Producer as RawProducer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.report import Spread, print_figures, print_table
from tidings.app.settings import load
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.consumer import KafkaConsumer, consumer_config
from tidings.platform.kafka.partition_worker import RecordHandlers
from tidings.platform.kafka.publisher import KafkaPublisher, PublisherTuning, producer_config
from tidings.platform.kafka.records import Batch, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOPIC = "events"
PARTITIONS = 6
VALUE = bytes(300)
HEADERS = (("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),)
IN_FLIGHT = 1000


@contextmanager
def topic(servers: str) -> "Iterator[KafkaConfig]":
    """Create a topic for one round and delete it afterwards."""
    connection = KafkaConfig(bootstrap_servers=servers, topic_prefix=f"bench-{secrets.token_hex(4)}-")
    name = connection.topic(TOPIC)
    with AdminClient(connection.admin_config()) as admin:
        admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(20)
        yield connection
        admin.delete_topics([name])[name].result(20)


def key(number: int) -> bytes:
    return b"acme#%d" % (number % 500)


async def our_produce(connection: KafkaConfig, count: int) -> float:
    """Publish with a thousand concurrent senders, each of which awaits the answer for its message."""
    publisher = KafkaPublisher(connection)
    await publisher.send(TOPIC, b"warm", VALUE)

    async def sender(first: int) -> None:
        for number in range(first, count, IN_FLIGHT):
            await publisher.send(TOPIC, key(number), VALUE, HEADERS)

    before = time.process_time()
    await asyncio.gather(*(sender(first) for first in range(IN_FLIGHT)))
    took = time.process_time() - before
    await publisher.close()
    return took / count * 1e6


def bare_produce(connection: KafkaConfig, count: int) -> float:
    producer = RawProducer(producer_config(connection, PublisherTuning()))
    before = time.process_time()
    for number in range(count):
        producer.produce(connection.topic(TOPIC), VALUE, key(number), headers=list(HEADERS))
        if number % IN_FLIGHT == 0:
            producer.poll(0)
    producer.flush(30)
    return (time.process_time() - before) / count * 1e6


async def our_consume(connection: KafkaConfig, count: int) -> float:
    seen, over = 0, asyncio.Event()

    async def handle(batch: Batch[bytes | None]) -> None:
        nonlocal seen
        seen += len(batch.events)
        if seen >= count:
            over.set()

    async def bury(_: Record, __: str) -> None: ...

    work = RecordHandlers(lambda record: record.value, handle, bury)
    consumer = KafkaConsumer(connection, work, group="ours", topics=[TOPIC])
    before = time.process_time()
    running = asyncio.create_task(consumer.run())
    await asyncio.wait_for(over.wait(), 60)
    took = time.process_time() - before
    consumer.stop()
    await running
    return took / count * 1e6


def bare_consume(connection: KafkaConfig, count: int) -> float:
    consumer = RawConsumer(consumer_config(connection, connection.group("bare")))
    consumer.subscribe([connection.topic(TOPIC)])
    seen = 0
    before = time.process_time()
    while seen < count:
        seen += (consumer.poll(1) is not None) + len(consumer.consume(499, 0))
    took = time.process_time() - before
    consumer.close()
    return took / count * 1e6


def runners() -> "dict[str, Callable[..., float]]":
    found: dict[str, Callable[..., float]] = {"asyncio": asyncio.run}
    with suppress(ImportError):
        found["uvloop"] = importlib.import_module("uvloop").run  # Measured only if it is installed.
    return found


def measure(servers: str, rounds: int, count: int) -> dict[str, Spread]:
    """Measure all contenders in turn in each round, so that a disturbance affects all of them."""
    runs: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, run in runners().items():
            with topic(servers) as connection:
                runs.setdefault(f"produce, {name}", []).append(run(our_produce(connection, count)))
                runs.setdefault(f"consume, {name}", []).append(run(our_consume(connection, count)))
                runs.setdefault("consume, bare", []).append(bare_consume(connection, count))
                runs.setdefault("produce, bare", []).append(bare_produce(connection, count))
    return {name: Spread(tuple(figures)) for name, figures in sorted(runs.items())}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--servers", default=load().settings.kafka.bootstrap_servers)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--messages", type=int, default=50_000)
    given = options.parse_args()
    if given.servers is None:
        sys.exit("No Kafka broker found. Run `tidings engines start kafka` or set --servers.")
    spreads = measure(given.servers, given.rounds, given.messages)
    print_table(
        ["CPU µs per message", "median (min to max)", f"of {given.rounds} rounds of {given.messages:,}"],
        [(name, spread, "") for name, spread in spreads.items()],
    )
    produce, consume = spreads["produce, asyncio"].median, spreads["consume, asyncio"].median
    print_figures(
        {
            "produce_cpu_us": produce,
            "consume_cpu_us": consume,
            "produce_ratio": produce / spreads["produce, bare"].median,
            "consume_ratio": consume / spreads["consume, bare"].median,
        }
    )


if __name__ == "__main__":
    main()

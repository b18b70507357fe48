"""Consumers of a process: their health and metrics, and how far a group is, asked from outside."""

from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from datetime import datetime

from tidings.platform.kafka.consumer import KafkaConsumer
from tidings.platform.kafka.consumers import KafkaConsumerLag
from tidings.platform.lifecycle.health import Health
from tidings.platform.telemetry.metrics import Metrics
from tidings.run.held import ManagedResource
from tidings.run.options import kafka_config
from tidings.run.settings import Settings


def consumer_health[T](consumer: KafkaConsumer[T] | None, since: datetime) -> Health | None:
    """Well as long as the group has us and no partition waits for something that fails. None: it was not started."""
    if consumer is None:
        return None
    how, paused = consumer.health(), consumer.paused()
    if not how.is_ok:
        return Health(ok=False, reason=how.reason, since=since)
    words = f"{len(paused)} partitions wait; the first: {paused[0].why}" if paused else ""
    return Health(not paused, words, since)


def export_consumer[T](metrics: Metrics, consumer: KafkaConsumer[T], process: str, what: str) -> None:
    """`what` is read: records, chunks."""
    waiting = f"{what.capitalize()} that wait in this process's partitions."
    metrics.gauge(f"{process}_lag_{what}", waiting).set_function(
        lambda: sum(lag.behind for lag in consumer.lag())
    )
    failing = "Partitions that wait for something that fails."
    metrics.gauge(f"{process}_paused_partitions", failing).set_function(lambda: len(consumer.paused()))


def progress[K: Hashable](
    settings: Settings, *, topic: str, group: str, key_of: Callable[[K], bytes]
) -> ManagedResource[KafkaConsumerLag[K]]:
    """Ask the brokers how far a group is, also for partitions that other processes consume."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[KafkaConsumerLag[K]]:
        made = KafkaConsumerLag(kafka_config(settings), topic=topic, group=group, key_of=key_of)
        try:
            yield made
        finally:
            made.close()

    return ManagedResource("consumers", opened)

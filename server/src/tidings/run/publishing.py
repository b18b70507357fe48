"""Kafka's publisher as a component, and what goes through it. It never gates readiness: sends are acked without it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidings.messages.store import KafkaCommitPublisher
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.health import Health
from tidings.platform.lifecycle.run import ProcessContext
from tidings.run.held import ManagedResource
from tidings.run.options import kafka_config
from tidings.run.settings import Settings

CLOSE_S = 1.0
"""For what is under way when the process stops; what does not get out is published again by the relay."""


def publisher_component(settings: Settings, host: ProcessContext) -> ManagedResource[KafkaPublisher]:
    """Declared before what commits, so that it is stopped after it: what was committed gets out."""
    since = host.clock.now()

    def look(it: KafkaPublisher) -> Health:
        how = it.health()
        return Health(how.is_ok, how.reason, since)

    return ManagedResource("publisher", lambda: open_publisher(settings), look=look, gates_readiness=False)


@asynccontextmanager
async def open_publisher(settings: Settings) -> AsyncIterator[KafkaPublisher]:
    made = KafkaPublisher(kafka_config(settings))
    try:
        yield made
    finally:
        await made.close(CLOSE_S)


def make_on_commit(publisher: KafkaPublisher, host: ProcessContext) -> KafkaCommitPublisher:
    made = KafkaCommitPublisher(publisher)
    host.metrics.counter_callbacks(
        "events_published_total",
        "Appends that Kafka was told of: acknowledged, or left to the relay.",
        "outcome",
        lambda: {"ok": made.published, "failed": made.failed},
    )
    return made

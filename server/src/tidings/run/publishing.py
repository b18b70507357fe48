"""Kafka's publisher as a component, and what goes through it. It never gates readiness: sends are acked without it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidings.messages.store import KafkaPublishing
from tidings.platform.kafka.publisher import Publisher
from tidings.platform.lifecycle.health import Health
from tidings.platform.lifecycle.run import Host
from tidings.run.held import Held
from tidings.run.options import kafka_connection
from tidings.run.settings import Settings

CLOSE_S = 1.0
"""For what is under way when the process stops; what does not get out is published again by the relay."""


def publisher(settings: Settings, host: Host) -> Held[Publisher]:
    """Declared before what commits, so that it is stopped after it: what was committed gets out."""
    since = host.clock.now()

    def look(it: Publisher) -> Health:
        how = it.how()
        return Health(how.is_ok, how.reason, since)

    return Held("publisher", lambda: opened(settings), look=look, gates_readiness=False)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Publisher]:
    made = Publisher(kafka_connection(settings))
    try:
        yield made
    finally:
        await made.close(CLOSE_S)


def told(publisher: Publisher, host: Host) -> KafkaPublishing:
    made = KafkaPublishing(publisher)
    host.metrics.tallies(
        "events_published_total",
        "Appends that Kafka was told of: acknowledged, or left to the relay.",
        "outcome",
        lambda: {"ok": made.published, "failed": made.failed},
    )
    return made

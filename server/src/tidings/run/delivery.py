"""The process `delivery`: reads the topic `messages` and does what follows each commit. Any number may run.

Kafka gives each its partitions; they may be started and stopped in any order, at any time.
"""

import asyncio
from collections.abc import Sequence
from typing import NoReturn, override

from tidings.delivery.counts import Counts
from tidings.delivery.worker import Worker
from tidings.messages.events import Committed
from tidings.platform.kafka.consumer import Consumer
from tidings.platform.kafka.dead_letters import bury_in
from tidings.platform.kafka.lane import Work
from tidings.platform.kafka.publisher import Publisher
from tidings.platform.kafka.records import Batch
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.health import Health
from tidings.platform.lifecycle.run import Host, run
from tidings.run import consuming, publishing, wiring
from tidings.run.deliveries import decode, join_unreached, join_worker, wiring_in
from tidings.run.held import Held
from tidings.run.options import kafka_connection, otlp_headers, process_options, refuse_faulty
from tidings.run.settings import Settings
from tidings.topics.declaration import MESSAGES, MESSAGES_DEAD

GROUP = "delivery"
BUILDS = (*wiring.BUILDS, otlp_headers)


def run_delivery(settings: Settings) -> NoReturn:
    refuse_faulty(settings, BUILDS)
    run("delivery", process_options(settings, "delivery"), lambda host: compose(settings, host))


def compose(settings: Settings, host: Host) -> Sequence[Component]:
    engines = wiring.engines(settings, host)
    publisher = publishing.publisher(settings, host)
    return [*engines.components, publisher, Delivering(settings, host, engines, publisher)]


class Delivering(Component):
    """The consumer at work. Well as long as the group has us and no partition waits for something that fails."""

    name = "delivery"

    def __init__(
        self, settings: Settings, host: Host, engines: wiring.Engines, publisher: Held[Publisher]
    ) -> None:
        self._settings = settings
        self._host = host
        self._engines = engines
        self._publisher = publisher
        self._since = host.clock.now()
        self._consumer: Consumer[Committed] | None = None
        self._task: asyncio.Task[None] | None = None
        self.stop_s = settings.process.stop_s

    @override
    async def start(self) -> None:
        counts = Counts()
        work = Work(decode, self._handler(counts), bury_in(self._publisher.it, MESSAGES_DEAD.name))
        consumer = Consumer(kafka_connection(self._settings), work, group=GROUP, topics=[MESSAGES.name])
        _export(self._host, counts, consumer)
        self._consumer = consumer
        self._task = self._host.tasks.spawn("delivery", consumer.run(), may_end=True)

    @override
    async def stop(self) -> None:
        """Batches at hand are finished and committed; the others go to whoever takes the partitions."""
        if self._consumer is not None and self._task is not None:
            self._consumer.stop()
            await asyncio.wait([self._task])

    @override
    def health(self) -> Health | None:
        return consuming.health_of(self._consumer, self._since)

    def _handler(self, counts: Counts) -> "Handler":
        client, keys, clock = self._engines.dynamo.it, self._engines.keys.it, self._host.clock
        away = join_unreached(client, keys, clock, self._publisher.it, self._engines.epoch)
        worker = join_worker(
            client,
            keys,
            clock,
            wiring=wiring_in(self._engines.redis.it),
            away=away,
            pauses=self._host.pauses,
            counts=counts,
            epoch=self._engines.epoch,
        )
        return Handler(worker, self._host)


class Handler:
    """What a lane calls with each batch."""

    def __init__(self, worker: Worker, host: Host) -> None:
        self._worker = worker
        self._clock = host.clock
        self._age = host.metrics.latency(
            "delivery_seconds", "From the commit of an entry until it was handled, the newest of each event."
        )

    async def __call__(self, batch: Batch[Committed]) -> None:
        events = [event.body for event in batch.events]
        await self._worker.handle((event.key, event.entries) for event in events)
        now_ms = self._clock.now_ms()
        for event in events:
            self._age.observe(max(0, now_ms - event.entries[-1].created_at_ms) / 1000)


def _export(host: Host, counts: Counts, consumer: Consumer[Committed]) -> None:
    metrics = host.metrics
    metrics.tallies(
        "delivery_total",
        "Entries handled, come again, read from the log, late for want of Redis; pushes; stale routes; messages kept, "
        "users rung for, and not reached.",
        "what",
        lambda: {name: getattr(counts, name) for name in Counts.__slots__},
    )
    consuming.export(metrics, consumer, "delivery", "records")

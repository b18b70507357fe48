"""The process `delivery`: read the topic `messages` and process each commit. Any number may run.

Kafka gives each its partitions; they may be started and stopped in any order, at any time.
"""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from typing import NoReturn, override

from tidings.app.settings import Settings
from tidings.app.wiring import delivery, engine_clients
from tidings.app.wiring.delivery import build_worker, make_offline_checks, redis_ports
from tidings.app.wiring.media import make_delete_uploads
from tidings.app.wiring.message_traces import MessageTraces, make_traces
from tidings.app.wiring.options import kafka_config, otlp_headers, process_options, validate_settings
from tidings.delivery.batch_combiner import BatchCombiner
from tidings.delivery.model import DeliveryStats
from tidings.delivery.worker import DeliveryWorker
from tidings.messages.model import CommittedEvent
from tidings.messages.store import decode_committed
from tidings.platform.kafka.consumer import KafkaConsumer
from tidings.platform.kafka.partition_worker import RecordHandlers
from tidings.platform.kafka.publisher import KafkaPublisher, dead_letter_to
from tidings.platform.kafka.records import Batch
from tidings.platform.lifecycle.component import Component, Health, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.schema.topics.model import MESSAGES, MESSAGES_DEAD

GROUP = "delivery"
BUILDS = (*engine_clients.BUILDS, otlp_headers)


def run_delivery(settings: Settings) -> NoReturn:
    validate_settings(settings, BUILDS)
    run_process("delivery", process_options(settings, "delivery"), lambda host: compose(settings, host))


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    engines = engine_clients.build_engines(settings, host)
    publisher = delivery.publisher_component(settings, host)
    return [*engines.components, publisher, DeliveryConsumer(settings, host, engines, publisher)]


class DeliveryConsumer(Component):
    """The running consumer. Healthy while the group includes it and no partition waits for a retry."""

    name = "delivery"

    def __init__(
        self,
        settings: Settings,
        host: ProcessContext,
        engines: engine_clients.EngineComponents,
        publisher: ManagedResource[KafkaPublisher],
    ) -> None:
        self._settings = settings
        self._host = host
        self._engines = engines
        self._publisher = publisher
        self._since = host.clock.now()
        self._consumer: KafkaConsumer[CommittedEvent] | None = None
        self._task: asyncio.Task[None] | None = None
        self.stop_s = settings.process.stop_s

    @override
    async def start(self) -> None:
        counts = DeliveryStats()
        work = RecordHandlers(
            decode_committed,
            self._handler(counts).handle,
            dead_letter_to(self._publisher.value, MESSAGES_DEAD.name),
            is_ordered=True,
        )
        consumer = KafkaConsumer(kafka_config(self._settings), work, group=GROUP, topics=[MESSAGES.name])
        _export(self._host, counts, consumer)
        self._consumer = consumer
        self._task = self._host.tasks.spawn("delivery", consumer.run(), may_end=True)

    @override
    async def stop(self) -> None:
        """Finish and commit the current batches. The next owner of the partitions processes the rest."""
        if self._consumer is not None and self._task is not None:
            self._consumer.stop()
            await asyncio.wait([self._task])

    @override
    def health(self) -> Health | None:
        return engine_clients.consumer_health(self._consumer, self._since)

    def _handler(self, counts: DeliveryStats) -> "DeliveryHandler":
        client, user_keys, clock = self._engines.dynamo.value, self._engines.user_keys.value, self._host.clock
        traces = make_traces(self._host.tracing)
        worker = build_worker(
            client,
            user_keys,
            clock,
            wiring=redis_ports(self._engines.redis.value),
            offline_checks=make_offline_checks(self._publisher.value, self._host),
            failpoints=self._host.failpoints,
            counts=counts,
            epoch=self._engines.epoch,
            traces=None if traces is None else traces.delivering,
            delete_uploads=make_delete_uploads(self._settings, self._publisher.value),
        )
        return DeliveryHandler(worker, self._host, traces)


class DeliveryHandler:
    """Handle the batches of a partition, and measure how old their entries are."""

    def __init__(
        self, worker: DeliveryWorker, host: ProcessContext, traces: MessageTraces | None = None
    ) -> None:
        self._batches = BatchCombiner(worker.process)
        self._traces = traces
        self._clock = host.clock
        self._age = host.metrics.latency(
            "delivery_seconds", "From the commit of an entry until it was handled, the newest of each event."
        )

    async def handle(self, batch: Batch[CommittedEvent]) -> None:
        events = [event.body for event in batch.events]
        with nullcontext() if self._traces is None else self._traces.deliver(batch):
            await self._batches.handle([(event.key, event.entries) for event in events])
        now_ms = self._clock.now_ms()
        for event in events:
            self._age.observe(max(0, now_ms - event.entries[-1].created_at_ms) / 1000)


def _export(host: ProcessContext, counts: DeliveryStats, consumer: KafkaConsumer[CommittedEvent]) -> None:
    metrics = host.metrics
    metrics.counter_callbacks(
        "delivery_total",
        "Entries that were processed, repeated, backfilled from the log or deferred without Redis; pushes; stale routes; "
        "messages queued for offline users, resume signals, and offline checks.",
        "what",
        lambda: {name: getattr(counts, name) for name in DeliveryStats.__slots__},
    )
    engine_clients.export_consumer(metrics, consumer, "delivery", "records")

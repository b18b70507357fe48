"""The process `webhooks`: read the topic `messages` and send events to endpoints. Any number may run.

Kafka gives each its partitions, and the queues of endpoints are leased, so they may be started and stopped in any order.
"""

import asyncio
from collections.abc import Sequence
from typing import NoReturn, override

from tidings.app.settings import Settings, production
from tidings.app.wiring import engine_clients
from tidings.app.wiring.options import kafka_config, otlp_headers, process_options, validate_settings
from tidings.app.wiring.webhooks import WebhookWorkerParts, transport_component
from tidings.messages.model import CommittedEvent
from tidings.messages.store import decode_committed
from tidings.platform.kafka.consumer import KafkaConsumer
from tidings.platform.kafka.partition_worker import RecordHandlers
from tidings.platform.kafka.records import Batch
from tidings.platform.lifecycle.component import Component, Health, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.schema.topics.model import MESSAGES
from tidings.webhooks.sender import WebhookStats
from tidings.webhooks.store.http import HttpWebhookTransport
from tidings.webhooks.worker import PartitionRange, WebhookWorker

GROUP = "webhooks"
BUILDS = (*engine_clients.BUILDS, otlp_headers, production.webhook_network)
_IDLE_S = 5.0


def run_webhooks(settings: Settings) -> NoReturn:
    validate_settings(settings, BUILDS)
    run_process("webhooks", process_options(settings, "webhooks"), lambda host: compose(settings, host))


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    engines = engine_clients.build_engines(settings, host)
    transport = transport_component(settings)
    return [*engines.components, transport, WebhookConsumer(settings, host, engines, transport)]


class WebhookConsumer(Component):
    """The running consumer. Healthy while the group includes it and no partition waits for a retry."""

    name = "webhooks"

    def __init__(
        self,
        settings: Settings,
        host: ProcessContext,
        engines: engine_clients.EngineComponents,
        transport: ManagedResource[HttpWebhookTransport],
    ) -> None:
        self._settings = settings
        self._host = host
        self._engines = engines
        self._transport = transport
        self._since = host.clock.now()
        self._consumer: KafkaConsumer[CommittedEvent] | None = None
        self._parts: WebhookWorkerParts | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.stop_s = settings.process.stop_s

    @override
    async def start(self) -> None:
        parts = WebhookWorkerParts(self._settings, self._host, self._engines, self._transport.value)
        # The delivery worker puts undecodable records into the dead-letter topic, once for all consumers.
        work = RecordHandlers(
            decode_committed,
            WebhookHandler(parts.worker).handle,
            engine_clients.drop_undecodable,
            is_ordered=True,
        )
        consumer = KafkaConsumer(kafka_config(self._settings), work, group=GROUP, topics=[MESSAGES.name])
        _export(self._host, parts, consumer)
        self._consumer, self._parts = consumer, parts
        spawn = self._host.tasks.spawn
        self._tasks = [
            spawn("webhooks", consumer.run(), may_end=True),
            spawn("webhook queues", parts.sweeper.run()),
            spawn("webhook delivery log", parts.recorder.run()),
        ]

    @override
    async def stop(self) -> None:
        """Finish the current batches and requests. Other workers send the rest."""
        if self._consumer is None or self._parts is None:
            return
        running, sweeping, recording = self._tasks
        await self._host.tasks.stop(sweeping)
        self._consumer.stop()
        await asyncio.wait([running])
        await self._parts.worker.wait_idle(_IDLE_S)
        await self._parts.sweeper.wait_idle(_IDLE_S)
        await self._host.tasks.stop(recording)
        await self._parts.recorder.flush()

    @override
    def health(self) -> Health | None:
        return engine_clients.consumer_health(self._consumer, self._since)


class WebhookHandler:
    def __init__(self, worker: WebhookWorker) -> None:
        self._worker = worker

    async def handle(self, batch: Batch[CommittedEvent]) -> None:
        first, last = batch.events[0].record.offset, batch.events[-1].record.offset
        where = PartitionRange(batch.partition, first, last)
        await self._worker.handle(where, ((event.body.key, event.body.entries) for event in batch.events))


def _export(host: ProcessContext, parts: WebhookWorkerParts, consumer: KafkaConsumer[CommittedEvent]) -> None:
    stats, sweeper = parts.stats, parts.sweeper
    host.metrics.counter_callbacks(
        "webhook_deliveries_total",
        "Attempts that delivered an event or failed, events that were given up, runs of events that were queued, "
        "attempts that are missing in the delivery log, and endpoints that were disabled.",
        "what",
        lambda: {name: getattr(stats, name) for name in WebhookStats.__slots__},
    )
    host.metrics.gauge(
        "webhook_waiting_endpoints", "Webhook endpoints with queued events, of all tenants."
    ).set_function(lambda: sweeper.waiting)
    host.metrics.gauge(
        "webhook_failing_endpoints", "Webhook endpoints with queued events whose every attempt fails."
    ).set_function(lambda: sweeper.failing)
    engine_clients.export_consumer(host.metrics, consumer, "webhooks", "records")

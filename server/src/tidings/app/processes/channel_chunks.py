"""Consumers of chunks with a topic of their own: e-mail, erasures and exports in `notifications`, push, and rebuilds in
`search`.

So a slow mail server does not delay deliveries to inboxes.
"""

import asyncio
from typing import Protocol, override

from tidings.app.settings import Settings
from tidings.app.wiring import engine_clients
from tidings.app.wiring.options import kafka_config
from tidings.inboxes.mail.worker import MailStats, MailWorker
from tidings.jobs.chunk_topic import CHANNEL_TOPICS, decode_chunk
from tidings.jobs.model import ChunkRef, JobKind
from tidings.platform.kafka.consumer import ConsumerTuning, KafkaConsumer
from tidings.platform.kafka.partition_worker import PartitionWorkerOptions, RecordHandlers
from tidings.platform.kafka.publisher import KafkaPublisher, dead_letter_to
from tidings.platform.kafka.records import Batch
from tidings.platform.lifecycle.component import Component, Health, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.telemetry import logs
from tidings.schema.topics.model import NOTIFICATIONS_DEAD

log = logs.get_logger(__name__)

# One at a time: a chunk is up to 100 users, and what was sent and not committed is read again after a crash.
_TUNING = ConsumerTuning(worker=PartitionWorkerOptions(max_batch_records=1, max_queued_records=20))


class ChunkProcessor(Protocol):
    async def process(self, ref: ChunkRef) -> None:
        """Process one chunk and record the result. Idempotent."""
        ...


class WorkerOwner(Protocol):
    """The component whose worker also processes these chunks. It starts before the consumer."""

    @property
    def worker(self) -> ChunkProcessor | None: ...


class ChannelConsumer(Component):
    """The running consumer. Healthy while the group includes it and no partition waits for a retry."""

    def __init__(
        self,
        kind: JobKind,
        settings: Settings,
        host: ProcessContext,
        publisher: ManagedResource[KafkaPublisher],
        owner: WorkerOwner,
    ) -> None:
        self.name = CHANNEL_TOPICS[kind]
        self._kind = kind
        self._settings = settings
        self._host = host
        self._publisher = publisher
        self._owner = owner
        self._since = host.clock.now()
        self._consumer: KafkaConsumer[ChunkRef] | None = None
        self._running: asyncio.Task[None] | None = None
        self.stop_s = settings.process.stop_s

    @override
    async def start(self) -> None:
        worker = self._owner.worker
        if worker is None:
            raise AssertionError(f"the consumer of {self.name} starts before its worker")
        work = RecordHandlers(
            decode_chunk,
            lambda batch: process_chunks(worker, batch),
            dead_letter_to(self._publisher.value, NOTIFICATIONS_DEAD.name),
        )
        consumer = KafkaConsumer(
            kafka_config(self._settings), work, group=self.name, topics=[self.name], tuning=_TUNING
        )
        self._export(consumer)
        self._consumer = consumer
        self._running = self._host.tasks.spawn(self.name, consumer.run(), may_end=True)

    def _export(self, consumer: KafkaConsumer[ChunkRef]) -> None:
        # The reference of the metrics is made from these names.
        if self._kind is JobKind.MAIL:
            engine_clients.export_consumer(self._host.metrics, consumer, "mails", "chunks")
        elif self._kind is JobKind.PUSH:
            engine_clients.export_consumer(self._host.metrics, consumer, "pushes", "chunks")
        elif self._kind is JobKind.INDEX:
            engine_clients.export_consumer(self._host.metrics, consumer, "indexing", "chunks")
        elif self._kind is JobKind.ERASE:
            engine_clients.export_consumer(self._host.metrics, consumer, "erasures", "chunks")
        else:
            engine_clients.export_consumer(self._host.metrics, consumer, "exports", "chunks")

    @override
    async def stop(self) -> None:
        """Finish the current chunks. The next owner of the partitions processes the rest."""
        if self._consumer is None or self._running is None:
            return
        self._consumer.stop()
        await asyncio.wait([self._running])

    @override
    def health(self) -> Health | None:
        return engine_clients.consumer_health(self._consumer, self._since)


async def process_chunks(worker: ChunkProcessor, batch: Batch[ChunkRef]) -> None:
    """Process the chunks of a partition in their order. A retryable error pauses the partition until it is solved."""
    for event in batch.events:
        await worker.process(event.body)


def export_mails(host: ProcessContext, stats: MailStats, worker: MailWorker) -> None:
    host.metrics.counter_callbacks(
        "mails_total",
        "Mails by outcome: sent; skipped for a reason; deferred, to be tried again; failed; repeated ones of an earlier "
        "attempt.",
        "outcome",
        lambda: {name: getattr(stats, name) for name in MailStats.__slots__},
    )
    host.metrics.gauge(
        "mail_server_failing",
        "1 if the mail server did not answer or refused the sender in the last 30 seconds.",
    ).set_function(lambda: float(worker.is_down))

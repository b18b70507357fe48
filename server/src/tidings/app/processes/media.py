"""The process `media`: process uploaded files, and delete files that nothing refers to. Any number may run."""

import asyncio
from collections.abc import Sequence
from typing import NoReturn, override

from tidings.app.settings import Settings
from tidings.app.wiring import delivery, engine_clients
from tidings.app.wiring.link_previews import link_fetcher_component, link_preview_worker
from tidings.app.wiring.media import (
    MediaWorkerParts,
    require_decoder,
    s3_component,
    s3_options,
)
from tidings.app.wiring.options import kafka_config, otlp_headers, process_options, validate_settings
from tidings.kernel.errors import Code, TidingsError
from tidings.media.link_previews import LinkFetcher, LinkPreviewWorker
from tidings.media.model import MediaTask
from tidings.media.store.tasks import decode_media_task
from tidings.media.worker import MediaStats, MediaWorker
from tidings.platform.kafka.consumer import ConsumerTuning, KafkaConsumer
from tidings.platform.kafka.partition_worker import PartitionWorkerOptions, RecordHandlers
from tidings.platform.kafka.publisher import KafkaPublisher, dead_letter_to
from tidings.platform.kafka.records import Batch
from tidings.platform.lifecycle.component import Component, Health, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.platform.s3.client import S3Client
from tidings.schema.topics.model import MEDIA, MEDIA_DEAD

GROUP = "media"
BUILDS = (*engine_clients.BUILDS, otlp_headers, s3_options)
# Few at a time: a file takes seconds, and what was not committed is processed again after a crash.
_TUNING = ConsumerTuning(worker=PartitionWorkerOptions(max_batch_records=10, max_queued_records=50))


def run_media(settings: Settings) -> NoReturn:
    validate_settings(settings, BUILDS)
    if settings.media.endpoint is None:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "media.endpoint is not set.",
            hint="Name the store of attachments, or do not run this process.",
        )
    require_decoder()
    run_process("media", process_options(settings, "media"), lambda host: compose(settings, host))


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    engines = engine_clients.build_engines(settings, host)
    publisher = delivery.publisher_component(settings, host)
    s3, links = s3_component(settings), link_fetcher_component(settings)
    consumer = MediaConsumer(settings, host, engines, publisher=publisher, s3=s3, links=links)
    return [*engines.components, publisher, s3, links, consumer]


class MediaConsumer(Component):
    """The running consumer and the sweeper. Healthy while the group includes it and no partition waits for a retry."""

    name = "media"

    def __init__(
        self,
        settings: Settings,
        host: ProcessContext,
        engines: engine_clients.EngineComponents,
        *,
        publisher: ManagedResource[KafkaPublisher],
        s3: ManagedResource[S3Client | None],
        links: ManagedResource[LinkFetcher],
    ) -> None:
        self._settings = settings
        self._host = host
        self._engines = engines
        self._publisher = publisher
        self._s3 = s3
        self._links = links
        self._since = host.clock.now()
        self._consumer: KafkaConsumer[MediaTask] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.stop_s = settings.process.stop_s

    @override
    async def start(self) -> None:
        s3 = self._s3.value
        if s3 is None:
            raise RuntimeError("the process needs media.endpoint")
        parts = MediaWorkerParts(self._settings, self._host, self._engines, self._publisher.value, s3)
        links = link_preview_worker(self._engines, self._host.clock, self._links.value)
        handler = MediaTaskHandler(parts.worker, links)
        dead_letter = dead_letter_to(self._publisher.value, MEDIA_DEAD.name)
        work = RecordHandlers(decode_media_task, handler.handle, dead_letter)
        consumer = KafkaConsumer(
            kafka_config(self._settings), work, group=GROUP, topics=[MEDIA.name], tuning=_TUNING
        )
        _export(self._host, parts)
        engine_clients.export_consumer(self._host.metrics, consumer, "media", "tasks")
        self._consumer = consumer
        self._tasks = [
            self._host.tasks.spawn("media", consumer.run(), may_end=True),
            self._host.tasks.spawn("media sweeper", parts.sweeper.run()),
        ]

    @override
    async def stop(self) -> None:
        """Finish the current files. The next owner of the partitions processes the rest."""
        if self._consumer is None:
            return
        running, sweeping = self._tasks
        await self._host.tasks.stop(sweeping)
        self._consumer.stop()
        await asyncio.wait([running])

    @override
    def health(self) -> Health | None:
        return engine_clients.consumer_health(self._consumer, self._since)


class MediaTaskHandler:
    def __init__(self, worker: MediaWorker, links: LinkPreviewWorker) -> None:
        self._worker = worker
        self._links = links

    async def handle(self, batch: Batch[MediaTask]) -> None:
        tasks = [event.body for event in batch.events]
        pages = [task for task in tasks if task.action == "preview"]
        await asyncio.gather(
            self._worker.handle([task for task in tasks if task.action != "preview"]),
            *(self._links.run(task) for task in pages),
        )


def _export(host: ProcessContext, parts: MediaWorkerParts) -> None:
    stats, sweeper = parts.worker.stats, parts.sweeper
    host.metrics.counter_callbacks(
        "media_files_total",
        "Uploaded files that were processed, refused, or deleted with their row.",
        "outcome",
        lambda: {name: getattr(stats, name) for name in MediaStats.__slots__},
    )
    host.metrics.counter_callbacks(
        "media_swept_total",
        "What sweeps found: rows and objects; orphaned objects, expired uploads, leftovers and multipart uploads that were "
        "deleted; files that were published again; deleted objects of exports; rows without an object.",
        "what",
        lambda: {name: getattr(sweeper.stats, name) for name in type(sweeper.stats).__slots__},
    )
    host.metrics.gauge(
        "media_missing_objects", "Uploads whose object the last sweep of this process did not find."
    ).set_function(lambda: sweeper.last.missing)
    host.metrics.gauge(
        "media_sweep_age_seconds",
        "Seconds since a sweep ended, as far as this process knows; at first, since it started.",
    ).set_function(lambda: (host.clock.now_ms() - sweeper.finished_at_ms) / 1000)

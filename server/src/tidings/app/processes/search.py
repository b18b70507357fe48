"""The process `search`: keep the index up to date with the topic `messages`, and rebuild it.

With the index in a directory, one process runs and holds the lock of the directory. With OpenSearch, any number may run.
"""

import asyncio
from collections.abc import Sequence
from typing import NoReturn, override

from tidings.app.processes.channel_chunks import ChannelConsumer
from tidings.app.settings import Settings, production
from tidings.app.wiring import delivery, engine_clients
from tidings.app.wiring.options import kafka_config, otlp_headers, process_options, validate_settings
from tidings.app.wiring.search import SearchWorkerParts, open_index, required_engine, search_engine
from tidings.jobs.model import JobKind
from tidings.messages.model import CommittedEvent
from tidings.messages.store import decode_committed
from tidings.platform.kafka.consumer import KafkaConsumer
from tidings.platform.kafka.partition_worker import RecordHandlers
from tidings.platform.kafka.records import Batch
from tidings.platform.lifecycle.component import Component, Health, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.schema.topics.model import MESSAGES
from tidings.search.indexer import MessageIndexer
from tidings.search.ports import SearchIndex
from tidings.search.rebuild import RebuildWorker

GROUP = "search"
BUILDS = (*engine_clients.BUILDS, otlp_headers, search_engine, production.search_transport)


def run_search(settings: Settings) -> NoReturn:
    # The doctor checks BUILDS in every installation, also in one without search.
    validate_settings(settings, (*BUILDS, required_engine))
    run_process("search", process_options(settings, "search"), lambda host: compose(settings, host))


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    engines = engine_clients.build_engines(settings, host)
    index = ManagedResource[SearchIndex]("index", lambda: open_index(settings, host.clock))
    publisher = delivery.publisher_component(settings, host)
    consumer = SearchConsumer(settings, host, engines, index)
    chunks = ChannelConsumer(JobKind.INDEX, settings, host, publisher, consumer)
    return [*engines.components, publisher, index, consumer, chunks]


class SearchConsumer(Component):
    """The running consumer. Healthy while the group includes it and no partition waits for a retry."""

    name = "search"

    def __init__(
        self,
        settings: Settings,
        host: ProcessContext,
        engines: engine_clients.EngineComponents,
        index: ManagedResource[SearchIndex],
    ) -> None:
        self._settings = settings
        self._host = host
        self._engines = engines
        self._index = index
        self._since = host.clock.now()
        self._consumer: KafkaConsumer[CommittedEvent] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.worker: RebuildWorker | None = None
        self.stop_s = settings.process.stop_s

    @override
    async def start(self) -> None:
        parts = SearchWorkerParts(self._settings, self._host, self._engines, self._index.value)
        # The delivery worker puts undecodable records into the dead-letter topic, once for all consumers.
        work = RecordHandlers(
            decode_committed,
            IndexHandler(parts.indexer).handle,
            engine_clients.drop_undecodable,
            is_ordered=True,
        )
        consumer = KafkaConsumer(kafka_config(self._settings), work, group=GROUP, topics=[MESSAGES.name])
        _export(self._host, parts, consumer)
        self._consumer, self.worker = consumer, parts.rebuild
        spawn = self._host.tasks.spawn
        self._tasks = [
            spawn("search", consumer.run(), may_end=True),
            spawn("index sweeper", parts.sweeper.run()),
        ]

    @override
    async def stop(self) -> None:
        """Finish and commit the current batches. The next process indexes the rest."""
        if self._consumer is None:
            return
        running, sweeping = self._tasks
        await self._host.tasks.stop(sweeping)
        self._consumer.stop()
        await asyncio.wait([running])

    @override
    def health(self) -> Health | None:
        return engine_clients.consumer_health(self._consumer, self._since)


class IndexHandler:
    def __init__(self, indexer: MessageIndexer) -> None:
        self._indexer = indexer

    async def handle(self, batch: Batch[CommittedEvent]) -> None:
        await self._indexer.handle((event.body.key, event.body.entries) for event in batch.events)


def _export(host: ProcessContext, parts: SearchWorkerParts, consumer: KafkaConsumer[CommittedEvent]) -> None:
    stats = parts.stats
    host.metrics.counter_callbacks(
        "search_documents_total",
        "Messages that were put into the search index or removed from it.",
        "what",
        lambda: {"indexed": stats.indexed, "removed": stats.removed},
    )
    host.metrics.gauge(
        "search_index_age_seconds",
        "Age of the newest entry of the last batch when the search index had it.",
    ).set_function(lambda: stats.age_s)
    host.metrics.gauge(
        "search_purge_age_seconds",
        "Time since the last purge of the search index. Until a purge, its files have words of deleted messages.",
    ).set_function(lambda: parts.sweeper.purge_age_s)
    engine_clients.export_consumer(host.metrics, consumer, "search", "records")

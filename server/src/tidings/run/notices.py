"""The process `notices`: does the chunks of jobs, and looks after jobs that are due. Any number may run.

A process of its own: a send to 100,000 users is minutes of work, and no chat message should wait behind it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, override

from tidings.jobs.look_after import LookAfter
from tidings.jobs.model import ChunkRef
from tidings.jobs.store import GROUP, KafkaChunks, decode, kafka_key
from tidings.kernel.errors import TidingsError
from tidings.notices.live import LiveNews
from tidings.notices.work import ChunkWork
from tidings.platform.kafka.consumer import Consumer, ConsumerTuning
from tidings.platform.kafka.consumers import KafkaConsumers
from tidings.platform.kafka.dead_letters import bury_in
from tidings.platform.kafka.lane import LaneTuning, Work
from tidings.platform.kafka.publisher import Publisher
from tidings.platform.kafka.records import Batch
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.health import Health
from tidings.platform.lifecycle.run import Host, run
from tidings.platform.telemetry import logs
from tidings.run import consuming, publishing, wiring
from tidings.run.held import Held
from tidings.run.inboxes import join_look_after, join_serving
from tidings.run.options import kafka_connection, otlp_headers, process_options, refuse_faulty
from tidings.run.settings import Settings
from tidings.topics.declaration import NOTICES, NOTICES_DEAD

log = logs.get(__name__)

BUILDS = (*wiring.BUILDS, otlp_headers, kafka_connection)
LOOK_EVERY_S = 4.0
_AGAIN_S = 2.0
_TELL_S = 1.0
# few at a time: a chunk is a fifth of a second, and what is handled and not committed comes again after a death
_TUNING = ConsumerTuning(lane=LaneTuning(max_batch_records=5, max_queued_records=50))


def run_notices(settings: Settings) -> NoReturn:
    refuse_faulty(settings, BUILDS)
    run("notices", process_options(settings, "notices"), lambda host: compose(settings, host))


def compose(settings: Settings, host: Host) -> Sequence[Component]:
    engines = wiring.engines(settings, host)
    publisher = publishing.publisher(settings, host)
    group = consuming.progress(settings, topic=NOTICES.name, group=GROUP, key_of=kafka_key)
    return [*engines.components, publisher, group, Working(settings, host, engines, Lines(publisher, group))]


@dataclass(frozen=True, slots=True)
class Lines:
    """The process's lines to Kafka, besides its consumer."""

    publisher: Held[Publisher]
    group: Held[KafkaConsumers[ChunkRef]]


class Working(Component):
    """Well as long as the group has us and no partition waits for something that fails."""

    name = "notices"

    def __init__(self, settings: Settings, host: Host, engines: wiring.Engines, lines: Lines) -> None:
        self._settings = settings
        self._host = host
        self._engines = engines
        self._lines = lines
        self._since = host.clock.now()
        self._consumer: Consumer[ChunkRef] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._live: LiveNews | None = None
        self.stop_s = settings.process.stop_s

    @override
    async def start(self) -> None:
        publisher, spawn = self._lines.publisher.it, self._host.tasks.spawn
        client, keys, clock = self._engines.dynamo.it, self._engines.keys.it, self._host.clock
        redis, chunks = self._engines.redis.it, KafkaChunks(publisher)
        cases, self._live = join_serving(client, keys, clock, chunks, redis, settings=self._settings.notices)
        jobs = join_look_after(client, clock, chunks, self._lines.group.it)
        work = Work(decode, Handler(cases.work), bury_in(publisher, NOTICES_DEAD.name))
        consumer = Consumer(
            kafka_connection(self._settings), work, group=GROUP, topics=[NOTICES.name], tuning=_TUNING
        )
        consuming.export(self._host.metrics, consumer, "notices", "chunks")
        self._consumer = consumer
        running = spawn("notices", consumer.run(), may_end=True)
        self._tasks = [running, spawn("jobs due", look_after(jobs))]

    @override
    async def stop(self) -> None:
        """Batches at hand are finished and committed; the others go to whoever takes the partitions."""
        if self._consumer is None:
            return
        running, looking = self._tasks
        await self._host.tasks.stop(looking)
        self._consumer.stop()
        await asyncio.wait([running])
        if self._live is not None:
            await self._live.settled(_TELL_S)

    @override
    def health(self) -> Health | None:
        return consuming.health_of(self._consumer, self._since)


class Handler:
    """What a lane calls with each batch. What is retryable pauses the partition, however long."""

    def __init__(self, work: ChunkWork) -> None:
        self._work = work

    async def __call__(self, batch: Batch[ChunkRef]) -> None:
        for event in batch.events:
            await self._work(event.body)


async def look_after(jobs: LookAfter) -> None:
    """Goes on whatever fails: an engine that is away is waited for."""
    while True:
        try:
            await jobs.run(LOOK_EVERY_S)
        except TidingsError as error:
            if not error.retryable:
                raise
            log.warning("jobs are not looked after for a moment", reason=error.message)
            await asyncio.sleep(_AGAIN_S)

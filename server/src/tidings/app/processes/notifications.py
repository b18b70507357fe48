"""The process `notifications`: process the chunks of jobs and offline checks, start jobs that are due. Any number may run.

A process of its own: a send to 100,000 users is minutes of work, and no chat message should wait behind it.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, override

from tidings.app.processes.mails import MailConsumer, export_mails, process_chunks
from tidings.app.processes.offline_events import OfflineCheckConsumer
from tidings.app.settings import Settings, production
from tidings.app.wiring import delivery, engine_clients
from tidings.app.wiring.chats import build_chat_commands
from tidings.app.wiring.inboxes import ChunkActions, MakeMails, build_process_inboxes, build_sweeper
from tidings.app.wiring.mail import build_mail_worker, mail_options, open_smtp, smtp_options
from tidings.app.wiring.options import kafka_config, otlp_headers, process_options, validate_settings
from tidings.chats.member_jobs import MemberChunkWorker
from tidings.inboxes.chunk_worker import ChunkWorker
from tidings.inboxes.config_service import InboxConfigCache
from tidings.inboxes.mail.ports import ChunkMails
from tidings.inboxes.mail.worker import MailStats
from tidings.inboxes.ports import InboxRepository
from tidings.inboxes.publisher import InboxChangePublisher
from tidings.inboxes.store.smtp import SmtpTransport
from tidings.jobs.chunk_topic import CHUNK_GROUP, MAIL_GROUP, KafkaChunkPublisher, decode_chunk, kafka_key
from tidings.jobs.model import ChunkRef
from tidings.jobs.service import JobService, JobSweeper
from tidings.kernel.errors import TidingsError
from tidings.kernel.fences import PartitionProgress
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.kafka.consumer import ConsumerTuning, KafkaConsumer, KafkaConsumerLag
from tidings.platform.kafka.partition_worker import PartitionWorkerOptions, RecordHandlers
from tidings.platform.kafka.publisher import KafkaPublisher, dead_letter_to
from tidings.platform.lifecycle.component import Component, Health, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.platform.telemetry import logs
from tidings.schema.topics.model import MAILS, NOTIFICATIONS, NOTIFICATIONS_DEAD
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore

log = logs.get_logger(__name__)

BUILDS = (
    *engine_clients.BUILDS,
    otlp_headers,
    kafka_config,
    smtp_options,
    mail_options,
    *production.MAIL,
)
CHECK_EVERY_S = 4.0
_RETRY_S = 2.0
_LOG_EVERY_S = 1.0
# few at a time: a chunk is a fifth of a second, and what is handled and not committed comes again after a death
_TUNING = ConsumerTuning(worker=PartitionWorkerOptions(max_batch_records=5, max_queued_records=50))


def run_notifications(settings: Settings) -> NoReturn:
    validate_settings(settings, BUILDS)
    run_process(
        "notifications", process_options(settings, "notifications"), lambda host: compose(settings, host)
    )


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    engines = engine_clients.build_engines(settings, host)
    publisher = delivery.publisher_component(settings, host)
    group = engine_clients.progress(settings, topic=NOTIFICATIONS.name, group=CHUNK_GROUP, key_of=kafka_key)
    mails = engine_clients.progress(
        settings, topic=MAILS.name, group=MAIL_GROUP, key_of=kafka_key, name="mail_consumers"
    )
    server = smtp_options(settings)
    smtp = None if server is None else ManagedResource("mail_server", partial(open_smtp, server, host.clock))
    chunks = ChunkConsumer(settings, host, engines, Lines(publisher, group, mails, smtp))
    return [
        *engines.components,
        publisher,
        group,
        mails,
        *([] if smtp is None else [smtp]),
        chunks,
        *([] if smtp is None else [MailConsumer(settings, host, chunks)]),
        OfflineCheckConsumer(settings, host, engines, publisher),
    ]


@dataclass(frozen=True, slots=True)
class Lines:
    """The process's clients of Kafka, in addition to its consumer, and of the mail server, if there is one."""

    publisher: ManagedResource[KafkaPublisher]
    group: ManagedResource[KafkaConsumerLag[ChunkRef]]
    mails: ManagedResource[KafkaConsumerLag[ChunkRef]]
    smtp: ManagedResource[SmtpTransport] | None

    async def progress(self, refs: Collection[ChunkRef]) -> Mapping[ChunkRef, PartitionProgress]:
        """Return the progress of the consumers of each chunk's topic."""
        mails = [ref for ref in refs if ref.is_mail]
        others = [ref for ref in refs if not ref.is_mail]
        found = dict(await self.group.value.progress(others)) if others else {}
        return found | dict(await self.mails.value.progress(mails)) if mails else found


class ChunkConsumer(Component):
    """The running consumer. Healthy while the group includes it and no partition waits for a retry."""

    name = "notifications"

    def __init__(
        self, settings: Settings, host: ProcessContext, engines: engine_clients.EngineComponents, lines: Lines
    ) -> None:
        self._settings = settings
        self._host = host
        self._engines = engines
        self._lines = lines
        self._since = host.clock.now()
        self._consumer: KafkaConsumer[ChunkRef] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._live: InboxChangePublisher | None = None
        self.worker: ChunkWorker | None = None
        self.stop_s = settings.process.stop_s

    @override
    async def start(self) -> None:
        publisher, spawn = self._lines.publisher.value, self._host.tasks.spawn
        client, clock, chunks = self._engines.dynamo.value, self._host.clock, KafkaChunkPublisher(publisher)
        cases, self._live = build_process_inboxes(
            self._engines,
            clock,
            chunks,
            settings=self._settings.inboxes,
            actions=ChunkActions(
                add_members=self._member_worker(publisher).add, make_mails=self._make_mails()
            ),
        )
        self.worker = cases.worker
        on_ended = self._engines.events.value.job_ended
        jobs = build_sweeper(client, clock, chunks, self._lines.progress, on_ended)
        work = RecordHandlers(
            decode_chunk,
            lambda batch: process_chunks(cases.worker, batch),
            dead_letter_to(publisher, NOTIFICATIONS_DEAD.name),
        )
        consumer = KafkaConsumer(
            kafka_config(self._settings), work, group=CHUNK_GROUP, topics=[NOTIFICATIONS.name], tuning=_TUNING
        )
        engine_clients.export_consumer(self._host.metrics, consumer, "notifications", "chunks")
        self._consumer = consumer
        running = spawn("notifications", consumer.run(), may_end=True)
        self._tasks = [running, spawn("jobs due", run_sweeper(jobs))]

    def _make_mails(self) -> MakeMails | None:
        smtp, options = self._lines.smtp, mail_options(self._settings)
        if smtp is None or options is None:
            return None
        stats, engines, host = MailStats(), self._engines, self._host

        def make(repository: InboxRepository, inboxes: InboxConfigCache, jobs: JobService) -> ChunkMails:
            worker = build_mail_worker(
                engines.dynamo.value,
                engines.user_keys.value,
                host.clock,
                repository=repository,
                inboxes=inboxes,
                jobs=jobs,
                transport=smtp.value,
                options=options,
                stats=stats,
                failpoints=host.failpoints,
            )
            export_mails(host, stats, worker)
            return worker

        return make

    def _member_worker(self, publisher: KafkaPublisher) -> MemberChunkWorker:
        client, clock = self._engines.dynamo.value, self._host.clock
        rows = AuthenticatedRows(self._engines.keys.value)
        commands = build_chat_commands(
            client,
            clock,
            delivery.make_on_commit(publisher, self._host).publish,
            epoch=self._engines.epoch,
            tenants=TenantReader(DynamoTenantStore(client, rows), clock),
        )
        return MemberChunkWorker(commands)

    @override
    async def stop(self) -> None:
        """Finish and commit the current batches. The next owner of the partitions processes the rest."""
        if self._consumer is None:
            return
        running, looking = self._tasks
        await self._host.tasks.stop(looking)
        self._consumer.stop()
        await asyncio.wait([running])
        if self._live is not None:
            await self._live.wait_idle(_LOG_EVERY_S)

    @override
    def health(self) -> Health | None:
        return engine_clients.consumer_health(self._consumer, self._since)


async def run_sweeper(jobs: JobSweeper) -> None:
    """Run the sweeper. After a retryable error, such as an unavailable engine, it continues."""
    while True:
        try:
            await jobs.run(CHECK_EVERY_S)
        except TidingsError as error:
            if not error.retryable:
                raise
            log.warning("job sweeper failed, retrying", reason=error.message)
            await asyncio.sleep(_RETRY_S)

"""The process `notifications`: process the chunks of jobs and offline checks, start jobs that are due, expire messages.

Any number may run.

A process of its own: a send to 100,000 users is minutes of work, and no chat message should wait behind it.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, override

from tidings.app.processes.channel_chunks import ChannelConsumer, export_mails, process_chunks
from tidings.app.processes.offline_events import OfflineCheckConsumer
from tidings.app.settings import Settings, production
from tidings.app.wiring import delivery, engine_clients
from tidings.app.wiring.chats import build_chat_commands
from tidings.app.wiring.erasure import ErasureWiring
from tidings.app.wiring.exports import ExportWiring
from tidings.app.wiring.inboxes import InboxServices, build_process_inboxes
from tidings.app.wiring.mail import build_mail_worker, mail_options, open_smtp, smtp_options
from tidings.app.wiring.media import s3_component, s3_options
from tidings.app.wiring.options import kafka_config, otlp_headers, process_options, validate_settings
from tidings.app.wiring.push import make_has_providers
from tidings.app.wiring.retention import build_process_sweeper
from tidings.chats.commands import ChatCommands
from tidings.chats.member_jobs import MemberChunkWorker
from tidings.erasure.worker import ErasureWorker
from tidings.exports.worker import ExportWorker
from tidings.inboxes.channels.jobs import ChannelJobs
from tidings.inboxes.channels.ports import ChannelJobStarter
from tidings.inboxes.channels.push import PushJobs
from tidings.inboxes.chunk_worker import ChannelActions, ChunkWorker
from tidings.inboxes.mail.worker import MailStats
from tidings.inboxes.preferences import Channel
from tidings.inboxes.publisher import InboxChangePublisher
from tidings.inboxes.store.smtp import SmtpTransport
from tidings.jobs.chunk_topic import (
    CHANNEL_TOPICS,
    CHUNK_GROUP,
    KafkaChunkPublisher,
    decode_chunk,
    kafka_key,
)
from tidings.jobs.model import ChunkRef, JobKind
from tidings.jobs.service import JobSweeper
from tidings.kernel.errors import TidingsError
from tidings.kernel.fences import PartitionProgress
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.kafka.consumer import ConsumerTuning, KafkaConsumer, KafkaConsumerLag
from tidings.platform.kafka.partition_worker import PartitionWorkerOptions, RecordHandlers
from tidings.platform.kafka.publisher import KafkaPublisher, dead_letter_to
from tidings.platform.lifecycle.component import Component, Health, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.platform.s3.client import S3Client
from tidings.platform.telemetry import logs
from tidings.schema.topics.model import NOTIFICATIONS, NOTIFICATIONS_DEAD
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore

log = logs.get_logger(__name__)

BUILDS = (
    *engine_clients.BUILDS,
    otlp_headers,
    kafka_config,
    smtp_options,
    mail_options,
    s3_options,
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
    channels = {
        kind: engine_clients.progress(
            settings, topic=name, group=name, key_of=kafka_key, name=f"{kind}_consumers"
        )
        for kind, name in CHANNEL_TOPICS.items()
    }
    server = smtp_options(settings)
    smtp = None if server is None else ManagedResource("mail_server", partial(open_smtp, server, host.clock))
    s3 = s3_component(settings)
    chunks = ChunkConsumer(settings, host, engines, Lines(publisher, group, channels, smtp, s3))
    has_bucket = settings.media.endpoint is not None
    return [
        *engines.components,
        publisher,
        group,
        *channels.values(),
        *([] if smtp is None else [smtp]),
        s3,
        chunks,
        *([] if smtp is None else [ChannelConsumer(JobKind.MAIL, settings, host, publisher, chunks)]),
        ChannelConsumer(JobKind.ERASE, settings, host, publisher, chunks.erasures),
        *([ChannelConsumer(JobKind.EXPORT, settings, host, publisher, chunks.exports)] if has_bucket else []),
        OfflineCheckConsumer(settings, host, engines, publisher),
    ]


@dataclass(frozen=True, slots=True)
class Lines:
    """The process's clients of Kafka, in addition to its consumer, and of the mail server and the bucket, if there are."""

    publisher: ManagedResource[KafkaPublisher]
    group: ManagedResource[KafkaConsumerLag[ChunkRef]]
    channels: Mapping[JobKind, ManagedResource[KafkaConsumerLag[ChunkRef]]]
    smtp: ManagedResource[SmtpTransport] | None
    s3: ManagedResource[S3Client | None]

    async def progress(self, refs: Collection[ChunkRef]) -> Mapping[ChunkRef, PartitionProgress]:
        """Return the progress of the consumers of each chunk's topic."""
        found: dict[ChunkRef, PartitionProgress] = {}
        for kind in {ref.kind for ref in refs}:
            lag = self.group if kind is None else self.channels[kind]
            found |= await lag.value.progress([ref for ref in refs if ref.kind is kind])
        return found


@dataclass(slots=True)
class ErasureOwner:
    """Has the worker of erasures, once the process has started."""

    worker: ErasureWorker | None = None


@dataclass(slots=True)
class ExportOwner:
    """Has the worker of exports, once the process has started."""

    worker: ExportWorker | None = None


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
        self.erasures = ErasureOwner()
        self.exports = ExportOwner()
        self.stop_s = settings.process.stop_s

    @override
    async def start(self) -> None:
        publisher, spawn = self._lines.publisher.value, self._host.tasks.spawn
        clock, chunks = self._host.clock, KafkaChunkPublisher(publisher)
        commands = self._commands(publisher)
        cases, self._live = build_process_inboxes(
            self._engines,
            clock,
            chunks,
            settings=self._settings.inboxes,
            add_members=MemberChunkWorker(commands).add,
        )
        self.worker = cases.worker
        self.worker.use_channels(self._channels(cases))
        self._start_users(cases, commands, publisher)
        on_ended = self._engines.events.value.job_ended
        jobs = JobSweeper(cases.job_store, chunks, self._lines.progress, clock, on_ended)
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
        retention = build_process_sweeper(self._host, self._engines, publisher)
        self._tasks = [
            running,
            spawn("jobs due", run_sweeper(jobs)),
            spawn("retention", retention.run()),
        ]

    def _start_users(self, cases: InboxServices, commands: ChatCommands, publisher: KafkaPublisher) -> None:
        """Build the workers that erase and export users."""
        s3 = self._lines.s3.value
        self.erasures.worker = ErasureWiring(
            settings=self._settings,
            host=self._host,
            engines=self._engines,
            publisher=publisher,
            inboxes=cases,
            commands=commands,
            s3=s3,
        ).worker()
        if s3 is not None:
            self.exports.worker = ExportWiring(
                settings=self._settings,
                host=self._host,
                engines=self._engines,
                publisher=publisher,
                inboxes=cases,
                s3=s3,
            ).worker()

    def _channels(self, cases: InboxServices) -> ChannelActions:
        engines, host, clock = self._engines, self._host, self._host.clock
        pushes = ChannelJobs(JobKind.PUSH, cases.jobs, clock)
        has_providers = make_has_providers(engines.dynamo.value, engines.keys.value, clock)
        start: dict[Channel, ChannelJobStarter] = {Channel.PUSH: PushJobs(pushes, has_providers)}
        smtp, options = self._lines.smtp, mail_options(self._settings)
        if smtp is None or options is None:
            return ChannelActions(start=start)
        stats, mails = MailStats(), ChannelJobs(JobKind.MAIL, cases.jobs, clock)
        worker = build_mail_worker(
            engines.dynamo.value,
            engines.user_keys.value,
            clock,
            reader=cases.channel_reader,
            jobs=mails,
            transport=smtp.value,
            options=options,
            stats=stats,
            failpoints=host.failpoints,
        )
        export_mails(host, stats, worker)
        return ChannelActions(start={**start, Channel.EMAIL: mails}, send={JobKind.MAIL: worker.send})

    def _commands(self, publisher: KafkaPublisher) -> ChatCommands:
        client, clock = self._engines.dynamo.value, self._host.clock
        rows = AuthenticatedRows(self._engines.keys.value)
        return build_chat_commands(
            client,
            clock,
            delivery.make_on_commit(publisher, self._host).publish,
            epoch=self._engines.epoch,
            tenants=TenantReader(DynamoTenantStore(client, rows), clock),
        )

    @override
    async def stop(self) -> None:
        """Finish and commit the current batches. The next owner of the partitions processes the rest."""
        if self._consumer is None:
            return
        running, *sweeping = self._tasks
        for task in sweeping:
            await self._host.tasks.stop(task)
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

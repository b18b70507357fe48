"""The process `push`: send push notifications for offline events. Any number may run."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NoReturn, override

from msgspec.structs import replace

from tidings.app.processes.channel_chunks import ChannelConsumer
from tidings.app.settings import Settings, production
from tidings.app.wiring import delivery, engine_clients
from tidings.app.wiring.inboxes import InboxServices, build_process_inboxes, make_route_lookup
from tidings.app.wiring.options import kafka_config, otlp_headers, process_options, validate_settings
from tidings.app.wiring.push import PushWiring, Senders, build_handlers, open_senders
from tidings.inboxes.channels.jobs import ChannelJobs
from tidings.inboxes.channels.push import PushChunks
from tidings.inboxes.chunk_worker import ChannelActions, ChunkWorker
from tidings.jobs.chunk_topic import KafkaChunkPublisher
from tidings.jobs.model import JobKind
from tidings.kernel.clock import Clock
from tidings.platform.kafka.consumer import ConsumerTuning, KafkaConsumer
from tidings.platform.kafka.partition_worker import PartitionWorkerOptions, RecordHandlers
from tidings.platform.kafka.publisher import KafkaPublisher, dead_letter_to
from tidings.platform.kafka.records import Batch
from tidings.platform.lifecycle.component import Component, Health, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.push.dispatcher import PushDispatcher
from tidings.push.inbox_alerts import InboxAlertSender
from tidings.push.model import PushRead, PushTask
from tidings.push.ports import TaskPublisher
from tidings.push.rules import RetryDelays
from tidings.push.sending import PushStats
from tidings.push.store.tasks import KafkaTaskPublisher, decode_task, topic_delays_ms
from tidings.push.withdrawals import PushWithdrawals
from tidings.schema.topics.model import OFFLINE_DEAD

BUILDS = (*engine_clients.BUILDS, otlp_headers, kafka_config, *production.PUSH)
GROUP = "push"
# Few at a time: a batch waits for its slowest provider, and what was sent and not committed is read again after a crash.
_TUNING = ConsumerTuning(worker=PartitionWorkerOptions(max_batch_records=100, max_queued_records=500))


def run_push(settings: Settings) -> NoReturn:
    validate_settings(settings, BUILDS)
    run_process("push", process_options(settings, "push"), lambda host: compose(settings, host))


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    engines = engine_clients.build_engines(settings, host)
    publisher = delivery.publisher_component(settings, host)
    senders = ManagedResource("push_providers", lambda: open_senders(settings, host.clock))
    consumer = PushConsumer(settings, host, engines, publisher, senders)
    chunks = ChannelConsumer(JobKind.PUSH, settings, host, publisher, consumer)
    return [*engines.components, publisher, senders, consumer, chunks]


class PushConsumer(Component):
    """The running consumer. Healthy while the group includes it and no partition waits for a retry."""

    name = "push"

    def __init__(
        self,
        settings: Settings,
        host: ProcessContext,
        engines: engine_clients.EngineComponents,
        publisher: ManagedResource[KafkaPublisher],
        senders: ManagedResource[Senders],
    ) -> None:
        self._settings = settings
        self._host = host
        self._engines = engines
        self._publisher = publisher
        self._senders = senders
        self._since = host.clock.now()
        self._consumer: KafkaConsumer[PushTask | PushRead] | None = None
        self._running: asyncio.Task[None] | None = None
        self.worker: ChunkWorker | None = None
        self.stop_s = settings.process.stop_s

    @override
    async def start(self) -> None:
        publisher, clock, stats = self._publisher.value, self._host.clock, PushStats()
        engines, delays = self._engines, RetryDelays(self._settings.push.first_retry_s)
        delays_ms = topic_delays_ms(delays)
        inboxes, _ = build_process_inboxes(
            engines, clock, KafkaChunkPublisher(publisher), settings=self._settings.inboxes
        )
        wiring = PushWiring(
            client=engines.dynamo.value,
            keys=engines.user_keys.value,
            clock=clock,
            publisher=publisher,
            senders=self._senders.value,
            inboxes=inboxes,
            failpoints=self._host.failpoints,
            events=engines.events.value,
            epoch=engines.epoch,
            delays=delays,
        )
        dispatcher, withdrawals, alerts = build_handlers(wiring, stats)
        inboxes.worker.use_channels(self._channels(inboxes, alerts))
        self.worker = inboxes.worker
        handler = PushTaskHandler(
            dispatcher, withdrawals, KafkaTaskPublisher(publisher, delays), clock, delays_ms
        )
        work = RecordHandlers(decode_task, handler.handle, dead_letter_to(publisher, OFFLINE_DEAD.name))
        consumer = KafkaConsumer(
            kafka_config(self._settings), work, group=GROUP, topics=list(delays_ms), tuning=_TUNING
        )
        _export(self._host, stats, dispatcher)
        engine_clients.export_consumer(self._host.metrics, consumer, "push", "tasks")
        self._consumer = consumer
        self._running = self._host.tasks.spawn("push", consumer.run(), may_end=True)

    def _channels(self, inboxes: InboxServices, alerts: InboxAlertSender) -> ChannelActions:
        clock = self._host.clock
        chunks = PushChunks(
            reader=inboxes.channel_reader,
            jobs=ChannelJobs(JobKind.PUSH, inboxes.jobs, clock),
            alerts=alerts,
            routes=make_route_lookup(self._engines.redis.value),
            clock=clock,
        )
        return ChannelActions(send={JobKind.PUSH: chunks.send})

    @override
    async def stop(self) -> None:
        """Finish the current batches. The next owner of the partitions processes the rest."""
        if self._consumer is None or self._running is None:
            return
        self._consumer.stop()
        await asyncio.wait([self._running])

    @override
    def health(self) -> Health | None:
        return engine_clients.consumer_health(self._consumer, self._since)


class PushTaskHandler:
    """Process each task after the delay of its topic. One that is due later is published again."""

    def __init__(
        self,
        dispatcher: PushDispatcher,
        withdrawals: PushWithdrawals,
        tasks: TaskPublisher,
        clock: Clock,
        delays_ms: Mapping[str, int],
    ) -> None:
        self._dispatcher = dispatcher
        self._withdrawals = withdrawals
        self._tasks = tasks
        self._clock = clock
        self._delays_ms = delays_ms

    async def handle(self, batch: Batch[PushTask | PushRead]) -> None:
        reads = [event.body for event in batch.events if isinstance(event.body, PushRead)]
        if reads:
            await self._withdrawals.handle(reads)
        delay_ms = next(delay for name, delay in self._delays_ms.items() if batch.topic.endswith(name))
        waiting = [event.body for event in batch.events if isinstance(event.body, PushTask)]
        if not delay_ms:
            await self._dispatcher.handle(waiting)
            return
        while waiting:
            await self._sleep(waiting[0], delay_ms)
            now_ms = self._clock.now_ms()
            # The clock of the publisher may be ahead: the first task has waited long enough.
            ready = [task for task in waiting if task.at_ms + delay_ms <= now_ms]
            later = [task for task in waiting if task.at_ms + delay_ms > now_ms]
            await self._process(ready or later[:1], now_ms)
            waiting = later if ready else later[1:]

    async def _sleep(self, task: PushTask, delay_ms: int) -> None:
        wait_ms = min(delay_ms, task.at_ms + delay_ms - self._clock.now_ms())
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1000)

    async def _process(self, ready: Sequence[PushTask], now_ms: int) -> None:
        for task in ready:
            if task.due_ms > now_ms:
                await self._tasks.retry(replace(task, at_ms=now_ms))
        await self._dispatcher.handle([task for task in ready if task.due_ms <= now_ms])


def _export(host: ProcessContext, stats: PushStats, dispatcher: PushDispatcher) -> None:
    host.metrics.counter_callbacks(
        "push_notifications_total",
        "Push notifications by outcome: sent; skipped for a reason; retried later; gone, because the token was invalid; failed, "
        "with a dead letter; repeated events that had been sent before; withdrawn after a read.",
        "outcome",
        lambda: {name: getattr(stats, name) for name in PushStats.__slots__},
    )
    host.metrics.gauge(
        "push_failing_providers", "Push providers that do not answer; their notifications are postponed."
    ).set_function(lambda: dispatcher.outages.failing)

"""Part of the process `notifications`: process offline checks, and watch for gateways that vanish. Any number may run."""

import asyncio
from typing import override

from tidings.app.settings import Settings
from tidings.app.wiring import engine_clients
from tidings.app.wiring.delivery import build_offline_checker, make_offline_checks
from tidings.app.wiring.options import kafka_config
from tidings.connections.model import VanishedGateways
from tidings.connections.store import RECONNECT_MS, RedisConnectionRegistry
from tidings.delivery.model import OfflineCheck
from tidings.delivery.offline_checker import OfflineChecker, OfflineCheckStats
from tidings.delivery.store.offline_checks import DELAYS_MS, KafkaOfflineChecks, decode_check
from tidings.kernel.clock import Clock
from tidings.kernel.errors import UnavailableError
from tidings.platform.kafka.consumer import KafkaConsumer
from tidings.platform.kafka.partition_worker import RecordHandlers
from tidings.platform.kafka.publisher import KafkaPublisher, dead_letter_to
from tidings.platform.kafka.records import Batch
from tidings.platform.lifecycle.component import Component, Health, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.telemetry import logs
from tidings.schema.topics.model import OFFLINE_DEAD

log = logs.get_logger(__name__)

GROUP = "offline-checks"
_WATCH_EVERY_S = 5.0
_UNWRITTEN_MS = 120_000
"""Acks of a vanished gateway that may be unwritten are younger than this. Twice the default of `gateway.ack_flush_s`."""


class OfflineCheckConsumer(Component):
    """The running consumer. Healthy while the group includes it and no partition waits for a retry."""

    name = "offline_checks"

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
        self._consumer: KafkaConsumer[OfflineCheck] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.stop_s = settings.process.stop_s

    @override
    async def start(self) -> None:
        clock, given, spawn = self._host.clock, self._settings.gateway, self._host.tasks.spawn
        registry = RedisConnectionRegistry(
            self._engines.redis.value, lease_s=given.lease_s, renew_every_s=given.renew_every_s
        )
        checks, stats = make_offline_checks(self._publisher.value, self._host), OfflineCheckStats()
        checker = build_offline_checker(
            self._engines.dynamo.value,
            self._engines.user_keys.value,
            clock,
            status=registry,
            checks=checks,
            publisher=self._publisher.value,
            stats=stats,
            epoch=self._engines.epoch,
        )
        work = RecordHandlers(
            decode_check,
            OfflineCheckHandler(checker, clock).handle,
            dead_letter_to(self._publisher.value, OFFLINE_DEAD.name),
        )
        consumer = KafkaConsumer(kafka_config(self._settings), work, group=GROUP, topics=list(DELAYS_MS))
        _export(self._host, stats, consumer)
        self._consumer = consumer
        watch = GatewayWatch(registry, checks, clock)
        self._tasks = [
            spawn("offline checks", consumer.run(), may_end=True),
            spawn("vanished gateways", watch.run()),
        ]

    @override
    async def stop(self) -> None:
        """Finish the current batches. The next owner of the partitions processes the rest."""
        if self._consumer is None:
            return
        running, watching = self._tasks
        await self._host.tasks.stop(watching)
        self._consumer.stop()
        await asyncio.wait([running])

    @override
    def health(self) -> Health | None:
        return engine_clients.consumer_health(self._consumer, self._since)


class OfflineCheckHandler:
    """Process each check after the delay of its topic. All checks of a topic wait equally long, so they stay in order."""

    def __init__(self, checker: OfflineChecker, clock: Clock) -> None:
        self._checker = checker
        self._clock = clock

    async def handle(self, batch: Batch[OfflineCheck]) -> None:
        delay_ms = next(delay for name, delay in DELAYS_MS.items() if batch.topic.endswith(name))
        waiting = [event.body for event in batch.events]
        while waiting:
            wait_ms = min(delay_ms, waiting[0].at_ms + delay_ms - self._clock.now_ms())
            if wait_ms > 0:
                await asyncio.sleep(wait_ms / 1000)
            now_ms = self._clock.now_ms()
            due = [check for check in waiting if check.at_ms + delay_ms <= now_ms]
            later = [check for check in waiting if check.at_ms + delay_ms > now_ms]
            # The clock of the publisher may be ahead: the first check has waited long enough.
            await self._checker.handle(due or later[:1])
            waiting = later if due else later[1:]


class GatewayWatch:
    """Find gateways that vanished, and request a check of every user who was connected to them."""

    def __init__(self, gateways: VanishedGateways, checks: KafkaOfflineChecks, clock: Clock) -> None:
        self._gateways = gateways
        self._checks = checks
        self._clock = clock

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_WATCH_EVERY_S)
            try:
                await self.look()
            except UnavailableError as error:
                log.warning("vanished gateways not checked, retrying", reason=str(error))

    async def look(self) -> None:
        """Check all vanished gateways once. Raises `UnavailableError`; a claimed gateway is returned again later."""
        for gateway in await self._gateways.claim():
            users = await self._gateways.users(gateway)
            since_ms = self._clock.now_ms() - 2 * RECONNECT_MS - _UNWRITTEN_MS
            await self._checks.check_users(users, since_ms)
            await self._gateways.sign_off(gateway)
            log.warning("gateway vanished", gateway=gateway, users=len(users))


def _export(host: ProcessContext, stats: OfflineCheckStats, consumer: KafkaConsumer[OfflineCheck]) -> None:
    host.metrics.counter_callbacks(
        "offline_events_total",
        "Offline events: published, repeated ones that were left out, failed ones that Kafka did not accept; and checks "
        "without a missed message (`settled`) or repeated later (`late`).",
        "what",
        lambda: {name: getattr(stats, name) for name in OfflineCheckStats.__slots__},
    )
    engine_clients.export_consumer(host.metrics, consumer, "offline_checks", "records")

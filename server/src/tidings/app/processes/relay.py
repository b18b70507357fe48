"""The process `relay`: reads DynamoDB's stream of the log and sees to it that every commit is handled.

Any number may run: they share the stream's shards by leases, and one that dies is followed by another.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NoReturn, override

from tidings.app.processes.delivery import GROUP
from tidings.app.settings import Settings
from tidings.app.wiring import delivery, engine_clients
from tidings.app.wiring.options import dynamo_endpoint, otlp_headers, process_options, validate_settings
from tidings.delivery.store.checkpoints import RedisDeliveryCheckpoints
from tidings.kernel.ids import ChatKey
from tidings.messages.model import partition_key
from tidings.messages.store import DynamoLogReader
from tidings.platform.dynamo.open_client import open_streams
from tidings.platform.dynamo.streams import StreamsClient
from tidings.platform.kafka.consumer import KafkaConsumerLag
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.component import Component, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.platform.telemetry import logs
from tidings.platform.telemetry.metrics import Metrics
from tidings.relay.audit import Audit, AuditPolicy
from tidings.relay.model import ShardId
from tidings.relay.relay import Relay, RelayTiming
from tidings.relay.rules import LogSizeEstimator
from tidings.relay.shards import ReadPolicy, ShardLeases
from tidings.relay.store import DynamoChangeStream, DynamoLeaseStore
from tidings.relay.store.publisher import KafkaEventPublisher
from tidings.schema.tables.pricing import COLLECTION_BYTES
from tidings.schema.topics.model import MESSAGES

log = logs.get_logger(__name__)

BUILDS = (*engine_clients.BUILDS, otlp_headers)


def run_relay(settings: Settings) -> NoReturn:
    validate_settings(settings, BUILDS)
    run_process("relay", process_options(settings, "relay"), lambda host: compose(settings, host))


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    engines = engine_clients.build_engines(settings, host)
    streams = ManagedResource("streams", lambda: _streams(settings))
    consumers = engine_clients.progress(settings, topic=MESSAGES.name, group=GROUP, key_of=partition_key)
    publisher = delivery.publisher_component(settings, host)

    def joined() -> Relay:
        return build_relay(
            settings, host, engines, RelayDeps(streams.value, consumers.value, publisher.value)
        )

    return [*engines.components, streams, consumers, publisher, RelayComponent(joined, host)]


class RelayDeps:
    """The clients of the relay, in addition to the engines of every process."""

    def __init__(
        self, streams: StreamsClient, consumers: KafkaConsumerLag[ChatKey], publisher: KafkaPublisher
    ) -> None:
        self.streams = streams
        self.consumers = consumers
        self.publisher = publisher


def build_relay(
    settings: Settings, host: ProcessContext, engines: engine_clients.EngineComponents, side_writes: RelayDeps
) -> Relay:
    given, client = settings.relay, engines.dynamo.value
    publisher, alerts = KafkaEventPublisher(side_writes.publisher), RelayAlertLog()
    audit = Audit(
        checkpoints=RedisDeliveryCheckpoints(engines.redis.value),
        consumers=side_writes.consumers,
        read_entries=DynamoLogReader(client).between,
        publisher=publisher,
        clock=host.clock,
        on_given_up=alerts.on_given_up,
        policy=AuditPolicy(
            delay_s=given.audit_delay_s, longest_s=given.max_backoff_s, max_tries=given.max_attempts
        ),
        failpoints=host.failpoints,
    )
    return Relay(
        stream=DynamoChangeStream(side_writes.streams),
        leases=ShardLeases(
            DynamoLeaseStore(client, host.clock), host.identity.instance, host.clock, given.lease_s
        ),
        audit=audit,
        publisher=publisher,
        clock=host.clock,
        on_trimmed=alerts.on_trimmed,
        times=RelayTiming(
            lease_s=given.lease_s, discover_every_s=given.discover_every_s, max_waiting=given.max_backlog
        ),
        read_policy=ReadPolicy(busy_s=given.read_every_s, idle_s=given.idle_every_s),
        failpoints=host.failpoints,
        sizes=LogSizeEstimator(COLLECTION_BYTES, alerts.on_large),
    )


class RelayAlertLog:
    """Logs what an operator must act on."""

    def on_trimmed(self, shard: ShardId) -> None:
        log.error(
            "commits left the stream before they were audited",
            shard=shard,
            hint="Run `tidings relay repair` for the chats that were written since the relay last worked.",
        )

    def on_given_up(self, chat: ChatKey, first: int, last: int) -> None:
        log.error(
            "entries are consumed but not processed",
            tenant=chat.tenant,
            chat=chat.chat,
            first=first,
            last=last,
            hint="Check the dead-letter topic, then run `tidings relay repair` for this chat.",
        )

    def on_large(self, chat: ChatKey, size_bytes: int) -> None:
        log.warning(
            "the log of a chat is estimated to exceed 8 GB",
            tenant=chat.tenant,
            chat=chat.chat,
            size_bytes=size_bytes,
            hint="Nothing stops working. See docs/howto/run-the-relay.md.",
        )


type RelayWiring = Callable[[], Relay]


class RelayComponent(Component):
    """Well without a shard: there may be more processes than shards."""

    name = "relay"

    def __init__(self, joined: RelayWiring, host: ProcessContext) -> None:
        self._joined = joined
        self._host = host
        self._relay: Relay | None = None
        self._task: asyncio.Task[None] | None = None

    @override
    async def start(self) -> None:
        self._relay = self._joined()
        export_relay(self._host.metrics, self._relay)
        self._task = self._host.tasks.spawn("relay", self._relay.run())

    @override
    async def stop(self) -> None:
        """Release the leases with their positions, so that other processes continue at once."""
        if self._task is not None and self._relay is not None:
            await self._host.tasks.stop(self._task)
            await self._relay.stop()


def export_relay(metrics: Metrics, relay: Relay) -> None:
    counts, audited = relay.counts, relay.audit.counts
    metrics.counter_callbacks(
        "relay_commits_total",
        "Commits that were found handled, were published again, or were given up.",
        "outcome",
        lambda: {
            "processed": audited.handled,
            "republished": audited.republished,
            "abandoned": audited.given_up,
        },
    )
    metrics.counter_callback(
        "relay_records_total", "Records of the stream that were read.", lambda: counts.read
    )
    metrics.counter_callback(
        "relay_expired_total", "Ephemeral messages whose end was published.", lambda: counts.expired
    )
    metrics.counter_callback(
        "relay_trimmed_total",
        "Times that records left the stream before the relay read them. Run the repair job.",
        lambda: counts.trimmed,
    )
    metrics.counter_callback(
        "relay_leases_lost_total", "Shard leases that another process took over.", lambda: counts.lost
    )
    for name, meaning, read in (
        ("relay_shards", "Shards of the stream that this process reads.", lambda: relay.held),
        ("relay_lag_seconds", "Age of the last record that was read, of the shard behind most; 0 at its end.",
         lambda: relay.lag_s),
        ("relay_waiting", "Places in the stream that wait to be handled.", lambda: relay.waiting),
        ("relay_unhandled_seconds", "How long the oldest commit has waited to be handled.",
         lambda: relay.unhandled_s),
        ("relay_largest_log_bytes", "Estimated size of the longest chat log that was written to.",
         lambda: relay.sizes.largest_bytes),
    ):  # fmt: skip
        metrics.gauge(name, meaning).set_function(read)


@asynccontextmanager
async def _streams(settings: Settings) -> AsyncIterator[StreamsClient]:
    wanted = settings.dynamo
    async with open_streams(dynamo_endpoint(settings), wanted.region, wanted.table_prefix) as streams:
        yield streams

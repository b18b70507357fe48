"""The process `relay`: reads DynamoDB's stream of the log and sees to it that every commit is handled.

Any number may run: they share the stream's shards by leases, and one that dies is followed by another.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NoReturn, override

from tidings.kernel.ids import ChatKey
from tidings.messages.events import kafka_key
from tidings.messages.store import DynamoReader
from tidings.platform.dynamo.opening import open_streams
from tidings.platform.dynamo.streams import Streams
from tidings.platform.kafka.consumers import KafkaConsumers
from tidings.platform.kafka.publisher import Publisher
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.run import Host, run
from tidings.platform.telemetry import logs
from tidings.platform.telemetry.metrics import Metrics
from tidings.relay.audit import Audit, Patience
from tidings.relay.leasing import Leasing
from tidings.relay.model import ShardId
from tidings.relay.reading import Pace
from tidings.relay.serve import Relay, Times
from tidings.relay.sizes import LogSizes
from tidings.relay.store import DynamoLeases, StreamFeed
from tidings.routing.store import RedisMarks
from tidings.run import consuming, publishing, wiring
from tidings.run.delivery import GROUP
from tidings.run.held import Held
from tidings.run.options import (
    dynamo_endpoint,
    otlp_headers,
    process_options,
    refuse_faulty,
)
from tidings.run.relaying import BelievedMarks, KafkaOutbox, ReadLog
from tidings.run.settings import Settings
from tidings.tables.alarms import COLLECTION_BYTES
from tidings.topics.declaration import MESSAGES

log = logs.get(__name__)

BUILDS = (*wiring.BUILDS, otlp_headers)


def run_relay(settings: Settings) -> NoReturn:
    refuse_faulty(settings, BUILDS)
    run("relay", process_options(settings, "relay"), lambda host: compose(settings, host))


def compose(settings: Settings, host: Host) -> Sequence[Component]:
    engines = wiring.engines(settings, host)
    streams = Held("streams", lambda: _streams(settings))
    consumers = consuming.progress(settings, topic=MESSAGES.name, group=GROUP, key_of=kafka_key)
    publisher = publishing.publisher(settings, host)

    def joined() -> Relay:
        return join(settings, host, engines, Beside(streams.it, consumers.it, publisher.it))

    return [*engines.components, streams, consumers, publisher, Relaying(joined, host)]


class Beside:
    """What the relay needs beside the engines that every process has."""

    def __init__(self, streams: Streams, consumers: KafkaConsumers[ChatKey], publisher: Publisher) -> None:
        self.streams = streams
        self.consumers = consumers
        self.publisher = publisher


def join(settings: Settings, host: Host, engines: wiring.Engines, beside: Beside) -> Relay:
    given, client = settings.relay, engines.dynamo.it
    outbox = KafkaOutbox(beside.publisher)
    audit = Audit(
        marks=BelievedMarks(RedisMarks(engines.redis.it)),
        consumers=beside.consumers,
        log=ReadLog(DynamoReader(client)),
        outbox=outbox,
        clock=host.clock,
        tell=Telling(),
        patience=Patience(
            patience_s=given.patience_s, longest_s=given.longest_wait_s, max_tries=given.max_tries
        ),
        pauses=host.pauses,
    )
    return Relay(
        feed=StreamFeed(beside.streams),
        leasing=Leasing(DynamoLeases(client, host.clock), host.identity.instance, host.clock, given.lease_s),
        audit=audit,
        outbox=outbox,
        clock=host.clock,
        tell=Telling(),
        times=Times(lease_s=given.lease_s, discover_s=given.discover_s, max_waiting=given.max_waiting),
        pace=Pace(busy_s=given.read_every_s, idle_s=given.idle_every_s),
        pauses=host.pauses,
        sizes=LogSizes(COLLECTION_BYTES, Telling().large),
    )


class Telling:
    """Loud, because somebody has to do something."""

    def trimmed(self, shard: ShardId) -> None:
        log.error(
            "commits have left the stream before they were audited",
            shard=shard,
            hint="Run `tidings relay repair` over the chats that were written to since the last relay was well.",
        )

    def given_up(self, chat: ChatKey, first: int, last: int) -> None:
        log.error(
            "a chat is published and consumed, and yet not handled",
            tenant=chat.tenant,
            chat=chat.chat,
            first=first,
            last=last,
            hint="Look into the dead letters; then run `tidings relay repair` for this chat.",
        )

    def large(self, chat: ChatKey, size_bytes: int) -> None:
        log.warning(
            "the log of a chat is estimated to exceed 8 GB",
            tenant=chat.tenant,
            chat=chat.chat,
            size_bytes=size_bytes,
            hint="Nothing stops working. See docs/howto/run-the-relay.md.",
        )


type Joined = Callable[[], Relay]


class Relaying(Component):
    """Well without a shard: there may be more processes than shards."""

    name = "relay"

    def __init__(self, joined: Joined, host: Host) -> None:
        self._joined = joined
        self._host = host
        self._relay: Relay | None = None
        self._task: asyncio.Task[None] | None = None

    @override
    async def start(self) -> None:
        self._relay = self._joined()
        export(self._host.metrics, self._relay)
        self._task = self._host.tasks.spawn("relay", self._relay.run())

    @override
    async def stop(self) -> None:
        """Leases are released with where they are, so that others go on at once."""
        if self._task is not None and self._relay is not None:
            await self._host.tasks.stop(self._task)
            await self._relay.stop()


def export(metrics: Metrics, relay: Relay) -> None:
    counts, audited = relay.counts, relay.audit.counts
    metrics.tallies(
        "relay_commits_total",
        "Commits that were found handled, were published again, or were given up.",
        "outcome",
        lambda: {
            "handled": audited.handled,
            "republished": audited.republished,
            "given_up": audited.given_up,
        },
    )
    metrics.tally("relay_records_total", "Records of the stream that were read.", lambda: counts.read)
    metrics.tally(
        "relay_expired_total", "Ephemeral messages whose end was published.", lambda: counts.expired
    )
    metrics.tally(
        "relay_trimmed_total",
        "Times that commits had left the stream unaudited: the repair job is needed.",
        lambda: counts.trimmed,
    )
    metrics.tally(
        "relay_leases_lost_total", "Shards that went to another process unasked.", lambda: counts.lost
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
async def _streams(settings: Settings) -> AsyncIterator[Streams]:
    wanted = settings.dynamo
    async with open_streams(dynamo_endpoint(settings), wanted.region, wanted.table_prefix) as streams:
        yield streams

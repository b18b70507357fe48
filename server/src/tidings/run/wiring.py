"""Joins what every serving process needs: engines as components, and the use cases on top of them.

Adapters meet use cases here and nowhere else. What is particular to one kind of process is in its own file.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass

from tidings.chats.manage import Manage
from tidings.chats.model import Standing
from tidings.chats.rules import Action, refuse
from tidings.chats.store import DynamoRows
from tidings.kernel.clock import Clock
from tidings.kernel.epoch import Epoch
from tidings.kernel.errors import Code
from tidings.limits.limit import Limiter
from tidings.limits.local import LocalBuckets
from tidings.limits.store import RedisBuckets, RedisPlaces
from tidings.messages.append import Appends
from tidings.messages.change import Change, Permits
from tidings.messages.history import History
from tidings.messages.lane import Told, World
from tidings.messages.model import Check
from tidings.messages.ports import Keys, Stays
from tidings.messages.send import Send
from tidings.messages.store import DynamoChanges, DynamoLog, DynamoReactions, DynamoReader
from tidings.platform.dynamo import metrics as dynamo_metrics
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.opening import open_client
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.health import Health
from tidings.platform.lifecycle.probe import Probe, ProbeOptions
from tidings.platform.lifecycle.run import Host
from tidings.platform.redis.client import Redis
from tidings.platform.telemetry.metrics import Metrics
from tidings.run.declared_tables import DeclaredTables
from tidings.run.held import Held
from tidings.run.installation.watch import WatchedEpoch
from tidings.run.keys import kms_of, policy_of
from tidings.run.options import dynamo_endpoint, kafka_connection, limit_policies, pauses, redis_options
from tidings.run.settings import Settings, production
from tidings.tables.items.accounts import LEASE
from tidings.tables.patterns import accounts as patterns
from tidings.tenants.keys import KeyRing
from tidings.tenants.ports import Kms
from tidings.tenants.store import DynamoKeyStore

BUILDS = (dynamo_endpoint, kafka_connection, redis_options, limit_policies, pauses, *production.ENGINES)
"""What `refuse_faulty` tries before any process starts."""
_PROBED = {"lease": LEASE.partition.render(lease="probe")}


@dataclass(frozen=True, slots=True)
class Engines:
    """What is outside. Redis never gates readiness: without it everything is slower or local, and goes on."""

    tables: DeclaredTables
    epoch: WatchedEpoch
    dynamo: Held[Client]
    redis: Held[Redis]
    kms: Held[Kms]
    keys: Held[KeyRing]
    probe: Probe

    @property
    def components(self) -> Sequence[Component]:
        return [self.dynamo, self.tables, self.epoch, self.probe, self.redis, self.kms, self.keys]


def engines(settings: Settings, host: Host) -> Engines:
    dynamo = Held("dynamo_client", lambda: _dynamo(settings, host.metrics))
    kms = Held("kms", lambda: kms_of(settings))
    return Engines(
        tables=DeclaredTables(settings.dynamo, dynamo, host.tasks, host.clock),
        epoch=WatchedEpoch(dynamo, host),
        dynamo=dynamo,
        probe=_probe(dynamo, host),
        redis=_redis(settings, host.clock),
        kms=kms,
        keys=Held("keys", lambda: nullcontext(_key_ring(settings, dynamo.it, kms.it, host.clock))),
    )


def _key_ring(settings: Settings, client: Client, kms: Kms, clock: Clock) -> KeyRing:
    return KeyRing(DynamoKeyStore(client), kms, clock, policy_of(settings.encryption))


@asynccontextmanager
async def _dynamo(settings: Settings, metrics: Metrics) -> AsyncIterator[Client]:
    wanted = settings.dynamo
    async with open_client(dynamo_endpoint(settings), wanted.region, wanted.table_prefix) as client:
        dynamo_metrics.export(metrics, client.ledger)
        yield client


def _probe(dynamo: Held[Client], host: Host) -> Probe:
    async def ping() -> None:
        await dynamo.it.get(patterns.PROBE, _PROBED)

    return Probe(
        "dynamo",
        ping,
        complaint="DynamoDB did not answer",
        tasks=host.tasks,
        clock=host.clock,
        options=ProbeOptions(),
    )


def _redis(settings: Settings, clock: Clock) -> Held[Redis]:
    since = clock.now()

    def look(redis: Redis) -> Health:
        health = redis.health()
        return Health(health.is_well, "" if health.is_well else health.words, since)

    return Held("redis", lambda: _connected(settings), look=look, gates_readiness=False)


@asynccontextmanager
async def _connected(settings: Settings) -> AsyncIterator[Redis]:
    redis = await Redis.connect(redis_options(settings), wait=False)
    try:
        yield redis
    finally:
        await redis.close()


def limiter(settings: Settings, redis: Redis, host: Host) -> Limiter:
    shared = RedisBuckets(redis, timeout_s=settings.limits.timeout_s)
    made = Limiter(shared, LocalBuckets(host.clock), limit_policies(settings), host.clock)
    counts = made.counts
    host.metrics.tallies(
        "limits_total",
        "Askers that were let in, refused, and among both those that this process counted for itself.",
        "outcome",
        lambda: {"allowed": counts.allowed, "refused": counts.refused, "local": counts.local},
    )
    return made


def known_places(settings: Settings, redis: Redis) -> RedisPlaces:
    return RedisPlaces(redis, timeout_s=settings.limits.timeout_s)


@dataclass(frozen=True, slots=True)
class UseCases:
    """Of chats and messages, as one process has them: they share the views of the chats' logs."""

    appends: Appends[Standing]
    rows: DynamoRows
    reader: DynamoReader
    manage: Manage
    send: Send[Standing]
    change: Change[Standing]
    history: History


def use_cases(
    client: Client, keys: Keys, clock: Clock, told: Told, stays: Stays, *, epoch: Epoch
) -> UseCases:
    """`told` hears of what is committed, off the path of the answer."""
    rows, reader, changes = DynamoRows(client, clock), DynamoReader(client), DynamoChanges()
    appends = Appends(World(DynamoLog(client, clock), rows, clock, epoch=epoch, told=told))
    return UseCases(
        appends=appends,
        rows=rows,
        reader=reader,
        manage=Manage(rows, appends),
        send=Send(appends, changes, keys=keys, may_send=may(Action.SEND), clock=clock),
        change=Change(
            appends, reader, changes, DynamoReactions(client), keys=keys, permits=_PERMITS, clock=clock
        ),
        history=History(reader, stays, keys, clock),
    )


def may(action: Action) -> Check[Standing]:
    def check(standing: Standing, after: int | None, /) -> Code | None:
        return refuse(action, standing, after)

    return check


_PERMITS = Permits(
    edit_own=may(Action.EDIT_OWN),
    redact_own=may(Action.REDACT_OWN),
    redact_others=may(Action.REDACT_OTHERS),
    react=may(Action.REACT),
)

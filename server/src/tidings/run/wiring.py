"""Joins what every serving process needs: engines as components, and the use cases on top of them.

Adapters meet use cases here and nowhere else. What is particular to one kind of process is in its own file.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass

from tidings.chats.manage import ChatCommands
from tidings.chats.model import MemberStatus
from tidings.chats.rules import ChatAction, check_permission
from tidings.chats.store import DynamoChatStore
from tidings.kernel.clock import Clock
from tidings.kernel.epoch import Epoch
from tidings.kernel.errors import Code
from tidings.limits.limit import RateLimiter
from tidings.limits.local import LocalBuckets
from tidings.limits.model import NO_TENANT
from tidings.limits.store import RedisBuckets, RedisKnownAddresses
from tidings.messages.append import Appender
from tidings.messages.change import ChangePermissions, MessageEdits
from tidings.messages.history import History
from tidings.messages.lane import AppendDeps, OnCommit
from tidings.messages.model import PermissionCheck
from tidings.messages.ports import Keys, MembershipIntervals
from tidings.messages.send import MessageSender
from tidings.messages.store import DynamoEditWriter, DynamoLogReader, DynamoMessageLog, DynamoReactionWriter
from tidings.platform.dynamo import metrics as dynamo_metrics
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.opening import open_client
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.health import Health
from tidings.platform.lifecycle.probe import Probe, ProbeOptions
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.redis.client import RedisClient
from tidings.platform.telemetry.metrics import Metrics
from tidings.run.declared_tables import DeclaredTables
from tidings.run.held import ManagedResource
from tidings.run.installation.watch import EpochWatch
from tidings.run.keys import key_policy, make_kms
from tidings.run.options import dynamo_endpoint, kafka_config, limit_policies, make_failpoints, redis_options
from tidings.run.settings import Settings, production
from tidings.tables.items.accounts import LEASE
from tidings.tables.patterns import accounts as patterns
from tidings.tenants.keys import KeyRing
from tidings.tenants.ports import Kms
from tidings.tenants.store import DynamoKeyStore

BUILDS = (dynamo_endpoint, kafka_config, redis_options, limit_policies, make_failpoints, *production.ENGINES)
"""What `validate_settings` tries before any process starts."""
_PROBED = {"lease": LEASE.partition.render(lease="probe")}


@dataclass(frozen=True, slots=True)
class EngineComponents:
    """What is outside. Redis never gates readiness: without it everything is slower or local, and goes on."""

    tables: DeclaredTables
    epoch: EpochWatch
    dynamo: ManagedResource[DynamoClient]
    redis: ManagedResource[RedisClient]
    kms: ManagedResource[Kms]
    keys: ManagedResource[KeyRing]
    probe: Probe

    @property
    def components(self) -> Sequence[Component]:
        return [self.dynamo, self.tables, self.epoch, self.probe, self.redis, self.kms, self.keys]


def build_engines(settings: Settings, host: ProcessContext) -> EngineComponents:
    dynamo = ManagedResource("dynamo_client", lambda: _dynamo(settings, host.metrics))
    kms = ManagedResource("kms", lambda: make_kms(settings))
    return EngineComponents(
        tables=DeclaredTables(settings.dynamo, dynamo, host.tasks, host.clock),
        epoch=EpochWatch(dynamo, host),
        dynamo=dynamo,
        probe=_probe(dynamo, host),
        redis=_redis(settings, host.clock),
        kms=kms,
        keys=ManagedResource(
            "keys", lambda: nullcontext(_key_ring(settings, dynamo.value, kms.value, host.clock))
        ),
    )


def _key_ring(settings: Settings, client: DynamoClient, kms: Kms, clock: Clock) -> KeyRing:
    return KeyRing(DynamoKeyStore(client), kms, clock, key_policy(settings.encryption))


@asynccontextmanager
async def _dynamo(settings: Settings, metrics: Metrics) -> AsyncIterator[DynamoClient]:
    wanted = settings.dynamo
    async with open_client(dynamo_endpoint(settings), wanted.region, wanted.table_prefix) as client:
        dynamo_metrics.export_capacity(metrics, client.ledger)
        yield client


def _probe(dynamo: ManagedResource[DynamoClient], host: ProcessContext) -> Probe:
    async def ping() -> None:
        await dynamo.value.get(patterns.PROBE, _PROBED)

    return Probe(
        "dynamo",
        ping,
        complaint="DynamoDB did not answer",
        tasks=host.tasks,
        clock=host.clock,
        options=ProbeOptions(),
    )


def _redis(settings: Settings, clock: Clock) -> ManagedResource[RedisClient]:
    since = clock.now()

    def look(redis: RedisClient) -> Health:
        health = redis.health()
        return Health(health.is_well, "" if health.is_well else health.text, since)

    return ManagedResource("redis", lambda: _connected(settings), look=look, gates_readiness=False)


@asynccontextmanager
async def _connected(settings: Settings) -> AsyncIterator[RedisClient]:
    redis = await RedisClient.connect(redis_options(settings), wait=False)
    try:
        yield redis
    finally:
        await redis.close()


class InstallationNameKey:
    """The port `NameKey` of limits: derived from a data key of the installation, read once."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys
        self._key: bytes | None = None

    async def read(self) -> bytes:
        if self._key is None:
            self._key = (await self._keys.of(NO_TENANT)).fingerprint(b"_names of limits")
        return self._key


def build_limiter(settings: Settings, redis: RedisClient, keys: KeyRing, host: ProcessContext) -> RateLimiter:
    shared = RedisBuckets(redis, InstallationNameKey(keys), timeout_s=settings.limits.timeout_s)
    made = RateLimiter(shared, LocalBuckets(host.clock), limit_policies(settings), host.clock)
    counts = made.counts
    host.metrics.counter_callbacks(
        "limits_total",
        "Askers that were let in, refused, and among both those that this process counted for itself.",
        "outcome",
        lambda: {"allowed": counts.allowed, "refused": counts.refused, "local": counts.local},
    )
    return made


def known_addresses(settings: Settings, redis: RedisClient, keys: KeyRing) -> RedisKnownAddresses:
    return RedisKnownAddresses(redis, InstallationNameKey(keys), timeout_s=settings.limits.timeout_s)


@dataclass(frozen=True, slots=True)
class ChatServices:
    """Of chats and messages, as one process has them: they share the views of the chats' logs."""

    appends: Appender[MemberStatus]
    rows: DynamoChatStore
    reader: DynamoLogReader
    manage: ChatCommands
    send: MessageSender[MemberStatus]
    change: MessageEdits[MemberStatus]
    history: History


def build_chat_services(
    client: DynamoClient,
    keys: Keys,
    clock: Clock,
    on_commit: OnCommit,
    intervals: MembershipIntervals,
    *,
    epoch: Epoch,
) -> ChatServices:
    """`on_commit` hears of what is committed, off the path of the answer."""
    rows, reader, changes = DynamoChatStore(client, clock), DynamoLogReader(client), DynamoEditWriter()
    appends = Appender(
        AppendDeps(DynamoMessageLog(client, clock), rows, clock, epoch=epoch, on_commit=on_commit)
    )
    return ChatServices(
        appends=appends,
        rows=rows,
        reader=reader,
        manage=ChatCommands(rows, appends),
        send=MessageSender(
            appends, changes, keys=keys, may_send=permission_check(ChatAction.SEND), clock=clock
        ),
        change=MessageEdits(
            appends,
            reader,
            changes,
            DynamoReactionWriter(client),
            keys=keys,
            permits=_PERMISSIONS,
            clock=clock,
        ),
        history=History(reader, intervals, keys, clock),
    )


def permission_check(action: ChatAction) -> PermissionCheck[MemberStatus]:
    def check(standing: MemberStatus, after: int | None, /) -> Code | None:
        return check_permission(action, standing, after)

    return check


_PERMISSIONS = ChangePermissions(
    edit_own=permission_check(ChatAction.EDIT_OWN),
    redact_own=permission_check(ChatAction.REDACT_OWN),
    redact_others=permission_check(ChatAction.REDACT_OTHERS),
    react=permission_check(ChatAction.REACT),
)

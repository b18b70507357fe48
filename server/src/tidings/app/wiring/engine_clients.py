"""Open the engines of a process, its key ring and its rate limiter, as configured."""

from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tidings.app.settings import Settings, production
from tidings.app.settings.model import DynamoSettings, EncryptionSettings
from tidings.app.settings.production import credential_path, key_service
from tidings.app.wiring.declared_tables import DeclaredTables
from tidings.app.wiring.options import (
    drain_token,
    dynamo_endpoint,
    kafka_config,
    limit_policies,
    redis_options,
    validate_settings,
)
from tidings.app.wiring.webhook_events import make_event_producer
from tidings.installation.epoch_watch import EpochWatch
from tidings.installation.store import InstallationStore
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import Epoch, TenantId
from tidings.limits.limiter import LocalBuckets, RateLimiter
from tidings.limits.model import NO_TENANT
from tidings.limits.store import RedisBuckets, RedisKnownAddresses
from tidings.platform.dynamo import capacity as dynamo_metrics
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.kafka.consumer import KafkaConsumer, KafkaConsumerLag
from tidings.platform.kafka.records import Record
from tidings.platform.lifecycle.component import Component, Health, ManagedResource, Probe, ProbeOptions
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.redis.client import RedisClient
from tidings.platform.telemetry import logs
from tidings.platform.telemetry.metrics import Metrics
from tidings.schema.tables.declaration import PARTITION_KEYS
from tidings.schema.tables.items.accounts import LEASE
from tidings.schema.tables.patterns import accounts as patterns
from tidings.tenants.key_ring import KeyPolicy, KeyRing
from tidings.tenants.kms import FileKms, open_aws_kms
from tidings.tenants.model import Tenant
from tidings.tenants.ports import Kms
from tidings.tenants.store import DynamoKeyStore, DynamoTenantStore, DynamoUserKeyStore
from tidings.tenants.user_keys import UserKeyPolicy, UserKeyRing
from tidings.webhooks.producer import EventProducer

log = logs.get_logger(__name__)

_DAY_S = 86_400


def open_tables(settings: DynamoSettings) -> AbstractAsyncContextManager[DynamoClient]:
    if settings.endpoint is None:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "dynamo.endpoint is not set, so the tables cannot be read.",
            hint='Run `tidings engines start`, or set dynamo.endpoint to "aws" or to the URL of an engine.',
        )
    return open_client(settings.endpoint, settings.region, settings.table_prefix)


@asynccontextmanager
async def open_key_ring(settings: Settings, client: DynamoClient, clock: Clock) -> AsyncIterator[KeyRing]:
    async with make_kms(settings) as kms:
        yield KeyRing(DynamoKeyStore(client), kms, clock, key_policy(settings.encryption))


async def read_existing_tenant(client: DynamoClient, keys: KeyRing, tenant: TenantId) -> Tenant:
    """Return the tenant of a command. Raises `request_invalid` if it does not exist. Creates no keys."""
    found = await DynamoTenantStore(client, AuthenticatedRows(keys)).read(tenant)
    if found is None:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"Tenant {tenant} does not exist.",
            hint="`tidings tenant create` makes one.",
        )
    return found


def make_kms(settings: Settings) -> AbstractAsyncContextManager[Kms]:
    """Choose the key service. Also commands come here, so production refuses the key file here as well."""
    validate_settings(settings, [key_service])
    wanted = settings.encryption
    if wanted.kms == "file":
        return nullcontext(FileKms(wanted.key_file, former=wanted.former_key_file))
    if wanted.kms == "credential":
        return nullcontext(FileKms(_mounted(wanted), former=wanted.former_key_file, is_mounted=True))
    if not wanted.kms_key_id:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "encryption.kms is aws, and encryption.kms_key_id is not set.",
            hint="Name the KMS key that wraps the tenants' keys: its id, its ARN or an alias.",
        )
    former = [key.strip() for key in (wanted.kms_former_key_ids or "").split(",") if key.strip()]
    region = wanted.kms_region or settings.dynamo.region
    return open_aws_kms(wanted.kms_endpoint, region, wanted.kms_key_id, former)


def _mounted(wanted: EncryptionSettings) -> Path:
    path = credential_path(wanted)
    if path is None:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "encryption.kms is credential, and neither encryption.credential_file nor $CREDENTIALS_DIRECTORY is set.",
            hint="Set the path of the mounted secret, or add `LoadCredential=` to the systemd unit.",
        )
    return path


def key_policy(settings: EncryptionSettings) -> KeyPolicy:
    return KeyPolicy(
        is_encrypting=settings.mode == "on",
        rotate_after_s=settings.rotate_after_days * _DAY_S,
        refresh_s=settings.refresh_s,
    )


def consumer_health[T](consumer: KafkaConsumer[T] | None, since: datetime) -> Health | None:
    """Return ok while the consumer is a member of its group and no partition is paused; None before it starts."""
    if consumer is None:
        return None
    how, paused = consumer.health(), consumer.paused()
    if not how.is_ok:
        return Health(ok=False, reason=how.reason, since=since)
    reason = f"{len(paused)} partitions wait; the first: {paused[0].why}" if paused else ""
    return Health(not paused, reason, since)


async def read_epoch(client: DynamoClient, clock: Clock) -> Epoch:
    """Return the epoch of the installation for a command. It does not change while the command runs."""
    found = await InstallationStore(client, clock).read()
    epoch = 0 if found is None else found.epoch
    return lambda: epoch


async def drop_undecodable(record: Record, reason: str) -> None:
    """Drop a record that cannot be decoded. Its consumer finds the same work in the log, or a sweeper publishes it again."""
    log.error("record cannot be decoded", topic=record.topic, offset=record.offset, reason=reason)


def export_consumer[T](metrics: Metrics, consumer: KafkaConsumer[T], process: str, what: str) -> None:
    """Export the metrics of a consumer. `what` names what it consumes: records or chunks."""
    waiting = f"{what.capitalize()} that wait in this process's partitions."
    metrics.gauge(f"{process}_lag_{what}", waiting).set_function(
        lambda: sum(lag.behind for lag in consumer.lag())
    )
    failing = "Partitions that wait for something that fails."
    metrics.gauge(f"{process}_paused_partitions", failing).set_function(lambda: len(consumer.paused()))


def progress[K: Hashable](
    settings: Settings, *, topic: str, group: str, key_of: Callable[[K], bytes], name: str = "consumers"
) -> ManagedResource[KafkaConsumerLag[K]]:
    """Ask the brokers how far a group is, also for partitions that other processes consume."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[KafkaConsumerLag[K]]:
        made = KafkaConsumerLag(kafka_config(settings), topic=topic, group=group, key_of=key_of)
        try:
            yield made
        finally:
            made.close()

    return ManagedResource(name, opened)


BUILDS = (dynamo_endpoint, kafka_config, redis_options, limit_policies, drain_token, *production.ENGINES)
"""The checks of `validate_settings` that every process runs before it starts."""
_PROBED = {"lease": LEASE.partition.render(lease="probe")}


@dataclass(frozen=True, slots=True)
class EngineComponents:
    """The engines of a process. Redis does not affect readiness: without it the process continues, with limitations."""

    tables: DeclaredTables
    epoch_watch: EpochWatch
    dynamo: ManagedResource[DynamoClient]
    redis: ManagedResource[RedisClient]
    kms: ManagedResource[Kms]
    keys: ManagedResource[KeyRing]
    user_keys: ManagedResource[UserKeyRing]
    events: ManagedResource[EventProducer]
    """One for the process: it caches the webhook endpoints, and writes concurrent events together."""
    probe: Probe

    @property
    def epoch(self) -> Epoch:
        return self.epoch_watch.current

    @property
    def components(self) -> Sequence[Component]:
        return [
            self.dynamo,
            self.tables,
            self.epoch_watch,
            self.probe,
            self.redis,
            self.kms,
            self.keys,
            self.user_keys,
            self.events,
        ]


def build_engines(settings: Settings, host: ProcessContext) -> EngineComponents:
    dynamo = ManagedResource("dynamo_client", lambda: _dynamo(settings, host.metrics))
    kms = ManagedResource("kms", lambda: make_kms(settings))
    keys = ManagedResource(
        "keys", lambda: nullcontext(_key_ring(settings, dynamo.value, kms.value, host.clock))
    )
    user_keys = ManagedResource(
        "user_keys", lambda: nullcontext(make_user_key_ring(settings, dynamo.value, keys.value, host.clock))
    )
    events = ManagedResource(
        "webhook_events", lambda: nullcontext(make_event_producer(dynamo.value, keys.value, host.clock))
    )
    return EngineComponents(
        tables=DeclaredTables(settings.dynamo, dynamo, host.tasks, host.clock),
        epoch_watch=EpochWatch(dynamo, host),
        dynamo=dynamo,
        probe=_probe(dynamo, host),
        redis=_redis(settings, host.clock),
        kms=kms,
        keys=keys,
        user_keys=user_keys,
        events=events,
    )


def make_user_key_ring(settings: Settings, client: DynamoClient, keys: KeyRing, clock: Clock) -> UserKeyRing:
    policy = UserKeyPolicy(is_encrypting=settings.encryption.mode == "on")
    return UserKeyRing(DynamoUserKeyStore(client), keys, clock, policy)


def _key_ring(settings: Settings, client: DynamoClient, kms: Kms, clock: Clock) -> KeyRing:
    return KeyRing(DynamoKeyStore(client), kms, clock, key_policy(settings.encryption))


@asynccontextmanager
async def _dynamo(settings: Settings, metrics: Metrics) -> AsyncIterator[DynamoClient]:
    wanted = settings.dynamo
    async with open_client(dynamo_endpoint(settings), wanted.region, wanted.table_prefix) as client:
        dynamo_metrics.export_capacity(metrics, client.ledger, PARTITION_KEYS)
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
    """The key that names in rate limits are hashed with, derived from a data key of the installation. Read once."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys
        self._key: bytes | None = None

    async def read(self) -> bytes:
        if self._key is None:
            self._key = (await self._keys.of(NO_TENANT)).fingerprint(b"_names of limits")
        return self._key


def build_limiter(settings: Settings, redis: RedisClient, keys: KeyRing, host: ProcessContext) -> RateLimiter:
    shared = RedisBuckets(redis, InstallationNameKey(keys).read, timeout_s=settings.limits.timeout_s)
    made = RateLimiter(shared, LocalBuckets(host.clock), limit_policies(settings), host.clock)
    counts = made.counts
    host.metrics.counter_callbacks(
        "rate_limit_decisions_total",
        "Requests that were allowed or refused by a rate limit, and those counted by this process alone.",
        "outcome",
        lambda: {"allowed": counts.allowed, "rejected": counts.refused, "local": counts.local},
    )
    return made


def known_addresses(settings: Settings, redis: RedisClient, keys: KeyRing) -> RedisKnownAddresses:
    return RedisKnownAddresses(redis, InstallationNameKey(keys).read, timeout_s=settings.limits.timeout_s)

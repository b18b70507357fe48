"""Build the services of inboxes and jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from tidings.api.services import NotificationServices
from tidings.app.settings.workers import InboxesSettings
from tidings.app.wiring.broadcasts import BroadcastServices, build_broadcasts
from tidings.app.wiring.engine_clients import EngineComponents
from tidings.app.wiring.mail import build_mail_service
from tidings.bus.store import RedisBus
from tidings.connections.model import RouteLookup
from tidings.connections.store import RedisConnectionRegistry
from tidings.gateway.ports import InboxUseCases
from tidings.inboxes.broadcasts.log_store import NoSnapshots, RedisSnapshots
from tidings.inboxes.broadcasts.segment_store import DynamoProfileStore
from tidings.inboxes.broadcasts.service import BroadcastService
from tidings.inboxes.channels.reader import ChannelReader
from tidings.inboxes.chunk_worker import AddMembers, ChunkWorker
from tidings.inboxes.config_service import InboxConfigCache, InboxConfigService, InboxDefaultsService
from tidings.inboxes.deliverer import DigestDeliverer, NotificationDeliverer, NotificationWithdrawer
from tidings.inboxes.marker import InboxMarker
from tidings.inboxes.ports import InboxNotifier, NoInboxNotifier
from tidings.inboxes.preference_service import PreferenceService
from tidings.inboxes.publisher import InboxChangePublisher
from tidings.inboxes.queries import InboxQueries
from tidings.inboxes.recall import RecallProofs, RecallService
from tidings.inboxes.sender import DraftService, NotificationSender
from tidings.inboxes.state import InboxStateService
from tidings.inboxes.store import (
    DynamoContentStore,
    DynamoInboxRepository,
    DynamoInboxStore,
    DynamoPreferenceStore,
    DynamoReadTracker,
    RedisConfigInvalidation,
)
from tidings.jobs.model import Job
from tidings.jobs.ports import ChunkPublisher, JobStore
from tidings.jobs.service import JobService
from tidings.jobs.store import DynamoJobStore
from tidings.kernel.clock import Clock
from tidings.kernel.ids import UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.redis.client import RedisClient
from tidings.tenants.key_ring import KeyRing
from tidings.tenants.model import SealingKeyProvider
from tidings.tenants.user_keys import UserKeyRing
from tidings.webhooks.producer import EventProducer

_NO_LEASE_S = 1.0
"""Not used: a publisher looks up routes and holds none."""


@dataclass(frozen=True, slots=True)
class InboxServices:
    inboxes: InboxConfigService
    defaults: InboxDefaultsService
    configs: InboxConfigCache
    queries: InboxQueries
    marker: InboxMarker
    preferences: PreferenceService
    sender: NotificationSender
    broadcast: BroadcastService
    recall: RecallService
    proofs: RecallProofs
    jobs: JobService
    job_store: JobStore
    worker: ChunkWorker
    channel_reader: ChannelReader
    broadcasts: BroadcastServices


async def _add_no_members(job: Job, _: int, __: Sequence[UserId]) -> Sequence[UserId]:
    raise AssertionError(f"job {job.id} adds members in a process without chats")


def build_inboxes(
    client: DynamoClient,
    keys: SealingKeyProvider,
    clock: Clock,
    chunks: ChunkPublisher,
    *,
    notifier: InboxNotifier | None = None,
    broadcasts: BroadcastServices | None = None,
    invalidation: RedisConfigInvalidation | None = None,
    job_retention_days: int = InboxesSettings().job_retention_days,
    events: EventProducer | None = None,
    add_members: AddMembers = _add_no_members,
) -> InboxServices:
    """Build all services. Without `broadcasts`, broadcast logs are read from their beginning."""
    notifier, stores = notifier or NoInboxNotifier(), _Stores.of(client, clock, job_retention_days)
    broadcasts = broadcasts or build_broadcasts(client, clock, NoSnapshots())
    cache, configs = _build_configs(stores, clock, invalidation)
    jobs = JobService(stores.jobs, chunks, clock)
    state = InboxStateService(stores.repository, cache.of, clock, notifier, broadcasts.targeting)
    recall = RecallService(cache, stores.contents, jobs=jobs, log=broadcasts.rollout, keys=keys, clock=clock)
    drafts = DraftService(cache, stores.contents, keys=keys, clock=clock)
    broadcast = _build_broadcast(stores, drafts, broadcasts, jobs, clock)
    return InboxServices(
        inboxes=configs,
        defaults=InboxDefaultsService(stores.inboxes, clock),
        configs=cache,
        queries=InboxQueries(state, stores.contents, keys),
        marker=InboxMarker(state, stores.readers, None if events is None else events.notifications_read),
        preferences=PreferenceService(cache, stores.preferences, notifier, clock),
        sender=NotificationSender(drafts, jobs, clock),
        broadcast=broadcast,
        recall=recall,
        proofs=RecallProofs(recall, stores.jobs, stores.repository),
        jobs=jobs,
        job_store=stores.jobs,
        worker=_new_worker(stores, cache, notifier, broadcast, clock, add_members=add_members, events=events),
        channel_reader=_channel_reader(stores, cache, keys),
        broadcasts=broadcasts,
    )


def _build_configs(
    stores: "_Stores", clock: Clock, invalidation: RedisConfigInvalidation | None
) -> tuple[InboxConfigCache, InboxConfigService]:
    cache = InboxConfigCache(stores.inboxes, clock)
    if invalidation is None:
        return cache, InboxConfigService(stores.inboxes, clock, cache)
    invalidation.subscribe(cache.evict)
    return cache, InboxConfigService(stores.inboxes, clock, cache, invalidation.publish)


@dataclass(frozen=True, slots=True)
class _Stores:
    inboxes: DynamoInboxStore
    contents: DynamoContentStore
    repository: DynamoInboxRepository
    readers: DynamoReadTracker
    profiles: DynamoProfileStore
    preferences: DynamoPreferenceStore
    jobs: DynamoJobStore

    @classmethod
    def of(cls, client: DynamoClient, clock: Clock, job_retention_days: int) -> Self:
        return cls(
            inboxes=DynamoInboxStore(client),
            contents=DynamoContentStore(client),
            repository=DynamoInboxRepository(client),
            readers=DynamoReadTracker(client),
            profiles=DynamoProfileStore(client),
            preferences=DynamoPreferenceStore(client),
            jobs=DynamoJobStore(client, clock, job_retention_days),
        )


def _build_broadcast(
    stores: _Stores, drafts: DraftService, broadcasts: BroadcastServices, jobs: JobService, clock: Clock
) -> BroadcastService:
    return BroadcastService(
        drafts,
        stores.contents,
        log=broadcasts.rollout,
        segments=broadcasts.segments,
        readers=stores.readers,
        jobs=jobs,
        clock=clock,
    )


def _channel_reader(stores: _Stores, cache: InboxConfigCache, keys: SealingKeyProvider) -> ChannelReader:
    return ChannelReader(
        contents=stores.contents,
        repository=stores.repository,
        preferences=stores.preferences,
        inboxes=cache,
        keys=keys,
    )


def _new_worker(
    stores: _Stores,
    cache: InboxConfigCache,
    notifier: InboxNotifier,
    broadcast: BroadcastService,
    clock: Clock,
    *,
    add_members: AddMembers,
    events: EventProducer | None,
) -> ChunkWorker:
    """Build the worker. Its state service has no broadcasts: a withdrawal must not create a user's broadcast state."""
    state = InboxStateService(stores.repository, cache.of, clock, notifier)
    deliverer = NotificationDeliverer(stores.repository, clock, notifier)
    return ChunkWorker(
        stores.jobs,
        stores.contents,
        deliverer=deliverer,
        digests=DigestDeliverer(state, deliverer, notifier),
        withdrawer=NotificationWithdrawer(state),
        on_release=broadcast.release,
        add_members=add_members,
        notifier=notifier,
        inboxes=cache,
        profiles=stores.profiles,
        preferences=stores.preferences,
        clock=clock,
        on_delivered=None if events is None else events.notification_delivered,
    )


def make_route_lookup(redis: RedisClient) -> RouteLookup:
    return RedisConnectionRegistry(redis, lease_s=_NO_LEASE_S)


def build_serving_inboxes(
    client: DynamoClient,
    keys: KeyRing,
    clock: Clock,
    chunks: ChunkPublisher,
    redis: RedisClient,
    *,
    events: EventProducer,
    settings: InboxesSettings,
    add_members: AddMembers = _add_no_members,
) -> tuple[InboxServices, InboxChangePublisher]:
    """Build the services of a process with Redis: it notifies devices, and receives changes of inboxes."""
    publisher = InboxChangePublisher(make_route_lookup(redis), RedisBus(redis))
    services = build_inboxes(
        client,
        keys,
        clock,
        chunks,
        notifier=publisher,
        broadcasts=build_broadcasts(client, clock, RedisSnapshots(redis), publisher=publisher.logs),
        invalidation=RedisConfigInvalidation(redis),
        job_retention_days=settings.job_retention_days,
        events=events,
        add_members=add_members,
    )
    return services, publisher


def build_process_inboxes(
    engines: EngineComponents,
    clock: Clock,
    chunks: ChunkPublisher,
    *,
    settings: InboxesSettings,
    add_members: AddMembers = _add_no_members,
) -> tuple[InboxServices, InboxChangePublisher]:
    """Build the services on the engines of a process."""
    return build_serving_inboxes(
        engines.dynamo.value,
        engines.keys.value,
        clock,
        chunks,
        engines.redis.value,
        events=engines.events.value,
        settings=settings,
        add_members=add_members,
    )


def inbox_use_cases(services: InboxServices) -> InboxUseCases:
    """Return the use cases of the gateway."""
    return InboxUseCases(
        services.configs,
        services.queries,
        services.marker,
        services.broadcasts.logs,
        services.broadcasts.targeting,
        services.preferences,
    )


def notification_services(
    services: InboxServices, client: DynamoClient, keys: UserKeyRing, clock: Clock
) -> NotificationServices:
    """Return the use cases of the REST API."""
    mail = build_mail_service(client, keys, clock, inboxes=services.configs, preferences=services.preferences)
    return NotificationServices(
        inboxes=services.inboxes,
        defaults=services.defaults,
        known=services.configs,
        read=services.queries,
        mark=services.marker,
        preferences=services.preferences,
        sender=services.sender,
        broadcast=services.broadcast,
        reach=services.broadcasts.reach,
        segments=services.broadcasts.segments,
        profile_service=services.broadcasts.profile_service,
        recall=services.recall,
        prove=services.proofs,
        jobs=services.jobs,
        mail=mail,
    )

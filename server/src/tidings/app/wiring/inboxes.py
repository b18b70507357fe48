"""Joins the logs of broadcasts, their followers, segments and profiles."""

from dataclasses import dataclass
from typing import Self

from tidings.api.services import NotificationServices
from tidings.app.settings.workers import InboxesSettings
from tidings.bus.store import RedisBus
from tidings.connections.store import RedisConnectionRegistry
from tidings.gateway.ports import InboxUseCases
from tidings.inboxes.broadcasts.log import FRESH_S, BroadcastLogCache, BroadcastRollout, LogAppender
from tidings.inboxes.broadcasts.log_store import (
    DynamoBroadcastLog,
    DynamoProfileStore,
    DynamoSegmentStore,
    NoSnapshots,
    RedisSnapshots,
)
from tidings.inboxes.broadcasts.ports import BroadcastLogNotifier, NoBroadcastReader, ProfileStore, Snapshots
from tidings.inboxes.broadcasts.segments import ProfileService, SegmentService
from tidings.inboxes.broadcasts.service import BroadcastService
from tidings.inboxes.broadcasts.targeting import BroadcastTargeting, ReachEstimator
from tidings.inboxes.chunk_worker import (
    ChunkWorker,
    NotificationDeliverer,
    NotificationWithdrawer,
    UnknownUserFilter,
)
from tidings.inboxes.config_service import InboxConfigCache, InboxConfigService, InboxDefaultsService
from tidings.inboxes.marker import InboxMarker
from tidings.inboxes.ports import (
    BroadcastAdvanceNotifier,
    InboxChangeNotifier,
    InboxKeys,
    NoBroadcastLogNotifier,
    NoInboxChangeNotifier,
)
from tidings.inboxes.publisher import BroadcastLogPublisher, InboxChangePublisher
from tidings.inboxes.queries import InboxQueries
from tidings.inboxes.recall import RecallProofs, RecallService
from tidings.inboxes.sender import DraftService, NotificationSender
from tidings.inboxes.state import InboxStateService
from tidings.inboxes.store import (
    DynamoContentStore,
    DynamoDefaultsStore,
    DynamoInboxRepository,
    DynamoInboxStore,
    DynamoReadTracker,
    RedisConfigInvalidation,
)
from tidings.jobs.ports import ChunkPublisher, Consumers
from tidings.jobs.service import JobService, JobSweeper
from tidings.jobs.store import RETENTION_DAYS, DynamoDueJobs, DynamoJobStore
from tidings.kernel.clock import Clock
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.redis.client import RedisClient


@dataclass(frozen=True, slots=True)
class BroadcastServices:
    followers: BroadcastLogCache
    append: LogAppender
    segments: SegmentService
    profiles: ProfileStore
    audience: BroadcastTargeting
    announce: BroadcastRollout
    profile_service: ProfileService
    estimate: ReachEstimator


def build_broadcasts(
    client: DynamoClient,
    clock: Clock,
    snapshots: Snapshots,
    fresh_s: float = FRESH_S,
    notifier: BroadcastLogNotifier | None = None,
) -> BroadcastServices:
    log, profiles = DynamoBroadcastLog(client), DynamoProfileStore(client)
    followers = BroadcastLogCache(log, snapshots, clock, fresh_s=fresh_s)
    segments = SegmentService(DynamoSegmentStore(client), profiles, clock)
    append = LogAppender(log, followers, clock, notifier or NoBroadcastLogNotifier())
    return BroadcastServices(
        followers=followers,
        append=append,
        segments=segments,
        profiles=profiles,
        audience=BroadcastTargeting(followers, segments, profiles),
        announce=BroadcastRollout(append),
        profile_service=ProfileService(profiles, clock),
        estimate=ReachEstimator(segments, profiles),
    )


_NO_LEASE_S = 1.0
"""Who tells takes none."""


@dataclass(frozen=True, slots=True)
class InboxServices:
    inboxes: InboxConfigService
    defaults: InboxDefaultsService
    reader: InboxConfigCache
    read: InboxQueries
    mark: InboxMarker
    send: NotificationSender
    broadcast: BroadcastService
    recall: RecallService
    prove: RecallProofs
    track: JobService
    work: ChunkWorker
    broadcasts: BroadcastServices


def build_inboxes(
    client: DynamoClient,
    keys: InboxKeys,
    clock: Clock,
    chunks: ChunkPublisher,
    *,
    live: InboxChangeNotifier | None = None,
    logs: BroadcastAdvanceNotifier | None = None,
    news: RedisConfigInvalidation | None = None,
    snapshots: Snapshots | None = None,
    job_retention_days: int = RETENTION_DAYS,
) -> InboxServices:
    """`live`, `logs`: where devices are to be told; `news`: where others are told that an inbox was changed, and tell us.

    Without `snapshots` logs of broadcasts are read from their beginning.
    """
    told, heard = live or NoInboxChangeNotifier(), logs or NoBroadcastLogNotifier()
    at = _Stores.of(client, job_retention_days)
    wide = build_broadcasts(client, clock, snapshots or NoSnapshots(), notifier=heard)
    reader, track = _config_cache(at, clock, news), JobService(at.jobs, at.due, chunks, clock)
    book = InboxStateService(at.shelf, reader, clock, told, wide.audience)
    recall = RecallService(
        reader, at.contents, jobs=track, log=wide.announce, notifier=heard, keys=keys, clock=clock
    )
    drafts = DraftService(reader, at.contents, at.contents, keys=keys, clock=clock)
    broadcast = _broadcast(at, drafts, wide, track, clock)
    return InboxServices(
        inboxes=InboxConfigService(at.configured, clock, reader, news),
        defaults=InboxDefaultsService(DynamoDefaultsStore(client), clock),
        reader=reader,
        read=InboxQueries(book, at.contents, keys),
        mark=InboxMarker(book, at.readers),
        send=NotificationSender(drafts, track, clock),
        broadcast=broadcast,
        recall=recall,
        prove=RecallProofs(recall, at.jobs, at.shelf),
        track=track,
        work=_work(at, reader, told, broadcast, clock),
        broadcasts=wide,
    )


def _config_cache(at: "_Stores", clock: Clock, news: RedisConfigInvalidation | None) -> InboxConfigCache:
    cache = InboxConfigCache(at.configured, clock)
    if news is not None:
        news.listen(cache.evict)
    return cache


@dataclass(frozen=True, slots=True)
class _Stores:
    configured: DynamoInboxStore
    contents: DynamoContentStore
    shelf: DynamoInboxRepository
    readers: DynamoReadTracker
    directory: DynamoProfileStore
    jobs: DynamoJobStore
    due: DynamoDueJobs

    @classmethod
    def of(cls, client: DynamoClient, job_retention_days: int) -> Self:
        return cls(
            configured=DynamoInboxStore(client),
            contents=DynamoContentStore(client),
            shelf=DynamoInboxRepository(client),
            readers=DynamoReadTracker(client),
            directory=DynamoProfileStore(client),
            jobs=DynamoJobStore(client, job_retention_days),
            due=DynamoDueJobs(client),
        )


def _broadcast(
    at: _Stores, drafts: DraftService, wide: BroadcastServices, track: JobService, clock: Clock
) -> BroadcastService:
    return BroadcastService(
        drafts,
        at.contents,
        log=wide.announce,
        segments=wide.segments,
        readers=at.readers,
        jobs=track,
        clock=clock,
    )


def _work(
    at: _Stores,
    reader: InboxConfigCache,
    told: InboxChangeNotifier,
    broadcast: BroadcastService,
    clock: Clock,
) -> ChunkWorker:
    """What a worker takes from a user is not a look of his: it must not make him join."""
    return ChunkWorker(
        at.jobs,
        at.contents,
        give=NotificationDeliverer(at.shelf, clock, told),
        withdraw=NotificationWithdrawer(
            InboxStateService(at.shelf, reader, clock, told, NoBroadcastReader())
        ),
        show=broadcast.release,
        live=told,
        strangers=UnknownUserFilter(reader, at.directory),
        clock=clock,
    )


def build_serving_inboxes(
    client: DynamoClient,
    keys: InboxKeys,
    clock: Clock,
    chunks: ChunkPublisher,
    redis: RedisClient,
    *,
    settings: InboxesSettings,
) -> tuple[InboxServices, InboxChangePublisher]:
    """For a process that serves or works: devices hear of what it changes, and it of inboxes that others change."""
    line = RedisBus(redis)
    live = InboxChangePublisher(
        RedisConnectionRegistry(redis, lease_s=_NO_LEASE_S), line, BroadcastLogPublisher(line)
    )
    cases = build_inboxes(
        client,
        keys,
        clock,
        chunks,
        live=live,
        logs=live.logs,
        news=RedisConfigInvalidation(redis),
        snapshots=RedisSnapshots(redis),
        job_retention_days=settings.job_retention_days,
    )
    return cases, live


def join_look_after(
    client: DynamoClient, clock: Clock, chunks: ChunkPublisher, consumers: Consumers
) -> JobSweeper:
    """For a process that works: the others publish chunks, and never a second time."""
    return JobSweeper(DynamoJobStore(client), DynamoDueJobs(client), chunks, consumers, clock)


def inbox_use_cases(cases: InboxServices) -> InboxUseCases:
    """What the socket's edge calls of it."""
    return InboxUseCases(
        cases.reader, cases.read, cases.mark, cases.broadcasts.followers, cases.broadcasts.audience
    )


def notification_services(cases: InboxServices) -> NotificationServices:
    """What the REST edge calls of it."""
    return NotificationServices(
        inboxes=cases.inboxes,
        defaults=cases.defaults,
        known=cases.reader,
        read=cases.read,
        mark=cases.mark,
        send=cases.send,
        broadcast=cases.broadcast,
        estimate=cases.broadcasts.estimate,
        segments=cases.broadcasts.segments,
        profile_service=cases.broadcasts.profile_service,
        recall=cases.recall,
        prove=cases.prove,
        jobs=cases.track,
    )

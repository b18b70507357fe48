"""Joins inboxes, jobs and their tables: for the processes that serve them, for those that work, and for the command line."""

from dataclasses import dataclass
from typing import Self

from tidings.api.services import NotificationServices
from tidings.broadcasts.ports import NoBroadcastReader, Snapshots
from tidings.broadcasts.store import DynamoProfileStore, NoSnapshots, RedisSnapshots
from tidings.gateway.ports import InboxUseCases
from tidings.jobs.look_after import JobSweeper
from tidings.jobs.ports import ChunkPublisher, Consumers
from tidings.jobs.store import RETENTION_DAYS, DynamoDueJobs, DynamoJobStore
from tidings.jobs.track import JobService
from tidings.kernel.clock import Clock
from tidings.notices.book import InboxStateService
from tidings.notices.broadcast import BroadcastService
from tidings.notices.defaults import InboxDefaultsService
from tidings.notices.drafts import DraftService
from tidings.notices.give import NotificationDeliverer
from tidings.notices.inboxes import InboxConfigCache, InboxConfigService
from tidings.notices.live import InboxChangePublisher
from tidings.notices.live_logs import BroadcastLogPublisher
from tidings.notices.mark import InboxMarker
from tidings.notices.ports import (
    BroadcastAdvanceNotifier,
    InboxChangeNotifier,
    InboxKeys,
    NoBroadcastLogNotifier,
    NoInboxChangeNotifier,
)
from tidings.notices.read import InboxQueries
from tidings.notices.recall import RecallProofs, RecallService
from tidings.notices.send import NotificationSender
from tidings.notices.store import (
    DynamoContentStore,
    DynamoDefaultsStore,
    DynamoInboxRepository,
    DynamoInboxStore,
    DynamoReadTracker,
    RedisConfigInvalidation,
)
from tidings.notices.strangers import UnknownUserFilter
from tidings.notices.withdraw import NotificationWithdrawer
from tidings.notices.work import ChunkWorker
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.redis.client import RedisClient
from tidings.routing.store import RedisBus, RedisConnectionRegistry
from tidings.run.broadcasts import BroadcastServices, build_broadcasts
from tidings.run.settings.notices import InboxesSettings

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
    jobs_kept_days: int = RETENTION_DAYS,
) -> InboxServices:
    """`live`, `logs`: where devices are to be told; `news`: where others are told that an inbox was changed, and tell us.

    Without `snapshots` logs of broadcasts are read from their beginning.
    """
    told, heard = live or NoInboxChangeNotifier(), logs or NoBroadcastLogNotifier()
    at = _Stores.of(client, jobs_kept_days)
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
    def of(cls, client: DynamoClient, jobs_kept_days: int) -> Self:
        return cls(
            configured=DynamoInboxStore(client),
            contents=DynamoContentStore(client),
            shelf=DynamoInboxRepository(client),
            readers=DynamoReadTracker(client),
            directory=DynamoProfileStore(client),
            jobs=DynamoJobStore(client, jobs_kept_days),
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
        jobs_kept_days=settings.jobs_kept_days,
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

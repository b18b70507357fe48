"""Joins inboxes, jobs and their tables: for the processes that serve them, for those that work, and for the command line."""

from dataclasses import dataclass
from typing import Self

from tidings.api.services import NoticeServices
from tidings.broadcasts.ports import Snapshots
from tidings.broadcasts.store import DynamoProfiles, NoSnapshots, RedisSnapshots
from tidings.gateway.ports import InboxCases
from tidings.jobs.look_after import LookAfter
from tidings.jobs.ports import Chunks, Consumers
from tidings.jobs.store import KEPT_DAYS, DynamoDue, DynamoJobs
from tidings.jobs.track import Track
from tidings.kernel.clock import Clock
from tidings.notices.book import Book
from tidings.notices.broadcast import Broadcast
from tidings.notices.defaults import InboxDefaults
from tidings.notices.drafts import Drafts
from tidings.notices.give import Give
from tidings.notices.inboxes import Inboxes, InboxReader
from tidings.notices.live import LiveNews
from tidings.notices.live_logs import LiveLogs
from tidings.notices.mark import Mark
from tidings.notices.ports import Keys, Live, LogNews, Nobody, NobodyListens, NoBroadcasts
from tidings.notices.read import Read
from tidings.notices.recall import Prove, Recall
from tidings.notices.send import SendNotice
from tidings.notices.store import (
    DynamoContents,
    DynamoDefaults,
    DynamoInboxes,
    DynamoReaders,
    DynamoShelf,
    RedisConfigNews,
)
from tidings.notices.strangers import Strangers
from tidings.notices.withdraw import Withdraw
from tidings.notices.work import ChunkWork
from tidings.platform.dynamo.client import Client
from tidings.platform.redis.client import Redis
from tidings.routing.store import RedisLine, RedisRoutes
from tidings.run.broadcasts import WideCases, join_broadcasts
from tidings.run.settings.notices import NoticesSettings

_NO_LEASE_S = 1.0
"""Who tells takes none."""


@dataclass(frozen=True, slots=True)
class NoticeCases:
    inboxes: Inboxes
    defaults: InboxDefaults
    reader: InboxReader
    read: Read
    mark: Mark
    send: SendNotice
    broadcast: Broadcast
    recall: Recall
    prove: Prove
    track: Track
    work: ChunkWork
    wide: WideCases


def join_notices(
    client: Client,
    keys: Keys,
    clock: Clock,
    chunks: Chunks,
    *,
    live: Live | None = None,
    logs: LogNews | None = None,
    news: RedisConfigNews | None = None,
    snapshots: Snapshots | None = None,
    jobs_kept_days: int = KEPT_DAYS,
) -> NoticeCases:
    """`live`, `logs`: where devices are to be told; `news`: where others are told that an inbox was changed, and tell us.

    Without `snapshots` logs of broadcasts are read from their beginning.
    """
    told, heard, at = live or Nobody(), logs or NobodyListens(), _Stores.of(client, jobs_kept_days)
    wide = join_broadcasts(client, clock, snapshots or NoSnapshots(), news=heard)
    reader, track = InboxReader(at.configured, clock), Track(at.jobs, at.due, chunks, clock)
    if news is not None:
        news.listen(reader.forget)
    book = Book(at.shelf, reader, clock, told, wide.audience)
    recall = Recall(reader, at.contents, jobs=track, log=wide.announce, news=heard, keys=keys, clock=clock)
    drafts = Drafts(reader, at.contents, at.contents, keys=keys, clock=clock)
    broadcast = _broadcast(at, drafts, wide, track, clock)
    return NoticeCases(
        inboxes=Inboxes(at.configured, clock, reader, news),
        defaults=InboxDefaults(DynamoDefaults(client), clock),
        reader=reader,
        read=Read(book, at.contents, keys),
        mark=Mark(book, at.readers),
        send=SendNotice(drafts, track, clock),
        broadcast=broadcast,
        recall=recall,
        prove=Prove(recall, at.jobs, at.shelf),
        track=track,
        work=_work(at, reader, told, broadcast, clock),
        wide=wide,
    )


@dataclass(frozen=True, slots=True)
class _Stores:
    configured: DynamoInboxes
    contents: DynamoContents
    shelf: DynamoShelf
    readers: DynamoReaders
    directory: DynamoProfiles
    jobs: DynamoJobs
    due: DynamoDue

    @classmethod
    def of(cls, client: Client, jobs_kept_days: int) -> Self:
        return cls(
            configured=DynamoInboxes(client),
            contents=DynamoContents(client),
            shelf=DynamoShelf(client),
            readers=DynamoReaders(client),
            directory=DynamoProfiles(client),
            jobs=DynamoJobs(client, jobs_kept_days),
            due=DynamoDue(client),
        )


def _broadcast(at: _Stores, drafts: Drafts, wide: WideCases, track: Track, clock: Clock) -> Broadcast:
    return Broadcast(
        drafts,
        at.contents,
        log=wide.announce,
        segments=wide.segments,
        readers=at.readers,
        jobs=track,
        clock=clock,
    )


def _work(at: _Stores, reader: InboxReader, told: Live, broadcast: Broadcast, clock: Clock) -> ChunkWork:
    """What a worker takes from a user is not a look of his: it must not make him join."""
    return ChunkWork(
        at.jobs,
        at.contents,
        give=Give(at.shelf, clock, told),
        withdraw=Withdraw(Book(at.shelf, reader, clock, told, NoBroadcasts())),
        show=broadcast.show,
        live=told,
        strangers=Strangers(reader, at.directory),
        clock=clock,
    )


def join_serving(
    client: Client, keys: Keys, clock: Clock, chunks: Chunks, redis: Redis, *, settings: NoticesSettings
) -> tuple[NoticeCases, LiveNews]:
    """For a process that serves or works: devices hear of what it changes, and it of inboxes that others change."""
    line = RedisLine(redis)
    live = LiveNews(RedisRoutes(redis, lease_s=_NO_LEASE_S), line, LiveLogs(line))
    cases = join_notices(
        client,
        keys,
        clock,
        chunks,
        live=live,
        logs=live.logs,
        news=RedisConfigNews(redis),
        snapshots=RedisSnapshots(redis),
        jobs_kept_days=settings.jobs_kept_days,
    )
    return cases, live


def join_look_after(client: Client, clock: Clock, chunks: Chunks, consumers: Consumers) -> LookAfter:
    """For a process that works: the others publish chunks, and never a second time."""
    return LookAfter(DynamoJobs(client), DynamoDue(client), chunks, consumers, clock)


def inbox_cases(cases: NoticeCases) -> InboxCases:
    """What the socket's edge calls of it."""
    return InboxCases(cases.reader, cases.read, cases.mark, cases.wide.followers, cases.wide.audience)


def notice_services(cases: NoticeCases) -> NoticeServices:
    """What the REST edge calls of it."""
    return NoticeServices(
        inboxes=cases.inboxes,
        defaults=cases.defaults,
        known=cases.reader,
        read=cases.read,
        mark=cases.mark,
        send=cases.send,
        broadcast=cases.broadcast,
        estimate=cases.wide.estimate,
        segments=cases.wide.segments,
        people=cases.wide.people,
        recall=cases.recall,
        prove=cases.prove,
        jobs=cases.track,
    )

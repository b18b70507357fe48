"""Joins inboxes, jobs and their tables: for the processes that serve them, for those that work, and for the command line."""

from dataclasses import dataclass

from tidings.api.services import NoticeServices
from tidings.gateway.ports import InboxCases
from tidings.jobs.look_after import LookAfter
from tidings.jobs.ports import Chunks
from tidings.jobs.store import KEPT_DAYS, DynamoDue, DynamoJobs
from tidings.jobs.track import Track
from tidings.kernel.clock import Clock
from tidings.notices.book import Book
from tidings.notices.give import Give
from tidings.notices.inboxes import Inboxes, InboxReader
from tidings.notices.live import LiveNews
from tidings.notices.mark import Mark
from tidings.notices.ports import Keys, Live, Nobody
from tidings.notices.read import Read
from tidings.notices.recall import Prove, Recall
from tidings.notices.send import SendNotice
from tidings.notices.store import DynamoContents, DynamoDirectory, DynamoInboxes, DynamoShelf, RedisConfigNews
from tidings.notices.strangers import Strangers
from tidings.notices.withdraw import Withdraw
from tidings.notices.work import ChunkWork
from tidings.platform.dynamo.client import Client
from tidings.platform.redis.client import Redis
from tidings.routing.store import RedisLine, RedisRoutes
from tidings.run.settings.notices import NoticesSettings

_NO_LEASE_S = 1.0
"""Who tells takes none."""


@dataclass(frozen=True, slots=True)
class NoticeCases:
    inboxes: Inboxes
    reader: InboxReader
    read: Read
    mark: Mark
    send: SendNotice
    recall: Recall
    prove: Prove
    track: Track
    work: ChunkWork
    look_after: LookAfter


def join_notices(
    client: Client,
    keys: Keys,
    clock: Clock,
    chunks: Chunks,
    *,
    live: Live | None = None,
    news: RedisConfigNews | None = None,
    jobs_kept_days: int = KEPT_DAYS,
) -> NoticeCases:
    """`live`: where devices are to be told; `news`: where others are told that an inbox was changed, and tell us."""
    told = live or Nobody()
    configured, contents, shelf = DynamoInboxes(client), DynamoContents(client), DynamoShelf(client)
    jobs, due = DynamoJobs(client, jobs_kept_days), DynamoDue(client)
    reader, track = InboxReader(configured, clock), Track(jobs, due, chunks, clock)
    if news is not None:
        news.listen(reader.forget)
    book = Book(shelf, reader, clock, told)
    recall = Recall(reader, contents, contents, jobs=track, keys=keys, clock=clock)
    return NoticeCases(
        inboxes=Inboxes(configured, clock, reader, news),
        reader=reader,
        read=Read(book, contents, keys),
        mark=Mark(book),
        send=SendNotice(reader, contents, contents, jobs=track, keys=keys, clock=clock),
        recall=recall,
        prove=Prove(recall, jobs, shelf),
        track=track,
        work=ChunkWork(
            jobs,
            contents,
            give=Give(shelf, clock, told),
            withdraw=Withdraw(book),
            live=told,
            strangers=Strangers(reader, DynamoDirectory(client)),
            clock=clock,
        ),
        look_after=LookAfter(jobs, due, chunks, clock),
    )


def join_serving(
    client: Client, keys: Keys, clock: Clock, chunks: Chunks, redis: Redis, *, settings: NoticesSettings
) -> tuple[NoticeCases, LiveNews]:
    """For a process that serves or works: devices hear of what it changes, and it of inboxes that others change."""
    live = LiveNews(RedisRoutes(redis, lease_s=_NO_LEASE_S), RedisLine(redis))
    cases = join_notices(
        client,
        keys,
        clock,
        chunks,
        live=live,
        news=RedisConfigNews(redis),
        jobs_kept_days=settings.jobs_kept_days,
    )
    return cases, live


def inbox_cases(cases: NoticeCases) -> InboxCases:
    """What the socket's edge calls of it."""
    return InboxCases(cases.reader, cases.read, cases.mark)


def notice_services(cases: NoticeCases) -> NoticeServices:
    """What the REST edge calls of it."""
    return NoticeServices(
        inboxes=cases.inboxes,
        known=cases.reader,
        read=cases.read,
        mark=cases.mark,
        send=cases.send,
        recall=cases.recall,
        prove=cases.prove,
        jobs=cases.track,
    )

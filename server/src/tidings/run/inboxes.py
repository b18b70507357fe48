"""Joins inboxes, jobs and their tables: for the processes that serve them, for those that work, and for the command line."""

from dataclasses import dataclass

from tidings.api.services import NoticeServices
from tidings.broadcasts.ports import Snapshots
from tidings.broadcasts.store import NoSnapshots
from tidings.jobs.look_after import LookAfter
from tidings.jobs.ports import Chunks
from tidings.jobs.store import DynamoDue, DynamoJobs
from tidings.jobs.track import Track
from tidings.kernel.clock import Clock
from tidings.notices.book import Book
from tidings.notices.broadcast import Broadcast
from tidings.notices.drafts import Drafts
from tidings.notices.give import Give
from tidings.notices.inboxes import Inboxes, InboxReader
from tidings.notices.mark import Mark
from tidings.notices.ports import Keys, Live, Nobody, NoBroadcasts
from tidings.notices.read import Read
from tidings.notices.recall import Prove, Recall
from tidings.notices.send import SendNotice
from tidings.notices.store import DynamoContents, DynamoInboxes, DynamoReaders, DynamoShelf
from tidings.notices.withdraw import Withdraw
from tidings.notices.work import ChunkWork
from tidings.platform.dynamo.client import Client
from tidings.run.broadcasts import WideCases, join_broadcasts


@dataclass(frozen=True, slots=True)
class NoticeCases:
    inboxes: Inboxes
    reader: InboxReader
    read: Read
    mark: Mark
    send: SendNotice
    broadcast: Broadcast
    recall: Recall
    prove: Prove
    track: Track
    work: ChunkWork
    look_after: LookAfter
    wide: WideCases


def join_notices(
    client: Client,
    keys: Keys,
    clock: Clock,
    chunks: Chunks,
    *,
    live: Live | None = None,
    snapshots: Snapshots | None = None,
) -> NoticeCases:
    """Without `snapshots` (without Redis, that is) logs of broadcasts are read from their beginning."""
    told = live or Nobody()
    wide = join_broadcasts(client, clock, snapshots or NoSnapshots())
    configured, contents, shelf = DynamoInboxes(client), DynamoContents(client), DynamoShelf(client)
    jobs, due = DynamoJobs(client), DynamoDue(client)
    reader, track = InboxReader(configured, clock), Track(jobs, due, chunks, clock)
    book = Book(shelf, reader, clock, told, wide.audience)
    # what a worker takes from a user is not a look of his: it must not make him join
    direct = Book(shelf, reader, clock, told, NoBroadcasts())
    recall = Recall(reader, contents, contents, jobs=track, log=wide.announce, keys=keys, clock=clock)
    drafts = Drafts(reader, contents, contents, keys=keys, clock=clock)
    readers = DynamoReaders(client)
    broadcast = Broadcast(
        drafts,
        contents,
        log=wide.announce,
        segments=wide.segments,
        readers=readers,
        jobs=track,
        clock=clock,
    )
    give, withdraw = Give(shelf, clock, told), Withdraw(direct)
    return NoticeCases(
        inboxes=Inboxes(configured, clock, reader),
        reader=reader,
        read=Read(book, contents, keys),
        mark=Mark(book, readers),
        send=SendNotice(drafts, track, clock),
        broadcast=broadcast,
        recall=recall,
        prove=Prove(recall, jobs, shelf),
        track=track,
        work=ChunkWork(jobs, contents, give, withdraw, show=broadcast.show, clock=clock),
        look_after=LookAfter(jobs, due, chunks, clock),
        wide=wide,
    )


def notice_services(cases: NoticeCases) -> NoticeServices:
    """What the REST edge calls of it."""
    return NoticeServices(
        inboxes=cases.inboxes,
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

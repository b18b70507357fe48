"""What inboxes ask of the world. Each method says what it guarantees."""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum, StrEnum
from typing import NamedTuple, Protocol

from tidings.broadcasts.model import NOTHING, Draft, LogId, Reached, Shown
from tidings.jobs.model import Done, Job, JobId
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.notices.config import Defaults, Inbox
from tidings.notices.model import (
    Change,
    Claim,
    Content,
    Counts,
    InboxId,
    NoticeId,
    Origin,
    Owner,
    Row,
    Standing,
    Wide,
)
from tidings.routing.model import Answers, GatewayId, Route


class Given(Enum):
    """What became of a delivery. `THERE`: there is a row of this notice already, whatever became of it since."""

    GIVEN = "given"
    THERE = "there"


class Deed(StrEnum):
    """Why rows or counts change: each is an access pattern of its own."""

    MARK = "mark"
    SETTLE = "settle"
    REDACT = "redact"


class RowPage(NamedTuple):
    """Newest first. `has_more`: there are older ones."""

    rows: Sequence[Row]
    has_more: bool


class Shelf(Protocol):
    """Rows and counts of users. Reads are strong. Raises `overloaded` or `outcome_unknown` while it can't be written."""

    async def give(self, owner: Owner, row: Row) -> Given | Counts:
        """Row and count at once, if there is no row of this notice and the row is later than all that was.

        Else nothing is written: it is there, or the counts say what is later. May be repeated at will.
        """
        ...

    async def standing(self, owner: Owner, expiring: int) -> Standing:
        """With so many of those that expire."""
        ...

    async def rows(self, owner: Owner, ids: Collection[NoticeId]) -> Mapping[NoticeId, Row]: ...

    async def page(self, owner: Owner, below: NoticeId | None, limit: int) -> RowPage:
        """The order is that in which they were sent."""
        ...

    async def sent_before(self, owner: Owner, at_ms: int) -> Sequence[Row]:
        """All of them."""
        ...

    async def join(self, owner: Owner, wide: Wide) -> bool:
        """The state of somebody who has none. False: he has one by now; after doubt that may be this one."""
        ...

    async def commit(self, owner: Owner, deed: Deed, change: Change) -> bool:
        """All of it, or False: somebody changed the inbox since it was read. After doubt it is False, too."""
        ...

    async def forget(self, owner: Owner, ids: Sequence[NoticeId]) -> None:
        """Delete rows that can't come again: they were sent before `kept_from_ms`."""
        ...


class Said(Protocol):
    async def of(self, tenant: TenantId, ids: Collection[NoticeId]) -> Mapping[NoticeId, Content]:
        """For people to look at: may be a moment behind."""
        ...


class Contents(Said, Protocol):
    """What notices say. Put before anything points to it; a version that stands is never changed."""

    async def put(self, tenant: TenantId, content: Content) -> None:
        """The same again changes nothing: what stands stays."""
        ...

    async def find(self, tenant: TenantId, notice: NoticeId) -> Content | None:
        """Strong."""
        ...

    async def amend(self, tenant: TenantId, content: Content) -> bool:
        """`content.version` follows the one that stands; False if it does not, or if that was redacted."""
        ...

    async def redact(self, tenant: TenantId, content: Content, at_ms: int, recall: str) -> bool:
        """Empties every version. False if there is a newer one than `content`."""
        ...


class Claims(Protocol):
    async def claim(
        self, tenant: TenantId, inbox: InboxId, origin: Origin, key: str, claim: Claim
    ) -> Claim | None:
        """None: it is ours now. Else what was sent under it first. May be repeated at will."""
        ...

    async def claimed(self, tenant: TenantId, inbox: InboxId, origin: Origin, key: str) -> Claim | None:
        """Strong."""
        ...


class InboxStore(Protocol):
    async def read(self, tenant: TenantId, inbox: InboxId) -> Inbox | None:
        """May be a moment behind; what is changed on it is held against its version."""
        ...

    async def listed(self, tenant: TenantId) -> Sequence[Inbox]: ...

    async def write(self, tenant: TenantId, inbox: Inbox) -> bool:
        """False: what stands is not the version before it."""
        ...


class DefaultsStore(Protocol):
    async def read(self, tenant: TenantId) -> Defaults | None:
        """Strong."""
        ...

    async def write(self, tenant: TenantId, defaults: Defaults) -> bool:
        """False: what stands is not the version before it."""
        ...


class Directory(Protocol):
    async def known(self, tenant: TenantId, users: Sequence[UserId]) -> Collection[UserId]:
        """Those of them who have a profile. Strong."""
        ...


class ConfigNews(Protocol):
    async def changed(self, tenant: TenantId, inbox: InboxId, /) -> None:
        """Whoever keeps what this inbox was reads it anew. May get lost, never raises."""
        ...


class NoConfigNews:
    """For who is alone, or can wait for a few seconds."""

    async def changed(self, tenant: TenantId, inbox: InboxId, /) -> None:
        pass


class Jobs(Protocol):
    """The work that sends and recalls are. Of `jobs`, joined by who wires."""

    async def put_chunks(
        self, tenant: TenantId, job: JobId, chunks: Sequence[Sequence[UserId]], kept_days: int | None, /
    ) -> None:
        """The same again changes nothing. They stay so long at least; None: for ever."""
        ...

    async def start(self, job: Job, /) -> bool:
        """False: it was started before, by an earlier try."""
        ...


class Work(Protocol):
    """Chunks as a worker does them. Strong."""

    async def read(self, tenant: TenantId, job: JobId, /) -> Job | None: ...

    async def chunk(self, tenant: TenantId, job: JobId, chunk: int, /) -> Sequence[UserId]: ...

    async def is_done(self, tenant: TenantId, job: JobId, chunk: int, /) -> bool: ...

    async def mark_done(self, tenant: TenantId, job: JobId, done: Done, /) -> None: ...


class Reading(NamedTuple):
    user: UserId
    at_ms: int


class ReaderPage(NamedTuple):
    """In the order of their names. `below` goes into the next."""

    readers: Sequence[Reading]
    below: UserId | None


class Readers(Protocol):
    """Who has read which broadcasts, for those that were sent to be tracked."""

    async def note(self, tenant: TenantId, user: UserId, notices: Collection[NoticeId], at_ms: int) -> None:
        """The same again is no harm."""
        ...

    async def page(
        self, tenant: TenantId, notice: NoticeId, limit: int, below: UserId | None = None
    ) -> ReaderPage: ...


class Proofs(Protocol):
    async def rows_of(
        self, tenant: TenantId, inbox: InboxId, notice: NoticeId, users: Sequence[UserId]
    ) -> Mapping[UserId, Row]:
        """The rows that these users have of one notice."""
        ...


class OpeningKeys(Protocol):
    """Raises `content_unreadable` for what was not sealed for this place."""

    def unseal(self, chat: ChatKey, sequence: int, content: bytes, /) -> bytes: ...


class SealingKeys(Protocol):
    def fingerprint(self, said: bytes, /) -> bytes: ...

    def seal(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes: ...


class Keys(Protocol):
    """Raises `keys_unavailable` while keys can't be had and none are at hand."""

    async def of(self, tenant: TenantId, /) -> SealingKeys: ...

    async def to_read(self, tenant: TenantId, contents: Collection[bytes], /) -> OpeningKeys: ...


class Broadcasts(Protocol):
    async def of(self, log: LogId, user: UserId, /, *, is_joined: bool, at_least: int = 0) -> Shown:
        """What a user gets of them, at most a second old. Raises `after_above_head` for what is not there yet.

        `joined` is for who has not: where his time begins.
        """
        ...


class Announcing(Protocol):
    """The log of an inbox, as who sends uses it. Each is one entry at most; all may be repeated at will."""

    async def step(self, log: LogId, draft: Draft, up_to: int, /) -> Reached:
        """Shown to so many parts of its users, unless it is over."""
        ...

    async def halt(self, log: LogId, notice: str, /) -> Reached:
        """Raises `nothing_to_change` if it is not live."""
        ...

    async def redact(self, log: LogId, notice: str, /) -> Reached:
        """Hidden, if it is shown to anybody."""
        ...

    async def reached(self, log: LogId, notice: str, /) -> Reached:
        """With everything that was appended before."""
        ...


class Knowing(Protocol):
    async def check(self, tenant: TenantId, segment: str, /) -> None:
        """Raises `segment_not_found`."""
        ...


class NoBroadcasts:
    """For who has to do with direct notices alone."""

    async def of(self, _: LogId, __: UserId, /, *, is_joined: bool, at_least: int = 0) -> Shown:  # noqa: ARG002
        return NOTHING


class Retention(Protocol):
    async def retention_days(self, tenant: TenantId, inbox: InboxId, /) -> int | None:
        """None: for ever."""
        ...


class News(StrEnum):
    """What happened to a user's inbox."""

    GIVEN = "given"
    COUNTED = "counted"
    AMENDED = "amended"
    REDACTED = "redacted"


class Live(Protocol):
    """Told after the commit, never awaited: devices hear of it if they can, and read the counts anew if they did not."""

    def tell(self, owner: Owner, news: News, notice: NoticeId | None = None, /) -> None: ...


class Routes(Protocol):
    """Where devices are connected."""

    async def of(self, tenant: TenantId, users: Sequence[UserId]) -> Answers[UserId, Sequence[Route]]: ...


class Line(Protocol):
    async def to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        """Raises `RoutesAwayError`."""
        ...


class Nobody:
    """For processes without devices."""

    def tell(self, owner: Owner, news: News, notice: NoticeId | None = None, /) -> None:
        pass


class LogLine(Protocol):
    async def to_broadcasts(self, tenant: TenantId, inbox: str, payload: bytes) -> int:
        """Raises `RoutesAwayError`."""
        ...


class LogNews(Protocol):
    """Told after the commit, as `Live`, of what concerns all who look at an inbox."""

    def moved(self, log: LogId, sequence: int, /) -> None: ...

    def amended(self, log: LogId, notice: str, /) -> None: ...


class NobodyListens:
    def moved(self, log: LogId, sequence: int, /) -> None:
        pass

    def amended(self, log: LogId, notice: str, /) -> None:
        pass

"""Sends a notice to everyone or to a segment: content first, then an entry of the inbox's log. Users merge it at read.

What starts later, or comes in steps, is a job for each of these times. Every step may be repeated: a try with the same
key goes on with the ids of the first, and an entry that is there is not appended again.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct

from tidings.broadcasts.model import DAY_MS, LONGEST_MS, PARTS, Draft, LogId, Reached
from tidings.jobs.model import Job, JobId, JobKind
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, encode_ulid, ulid_ms
from tidings.notices import drafts
from tidings.notices.drafts import Drafts, Words
from tidings.notices.model import EVERYONE, Content, NoticeId
from tidings.notices.ports import Announcing, Contents, Jobs, Knowing, ReaderPage, Readers

MAX_STEPS = 20
LATEST_START_MS = 60 * DAY_MS
_PERCENT = PARTS // 100


class Step(Struct, frozen=True):
    """So many of the users have it, so long after its start."""

    percent: int
    after_s: int = 0


ALL_AT_ONCE = (Step(100),)


class WideWish(Words, frozen=True, kw_only=True):
    """`segment` None: everyone. `starts_ms` None: now. `tracks_reads`: who reads it is noted, one write each."""

    segment: str | None = None
    starts_ms: int | None = None
    steps: tuple[Step, ...] = ALL_AT_ONCE
    tracks_reads: bool = False


class Announced(NamedTuple):
    """`jobs`: of what is yet to come. `is_new` False: an earlier try did it all."""

    notice: NoticeId
    jobs: Sequence[JobId]
    reached: Reached
    is_new: bool


class Broadcast:
    def __init__(
        self,
        drafts: Drafts,
        contents: Contents,
        *,
        log: Announcing,
        segments: Knowing,
        readers: Readers,
        jobs: Jobs,
        clock: Clock,
    ) -> None:
        self._drafts = drafts
        self._contents = contents
        self._log = log
        self._segments = segments
        self._readers = readers
        self._jobs = jobs
        self._clock = clock

    async def __call__(
        self, tenant: TenantId, inbox: str, wish: WideWish, key: str | None = None
    ) -> Announced:
        """Answered when it is committed: what starts now is in the log, what starts later is a job."""
        if wish.segment is not None:
            await self._segments.check(tenant, wish.segment)
        check_steps(wish, self._clock.now_ms())
        draft = await self._drafts.make(tenant, inbox, wish, key)
        start_ms = wish.starts_ms or draft.sent_ms
        expires_ms = min(draft.expires_ms or start_ms + LONGEST_MS, start_ms + LONGEST_MS)
        content = await self._drafts.put(
            draft, expires_ms=expires_ms, reach=wish.segment or EVERYONE, is_tracked=wish.tracks_reads
        )
        jobs = await self._planned(draft, start_ms)
        first = wish.steps[0] if wish.starts_ms is None else None
        if first is not None and first.after_s == 0:
            await self.show(tenant, content.id, first.percent)
        reached = await self.reached(tenant, inbox, content.id)
        return Announced(content.id, jobs, reached, is_new=not draft.is_repeat)

    async def show(self, tenant: TenantId, notice: NoticeId, percent: int) -> Reached:
        """To so many of its users. Nothing is shown of what was recalled meanwhile, or has expired."""
        content = await self._find(tenant, notice)
        log = LogId(tenant, content.inbox)
        if content.redacted_ms is not None:
            return await self._log.reached(log, notice)
        reached = await self._log.step(log, _announcement(content), percent * _PERCENT)
        # who recalls empties the content and then looks at the log; we look the other way round: one sees the other
        if (await self._find(tenant, notice)).redacted_ms is not None:
            return await self._log.redact(log, notice)
        return reached

    async def ramp(self, tenant: TenantId, inbox: str, notice: NoticeId, percent: int) -> Reached:
        before = await self.reached(tenant, inbox, notice)
        after = await self.show(tenant, notice, percent)
        if after.parts == before.parts:
            raise TidingsError(
                Code.NOTHING_TO_CHANGE, "It is shown to so many already, was halted, or is over."
            )
        return after

    async def halt(self, tenant: TenantId, inbox: str, notice: NoticeId) -> Reached:
        """No further step, whatever is planned; who has it keeps it."""
        await self.find(tenant, inbox, notice)
        return await self._log.halt(LogId(tenant, inbox), notice)

    async def reached(self, tenant: TenantId, inbox: str, notice: NoticeId) -> Reached:
        return await self._log.reached(LogId(tenant, inbox), notice)

    async def find(self, tenant: TenantId, inbox: str, notice: NoticeId) -> Content:
        content = await self._find(tenant, notice)
        if content.inbox != inbox:
            raise _unknown()
        return content

    async def readers(
        self, tenant: TenantId, inbox: str, notice: NoticeId, limit: int, below: UserId | None = None
    ) -> ReaderPage:
        if not (await self.find(tenant, inbox, notice)).is_tracked:
            raise TidingsError(Code.REQUEST_INVALID, "It was not sent with `track_reads`: nobody knows.")
        return await self._readers.page(tenant, notice, limit, below)

    async def _find(self, tenant: TenantId, notice: NoticeId) -> Content:
        content = await self._contents.find(tenant, notice)
        if content is None or content.reach is None:
            raise _unknown()
        return content

    async def _planned(self, draft: drafts.Draft[WideWish], start_ms: int) -> list[JobId]:
        """A job for each step that is not to be done at once."""
        wish, jobs = draft.wish, []
        for number, step in enumerate(wish.steps):
            if wish.starts_ms is None and step.after_s == 0:
                continue
            job = _job_id(draft.claim.job, number)
            jobs.append(job)
            await self._jobs.start(
                Job(
                    tenant=draft.tenant,
                    id=job,
                    kind=JobKind.BROADCAST,
                    inbox=draft.inbox.id,
                    notice=draft.claim.notice,
                    source=job,
                    total=1,
                    created_ms=self._clock.now_ms(),
                    starts_ms=start_ms + step.after_s * 1000,
                    percent=step.percent,
                )
            )
        return jobs


def check_steps(wish: WideWish, now_ms: int) -> None:
    percents, waits = [each.percent for each in wish.steps], [each.after_s for each in wish.steps]
    if (
        not 0 < len(wish.steps) <= MAX_STEPS
        or percents != sorted(set(percents))
        or waits != sorted(set(waits))
    ):
        raise TidingsError(
            Code.REQUEST_INVALID, f"A ramp has 1 to {MAX_STEPS} steps, each later and to more users."
        )
    if not 0 < percents[0] <= percents[-1] <= 100:  # noqa: PLR2004 - percent
        raise TidingsError(Code.REQUEST_INVALID, "A step is to 1 to 100 percent of the users.")
    start_ms = wish.starts_ms or now_ms
    if start_ms > now_ms + LATEST_START_MS:
        raise TidingsError(Code.REQUEST_INVALID, "A broadcast starts within 60 days: jobs are kept for 90.")
    if wish.expires_ms is not None and wish.expires_ms > start_ms + LONGEST_MS:
        raise TidingsError(Code.REQUEST_INVALID, "A broadcast lives for 90 days at most.")
    if waits[-1] * 1000 >= (wish.expires_ms or start_ms + LONGEST_MS) - start_ms:
        raise TidingsError(Code.REQUEST_INVALID, "The last step would come after the end.")


def _announcement(content: Content) -> Draft:
    return Draft(
        notice=content.id,
        category=content.category,
        segment=None if content.reach == EVERYONE else content.reach,
        expires_ms=content.expires_ms or 0,
        is_tracked=content.is_tracked,
    )


def _job_id(first: str, number: int) -> JobId:
    """The same for every try."""
    if number == 0:
        return JobId(first)
    chance = blake2b(f"{first}.{number}".encode(), digest_size=10).digest()
    return JobId(encode_ulid(ulid_ms(first), int.from_bytes(chance)))


def _unknown() -> TidingsError:
    return TidingsError(Code.NOTICE_NOT_FOUND, "There is no such broadcast in this inbox.")

"""Sends a notification to everyone or to a segment: content first, then an entry of the inbox's log. Users merge it at read.

What starts later, or comes in steps, is a job for each of these times. Every step may be repeated: a try with the same
key goes on with the ids of the first, and an entry that is there is not appended again.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct

from tidings.inboxes import sender
from tidings.inboxes.broadcasts.model import (
    DAY_MS,
    LONGEST_MS,
    PARTS,
    BroadcastDraft,
    BroadcastLogId,
    RolloutStatus,
)
from tidings.inboxes.broadcasts.ports import BroadcastRollouts, ReaderPage, ReadTracker, SegmentChecker
from tidings.inboxes.model import EVERYONE, NotificationContent, NotificationId
from tidings.inboxes.ports import ContentStore, JobStarter
from tidings.inboxes.sender import DraftService, NotificationFields
from tidings.jobs.model import Job, JobId, JobKind
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, encode_ulid, ulid_ms

MAX_STEPS = 20
LATEST_START_MS = 60 * DAY_MS
_PERCENT = PARTS // 100


class RolloutStep(Struct, frozen=True):
    """So many of the users have it, so long after its start."""

    percent: int
    after_s: int = 0


WITHOUT_RAMP = (RolloutStep(100),)


class BroadcastRequest(NotificationFields, frozen=True, kw_only=True):
    """`segment` None: everyone. `starts_ms` None: now. `tracks_reads`: who reads it is noted, one write each."""

    segment: str | None = None
    starts_ms: int | None = None
    steps: tuple[RolloutStep, ...] = WITHOUT_RAMP
    tracks_reads: bool = False


class BroadcastResult(NamedTuple):
    """`jobs`: of what is yet to come. `is_new` False: an earlier try did it all."""

    notification: NotificationId
    jobs: Sequence[JobId]
    status: RolloutStatus
    is_new: bool


class BroadcastService:
    def __init__(
        self,
        drafts: DraftService,
        contents: ContentStore,
        *,
        log: BroadcastRollouts,
        segments: SegmentChecker,
        readers: ReadTracker,
        jobs: JobStarter,
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
        self, tenant: TenantId, inbox: str, request: BroadcastRequest, key: str | None = None
    ) -> BroadcastResult:
        """Answered when it is committed: what starts now is in the log, what starts later is a job."""
        if request.segment is not None:
            await self._segments.check(tenant, request.segment)
        check_ramp(request, self._clock.now_ms())
        draft = await self._drafts.make(tenant, inbox, request, key)
        start_ms = request.starts_ms or draft.sent_ms
        expires_ms = min(draft.expires_ms or start_ms + LONGEST_MS, start_ms + LONGEST_MS)
        content = await self._drafts.put(
            draft, expires_ms=expires_ms, reach=request.segment or EVERYONE, is_tracked=request.tracks_reads
        )
        jobs = await self._planned(draft, start_ms)
        first = request.steps[0] if request.starts_ms is None else None
        if first is not None and first.after_s == 0:
            await self.release(tenant, content.id, first.percent)
        reached = await self.status(tenant, inbox, content.id)
        return BroadcastResult(content.id, jobs, reached, is_new=not draft.is_repeat)

    async def release(self, tenant: TenantId, notification: NotificationId, percent: int) -> RolloutStatus:
        """To so many of its users. Nothing is shown of what was recalled meanwhile, or has expired."""
        content = await self._find(tenant, notification)
        log = BroadcastLogId(tenant, content.inbox)
        if content.redacted_ms is not None:
            return await self._log.status(log, notification)
        reached = await self._log.step(log, _announcement(content), percent * _PERCENT)
        # who recalls empties the content and then looks at the log; we look the other way round: one sees the other
        if (await self._find(tenant, notification)).redacted_ms is not None:
            return await self._log.redact(log, notification)
        return reached

    async def ramp(
        self, tenant: TenantId, inbox: str, notification: NotificationId, percent: int
    ) -> RolloutStatus:
        before = await self.status(tenant, inbox, notification)
        after = await self.release(tenant, notification, percent)
        if after.parts == before.parts:
            raise TidingsError(Code.NO_CHANGE, "It is shown to so many already, was halted, or is over.")
        return after

    async def halt(self, tenant: TenantId, inbox: str, notification: NotificationId) -> RolloutStatus:
        """No further step, whatever is planned; who has it keeps it."""
        await self.find(tenant, inbox, notification)
        return await self._log.halt(BroadcastLogId(tenant, inbox), notification)

    async def status(self, tenant: TenantId, inbox: str, notification: NotificationId) -> RolloutStatus:
        return await self._log.status(BroadcastLogId(tenant, inbox), notification)

    async def find(self, tenant: TenantId, inbox: str, notification: NotificationId) -> NotificationContent:
        content = await self._find(tenant, notification)
        if content.inbox != inbox:
            raise _unknown()
        return content

    async def readers(
        self,
        tenant: TenantId,
        inbox: str,
        notification: NotificationId,
        limit: int,
        below: UserId | None = None,
    ) -> ReaderPage:
        if not (await self.find(tenant, inbox, notification)).is_tracked:
            raise TidingsError(Code.REQUEST_INVALID, "It was not sent with `track_reads`: nobody knows.")
        return await self._readers.page(tenant, notification, limit, below)

    async def _find(self, tenant: TenantId, notification: NotificationId) -> NotificationContent:
        content = await self._contents.find(tenant, notification)
        if content is None or content.reach is None:
            raise _unknown()
        return content

    async def _planned(self, draft: sender.NotificationDraft[BroadcastRequest], start_ms: int) -> list[JobId]:
        """A job for each step that is not to be done at once."""
        wish, jobs = draft.request, []
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
                    notification=draft.claim.notification,
                    source=job,
                    total=1,
                    created_ms=self._clock.now_ms(),
                    starts_ms=start_ms + step.after_s * 1000,
                    percent=step.percent,
                )
            )
        return jobs


def check_ramp(request: BroadcastRequest, now_ms: int) -> None:
    percents, waits = [each.percent for each in request.steps], [each.after_s for each in request.steps]
    if (
        not 0 < len(request.steps) <= MAX_STEPS
        or percents != sorted(set(percents))
        or waits != sorted(set(waits))
    ):
        raise TidingsError(
            Code.REQUEST_INVALID, f"A ramp has 1 to {MAX_STEPS} steps, each later and to more users."
        )
    if not 0 < percents[0] <= percents[-1] <= 100:  # noqa: PLR2004 - percent
        raise TidingsError(Code.REQUEST_INVALID, "A step is to 1 to 100 percent of the users.")
    start_ms = request.starts_ms or now_ms
    if start_ms > now_ms + LATEST_START_MS:
        raise TidingsError(Code.REQUEST_INVALID, "A broadcast starts within 60 days: jobs are kept for 90.")
    if request.expires_ms is not None and request.expires_ms > start_ms + LONGEST_MS:
        raise TidingsError(Code.REQUEST_INVALID, "A broadcast lives for 90 days at most.")
    if waits[-1] * 1000 >= (request.expires_ms or start_ms + LONGEST_MS) - start_ms:
        raise TidingsError(Code.REQUEST_INVALID, "The last step would come after the end.")


def _announcement(content: NotificationContent) -> BroadcastDraft:
    return BroadcastDraft(
        notification=content.id,
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
    return TidingsError(Code.NOTIFICATION_NOT_FOUND, "There is no such broadcast in this inbox.")

"""Send a notification to all users or to a segment.

The content is stored first, then an entry of the inbox's log, which users merge at read. A later start and each later
rollout step is a job. Every step is idempotent: an attempt with the same key continues with the ids of the first, and
an existing entry is not appended again.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct

from tidings.inboxes.broadcasts.log import BroadcastRollout
from tidings.inboxes.broadcasts.model import (
    DAY_MS,
    LONGEST_MS,
    PARTS,
    BroadcastDraft,
    BroadcastLogId,
    RolloutStatus,
)
from tidings.inboxes.broadcasts.ports import ReaderPage, ReadTracker
from tidings.inboxes.broadcasts.segments import SegmentService
from tidings.inboxes.model import EVERYONE, NotificationContent, NotificationId
from tidings.inboxes.ports import ContentStore
from tidings.inboxes.sender import DraftService, NotificationDraft, NotificationFields
from tidings.jobs.model import Job, JobId, JobKind
from tidings.jobs.ports import JobStarter
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, encode_ulid, ulid_ms

MAX_STEPS = 20
LATEST_START_MS = 60 * DAY_MS
_PERCENT = PARTS // 100


class RolloutStep(Struct, frozen=True):
    """`percent` of the users have it, `after_s` seconds after its start."""

    percent: int
    after_s: int = 0


ALL_AT_ONCE = (RolloutStep(100),)


class BroadcastRequest(NotificationFields, frozen=True, kw_only=True):
    """`segment` None: all users. `starts_ms` None: now. `tracks_reads`: record each reader, with one write."""

    segment: str | None = None
    starts_ms: int | None = None
    steps: tuple[RolloutStep, ...] = ALL_AT_ONCE
    tracks_reads: bool = False


class BroadcastResult(NamedTuple):
    """`jobs` are those of later steps. `is_new` False: an earlier attempt sent it."""

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
        log: BroadcastRollout,
        segments: SegmentService,
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

    async def send(
        self, tenant: TenantId, inbox: str, request: BroadcastRequest, key: str | None = None
    ) -> BroadcastResult:
        """Send a broadcast. After the return its first step is in the log, and later steps are jobs.

        Idempotent if `key` is given. Raises `segment_not_found`, `request_invalid` and the errors of
        `DraftService.make`.
        """
        if request.segment is not None:
            await self._segments.of(tenant, request.segment)
        check_rollout(request, self._clock.now_ms())
        draft = await self._drafts.make(tenant, inbox, request, key)
        start_ms = request.starts_ms or draft.sent_ms
        expires_ms = min(draft.expires_ms or start_ms + LONGEST_MS, start_ms + LONGEST_MS)
        content = await self._drafts.put(
            draft, expires_ms=expires_ms, reach=request.segment or EVERYONE, is_tracked=request.tracks_reads
        )
        jobs = await self._start_jobs(draft, start_ms)
        first = request.steps[0] if request.starts_ms is None else None
        if first is not None and first.after_s == 0:
            await self.release(tenant, content.id, first.percent)
        status = await self.status(tenant, inbox, content.id)
        note_change(None, {"notification": content.id, "segment": request.segment, "jobs": jobs})
        return BroadcastResult(content.id, jobs, status, is_new=not draft.is_repeat)

    async def release(self, tenant: TenantId, notification: NotificationId, percent: int) -> RolloutStatus:
        """Release a broadcast to `percent` of its users, unless it was recalled or has expired. Idempotent."""
        content = await self._find(tenant, notification)
        log = BroadcastLogId(tenant, content.inbox)
        if content.redacted_ms is not None:
            return await self._log.status(log, notification)
        status = await self._log.step(log, _draft_from_content(content), percent * _PERCENT)
        # Race: a recall redacts the content and then looks at the log. We append to the log and then look at the
        # content. So at least one of the two sees the other and appends the redaction.
        if (await self._find(tenant, notification)).redacted_ms is not None:
            return await self._log.redact(log, notification)
        return status

    async def ramp(
        self, tenant: TenantId, inbox: str, notification: NotificationId, percent: int
    ) -> RolloutStatus:
        before = await self.status(tenant, inbox, notification)
        after = await self.release(tenant, notification, percent)
        if after.parts == before.parts:
            raise TidingsError(
                Code.NO_CHANGE, "These users have it already, or it was halted, redacted or has expired."
            )
        note_change(before._asdict(), after._asdict())
        return after

    async def halt(self, tenant: TenantId, inbox: str, notification: NotificationId) -> RolloutStatus:
        """Stop all further steps. Users who have it keep it. Raises `no_change` if it is not live."""
        await self.find(tenant, inbox, notification)
        after = await self._log.halt(BroadcastLogId(tenant, inbox), notification)
        note_change({"is_halted": False}, {"is_halted": after.is_halted, "parts": after.parts})
        return after

    async def status(self, tenant: TenantId, inbox: str, notification: NotificationId) -> RolloutStatus:
        return await self._log.status(BroadcastLogId(tenant, inbox), notification)

    async def find(self, tenant: TenantId, inbox: str, notification: NotificationId) -> NotificationContent:
        content = await self._find(tenant, notification)
        if content.inbox != inbox:
            raise _not_found()
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
            raise TidingsError(
                Code.REQUEST_INVALID, "Its readers are not recorded: it was not sent with `track_reads`."
            )
        return await self._readers.page(tenant, notification, limit, below)

    async def _find(self, tenant: TenantId, notification: NotificationId) -> NotificationContent:
        content = await self._contents.find(tenant, notification)
        if content is None or content.reach is None:
            raise _not_found()
        return content

    async def _start_jobs(self, draft: NotificationDraft[BroadcastRequest], start_ms: int) -> list[JobId]:
        """Start a job for each later step."""
        request, jobs = draft.request, []
        for number, step in enumerate(request.steps):
            if request.starts_ms is None and step.after_s == 0:
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


def check_rollout(request: BroadcastRequest, now_ms: int) -> None:
    percents, waits = [each.percent for each in request.steps], [each.after_s for each in request.steps]
    if (
        not 0 < len(request.steps) <= MAX_STEPS
        or percents != sorted(set(percents))
        or waits != sorted(set(waits))
    ):
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"A rollout has 1 to {MAX_STEPS} steps, each later and to more users than the one before.",
        )
    if not 0 < percents[0] <= percents[-1] <= 100:  # noqa: PLR2004 - percent
        raise TidingsError(Code.REQUEST_INVALID, "The percentage of a step must be 1 to 100.")
    start_ms = request.starts_ms or now_ms
    if start_ms > now_ms + LATEST_START_MS:
        raise TidingsError(Code.REQUEST_INVALID, "A broadcast must start within 60 days.")
    if request.expires_ms is not None and request.expires_ms > start_ms + LONGEST_MS:
        raise TidingsError(Code.REQUEST_INVALID, "A broadcast must expire at most 90 days after its start.")
    if waits[-1] * 1000 >= (request.expires_ms or start_ms + LONGEST_MS) - start_ms:
        raise TidingsError(Code.REQUEST_INVALID, "The last step would be after the expiry.")


def _draft_from_content(content: NotificationContent) -> BroadcastDraft:
    return BroadcastDraft(
        notification=content.id,
        category=content.category,
        segment=None if content.reach == EVERYONE else content.reach,
        expires_ms=content.expires_ms or 0,
        is_tracked=content.is_tracked,
        is_critical=content.is_critical,
    )


def _job_id(first: str, number: int) -> JobId:
    """Return the id of a step's job, the same for every attempt."""
    if number == 0:
        return JobId(first)
    chance = blake2b(f"{first}.{number}".encode(), digest_size=10).digest()
    return JobId(encode_ulid(ulid_ms(first), int.from_bytes(chance)))


def _not_found() -> TidingsError:
    return TidingsError(Code.NOTIFICATION_NOT_FOUND, "This inbox has no such broadcast.")

"""Sends a notice to named users: content first, then the users in chunks, then the job; workers do the rest.

Every step may be repeated: a try with the same key goes on with the ids of the first, wherever that one died.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tidings.jobs.model import CHUNK_USERS, Job, JobId, JobKind
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.notices.drafts import DraftService, NotificationDraft, NotificationFields
from tidings.notices.model import NotificationId
from tidings.notices.ports import JobStarter

MAX_USERS = 100_000


class SendNotificationRequest(NotificationFields, frozen=True, kw_only=True):
    """What is to be sent to whom."""

    uids: Sequence[UserId]


class SendNotificationResult(NamedTuple):
    """`is_new` False: this is the answer of an earlier try."""

    notification: NotificationId
    job: JobId
    total: int
    is_new: bool


class NotificationSender:
    def __init__(self, drafts: DraftService, jobs: JobStarter, clock: Clock) -> None:
        self._drafts = drafts
        self._jobs = jobs
        self._clock = clock

    async def __call__(
        self, tenant: TenantId, inbox: str, request: SendNotificationRequest, key: str | None = None
    ) -> SendNotificationResult:
        """Answered when all of it is committed: from then on it comes to every user, whoever dies."""
        users = list(dict.fromkeys(request.uids))
        if not 0 < len(users) <= MAX_USERS:
            raise TidingsError(Code.REQUEST_INVALID, f"A notice goes to 1 to {MAX_USERS} users.")
        draft = await self._drafts.make(tenant, inbox, request, key)
        await self._drafts.put(draft, count=len(users), expires_ms=draft.expires_ms)
        return await self._started(draft, users)

    async def _started(
        self, draft: NotificationDraft[SendNotificationRequest], users: Sequence[UserId]
    ) -> SendNotificationResult:
        claim = draft.claim
        job = JobId(claim.job)
        chunks = [users[at : at + CHUNK_USERS] for at in range(0, len(users), CHUNK_USERS)]
        await self._jobs.put_chunks(draft.tenant, job, chunks, draft.inbox.retention_days)
        is_new = await self._jobs.start(
            Job(
                tenant=draft.tenant,
                id=job,
                kind=JobKind.DELIVER,
                inbox=draft.inbox.id,
                notification=claim.notification,
                source=job,
                total=len(users),
                created_ms=self._clock.now_ms(),
            )
        )
        return SendNotificationResult(claim.notification, job, len(users), is_new)

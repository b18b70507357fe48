"""Recall or change a notification that was sent. The content changes at once for all users who have it.

A redaction then runs as a job over the users, so that it leaves their counts too; the redacted rows are the proof.
A broadcast has no rows: an entry of the log hides it from all users, and is the proof.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from tidings.inboxes import message_schema
from tidings.inboxes.broadcasts.log import BroadcastRollout
from tidings.inboxes.broadcasts.model import BroadcastLogId
from tidings.inboxes.config_service import InboxConfigCache
from tidings.inboxes.model import InboxId, KeyOrigin, NotificationContent, NotificationId, NotificationRow
from tidings.inboxes.ports import ContentStore, InboxRepository
from tidings.inboxes.queries import seal_location
from tidings.jobs.model import Job, JobId, JobKind
from tidings.jobs.ports import JobStarter, JobStore
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, new_ulid
from tidings.tenants.model import SealingKeyProvider

MAX_VERSIONS = 90
"""One transaction of at most 100 items deletes them all."""


class RecallResult(NamedTuple):
    """`job` is None for a broadcast: the recall is complete."""

    notification: NotificationId
    job: JobId | None
    at_ms: int


class RecallProof(NamedTuple):
    """The recall as one user sees it.

    `delivered_ms` None: it was never delivered. `vanished_ms` None: it is not withdrawn yet.
    """

    user: UserId
    delivered_ms: int | None
    read_ms: int | None
    vanished_ms: int | None


class RecallProofPage(NamedTuple):
    proofs: Sequence[RecallProof]
    next_chunk: int | None


class RecallService:
    def __init__(
        self,
        inboxes: InboxConfigCache,
        contents: ContentStore,
        *,
        jobs: JobStarter,
        log: BroadcastRollout,
        keys: SealingKeyProvider,
        clock: Clock,
    ) -> None:
        self._inboxes = inboxes
        self._contents = contents
        self._log = log
        self._jobs = jobs
        self._keys = keys
        self._clock = clock

    async def by_host_id(self, tenant: TenantId, inbox: str, host_system_id: str) -> NotificationId:
        """Find a notification that was sent with a unique `host_system_id`. Raises `notification_not_found`."""
        name = (await self._inboxes.of(tenant, inbox)).id
        found = await self._contents.claimed(tenant, name, KeyOrigin.HOST, host_system_id)
        if found is None:
            raise _not_found()
        return found.notification

    async def find(self, tenant: TenantId, inbox: str, notification: NotificationId) -> NotificationContent:
        content = await self._contents.find(tenant, notification)
        if content is None or content.inbox != inbox:
            raise _not_found()
        return content

    async def amend(
        self, tenant: TenantId, inbox: str, notification: NotificationId, message: Mapping[str, Any]
    ) -> NotificationContent:
        """Replace the message for all users. Read and unread states are not changed.

        Connected devices are notified by a job, or for a broadcast on the channel of the inbox.
        """
        await message_schema.check_payload(tenant, (await self._inboxes.of(tenant, inbox)).schema, message)
        body, keys = message_schema.encode_payload(message), await self._keys.of(tenant)

        async def step() -> NotificationContent:
            before = await self.find(tenant, inbox, notification)
            if before.redacted_ms is not None:
                raise TidingsError(Code.NO_CHANGE, "The notification was redacted.")
            if before.version >= MAX_VERSIONS:
                raise TidingsError(
                    Code.REQUEST_INVALID, f"A notification has at most {MAX_VERSIONS} versions."
                )
            version = before.version + 1
            after = replace(
                before, version=version, sealed=keys.seal(seal_location(tenant, notification), version, body)
            )
            if not await self._contents.amend(tenant, after):
                raise _conflict()
            note_change({"version": before.version}, {"version": version})
            return after

        after = await retry_on_conflict(step)
        if after.reach is None:
            await self._start(tenant, after, JobKind.AMEND, JobId(new_ulid()))
        else:
            self._log.notify_amended(BroadcastLogId(tenant, inbox), notification)
        return after

    async def redact(self, tenant: TenantId, inbox: str, notification: NotificationId) -> RecallResult:
        """Delete the content and start its withdrawal from all users.

        Idempotent: a repetition returns the same recall, and starts its job if the first attempt died before.
        """

        async def step() -> NotificationContent:
            before = await self.find(tenant, inbox, notification)
            if before.redacted_ms is not None:
                return before
            job, now_ms = new_ulid(), self._clock.now_ms()
            if not await self._contents.redact(tenant, before, now_ms, job):
                raise _conflict()
            note_change({"redacted": False}, {"redacted": True, "recipients": before.count, "job": job})
            return replace(before, redacted_ms=now_ms, recall=job)

        found = await self.find(tenant, inbox, notification)
        if found.reach is not None:
            await self._log.redact(BroadcastLogId(tenant, inbox), notification)
        content = await retry_on_conflict(step)
        if content.reach is not None:
            # Race: a worker that read the content before we redacted it appends a rollout step after our first look
            # at the log. Look again: now either we see its step, or it sees the redacted content (`release`).
            status = await self._log.redact(BroadcastLogId(tenant, content.inbox), content.id)
            return RecallResult(content.id, None, status.redacted_ms or content.redacted_ms or 0)
        job = JobId(content.recall or "")
        await self._start(tenant, content, JobKind.REDACT, job)
        return RecallResult(content.id, job, content.redacted_ms or 0)

    async def _start(self, tenant: TenantId, content: NotificationContent, kind: JobKind, job: JobId) -> None:
        await self._jobs.start(
            Job(
                tenant=tenant,
                id=job,
                kind=kind,
                inbox=content.inbox,
                notification=content.id,
                source=JobId(content.job),
                total=content.count,
                created_ms=self._clock.now_ms(),
            )
        )


class RecallProofs:
    """Shows support what a recall did for each user, one chunk per page."""

    def __init__(self, recall: RecallService, jobs: JobStore, repository: InboxRepository) -> None:
        self._recall = recall
        self._jobs = jobs
        self._repository = repository

    async def page(
        self, tenant: TenantId, inbox: str, notification: NotificationId, chunk: int = 0
    ) -> RecallProofPage:
        content = await self._recall.find(tenant, inbox, notification)
        users = await self._jobs.chunk(tenant, JobId(content.job), chunk)
        rows = await self._repository.rows_of(tenant, InboxId(inbox), notification, users)
        chunks = Job.chunks_of(content.count)
        return RecallProofPage(
            [_proof(user, rows.get(user)) for user in users], chunk + 1 if chunk + 1 < chunks else None
        )


def _proof(user: UserId, row: NotificationRow | None) -> RecallProof:
    if row is None:
        return RecallProof(user, None, None, None)
    return RecallProof(user, row.delivered_ms, row.read_ms, row.redacted_ms or row.withdrawn_ms)


def _not_found() -> TidingsError:
    return TidingsError(Code.NOTIFICATION_NOT_FOUND, "This inbox has no such notification.")


def _conflict() -> TidingsError:
    return TidingsError(Code.WRITE_CONFLICT, "Another request changed the notification. Try again.")

"""Takes back or changes a notification that was sent. What it says changes at once, for all who have it.

A redaction then goes to each user by a job, so that it leaves his counts too; the rows keep the proof of it. A broadcast
has no rows: an entry of the log hides it from all of them, and is the proof.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec.structs import replace

from tidings.inboxes import message_schema
from tidings.inboxes.broadcasts.model import BroadcastLogId
from tidings.inboxes.broadcasts.ports import BroadcastRollouts
from tidings.inboxes.config_service import InboxConfigCache
from tidings.inboxes.model import InboxId, KeyOrigin, NotificationContent, NotificationId, NotificationRow
from tidings.inboxes.ports import (
    BroadcastAdvanceNotifier,
    ChunkStore,
    ContentStore,
    InboxKeys,
    JobStarter,
    KeyClaims,
    NotificationRowReader,
)
from tidings.inboxes.queries import seal_location
from tidings.jobs.model import Job, JobId, JobKind
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, new_ulid

MAX_VERSIONS = 90
"""So many fit into the one transaction that empties them all."""


class RecallResult(NamedTuple):
    """`job` None: a broadcast, there is nothing left to be done."""

    notification: NotificationId
    job: JobId | None
    at_ms: int


class RecallProof(NamedTuple):
    """Of one user. `delivered_ms` None: he never had it; `vanished_ms` None: it is yet to be taken from him."""

    user: UserId
    delivered_ms: int | None
    read_ms: int | None
    vanished_ms: int | None


class RecallProofPage(NamedTuple):
    proofs: Sequence[RecallProof]
    next_chunk: int | None


class RecallableContents(ContentStore, KeyClaims, Protocol):
    """What was sent, by its id and by the name that its sender has for it."""


class RecallService:
    def __init__(
        self,
        inboxes: InboxConfigCache,
        contents: RecallableContents,
        *,
        jobs: JobStarter,
        log: BroadcastRollouts,
        notifier: BroadcastAdvanceNotifier,
        keys: InboxKeys,
        clock: Clock,
    ) -> None:
        self._inboxes = inboxes
        self._contents = contents
        self._log = log
        self._publisher = notifier
        self._jobs = jobs
        self._keys = keys
        self._clock = clock

    async def by_host_id(self, tenant: TenantId, inbox: str, host_system_id: str) -> NotificationId:
        """Of a notification that was sent as the only one of its name."""
        name = (await self._inboxes.of(tenant, inbox)).id
        found = await self._contents.claimed(tenant, name, KeyOrigin.HOST, host_system_id)
        if found is None:
            raise _unknown()
        return found.notification

    async def find(self, tenant: TenantId, inbox: str, notification: NotificationId) -> NotificationContent:
        content = await self._contents.find(tenant, notification)
        if content is None or content.inbox != inbox:
            raise _unknown()
        return content

    async def amend(
        self, tenant: TenantId, inbox: str, notification: NotificationId, message: Mapping[str, Any]
    ) -> NotificationContent:
        """Who has it sees the new words; whether he has read it stays as it is. Who is connected is told: by a job,
        of a broadcast by one word.
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
                raise _changed()
            return after

        after = await retry_on_conflict(step)
        if after.reach is None:
            await self._start(tenant, after, JobKind.AMEND, JobId(new_ulid()))
        else:
            self._publisher.amended(BroadcastLogId(tenant, inbox), notification)
        return after

    async def redact(self, tenant: TenantId, inbox: str, notification: NotificationId) -> RecallResult:
        """Repeated, it is the same recall: its job is started again if the first try died before."""

        async def step() -> NotificationContent:
            before = await self.find(tenant, inbox, notification)
            if before.redacted_ms is not None:
                return before
            job, now_ms = new_ulid(), self._clock.now_ms()
            if not await self._contents.redact(tenant, before, now_ms, job):
                raise _changed()
            return replace(before, redacted_ms=now_ms, recall=job)

        found = await self.find(tenant, inbox, notification)
        if found.reach is not None:
            await self._log.redact(BroadcastLogId(tenant, inbox), notification)
        content = await retry_on_conflict(step)
        if content.reach is not None:
            return await self._hidden(tenant, content)
        job = JobId(content.recall or "")
        await self._start(tenant, content, JobKind.REDACT, job)
        return RecallResult(content.id, job, content.redacted_ms or 0)

    async def _hidden(self, tenant: TenantId, content: NotificationContent) -> RecallResult:
        """Looked at once more: a step that was under way may have come between."""
        reached = await self._log.redact(BroadcastLogId(tenant, content.inbox), content.id)
        return RecallResult(content.id, None, reached.redacted_ms or content.redacted_ms or 0)

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
    """For support: what became of a recall with each user, a chunk at a time."""

    def __init__(self, recall: RecallService, work: ChunkStore, proofs: NotificationRowReader) -> None:
        self._recall = recall
        self._work = work
        self._proofs = proofs

    async def page(
        self, tenant: TenantId, inbox: str, notification: NotificationId, chunk: int = 0
    ) -> RecallProofPage:
        content = await self._recall.find(tenant, inbox, notification)
        users = await self._work.chunk(tenant, JobId(content.job), chunk)
        rows = await self._proofs.rows_of(tenant, InboxId(inbox), notification, users)
        chunks = Job.chunks_of(content.count)
        return RecallProofPage(
            [_proof(user, rows.get(user)) for user in users], chunk + 1 if chunk + 1 < chunks else None
        )


def _proof(user: UserId, row: NotificationRow | None) -> RecallProof:
    if row is None:
        return RecallProof(user, None, None, None)
    return RecallProof(user, row.delivered_ms, row.read_ms, row.redacted_ms)


def _unknown() -> TidingsError:
    return TidingsError(Code.NOTIFICATION_NOT_FOUND, "There is no such notification in this inbox.")


def _changed() -> TidingsError:
    return TidingsError(Code.WRITE_CONFLICT, "Somebody else changed the notification just now.")

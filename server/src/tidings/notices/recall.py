"""Takes back or changes a notice that was sent. What it says changes at once, for all who have it.

A redaction then goes to each user by a job, so that it leaves his counts too; the rows keep the proof of it. A broadcast
has no rows: an entry of the log hides it from all of them, and is the proof.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec.structs import replace

from tidings.broadcasts.model import LogId
from tidings.jobs.model import Job, JobId, JobKind
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, new_ulid
from tidings.kernel.tries import on_what_is_there
from tidings.notices import payload
from tidings.notices.inboxes import InboxReader
from tidings.notices.model import Content, InboxId, NoticeId, Origin, Row
from tidings.notices.ports import Announcing, Claims, Contents, Jobs, Keys, LogNews, Proofs, Work
from tidings.notices.read import place_of

MAX_VERSIONS = 90
"""So many fit into the one transaction that empties them all."""


class Recalled(NamedTuple):
    """`job` None: a broadcast, there is nothing left to be done."""

    notice: NoticeId
    job: JobId | None
    at_ms: int


class Proof(NamedTuple):
    """Of one user. `delivered_ms` None: he never had it; `vanished_ms` None: it is yet to be taken from him."""

    user: UserId
    delivered_ms: int | None
    read_ms: int | None
    vanished_ms: int | None


class ProofPage(NamedTuple):
    proofs: Sequence[Proof]
    next_chunk: int | None


class Recallable(Contents, Claims, Protocol):
    """What was sent, by its id and by the name that its sender has for it."""


class Recall:
    def __init__(
        self,
        inboxes: InboxReader,
        contents: Recallable,
        *,
        jobs: Jobs,
        log: Announcing,
        news: LogNews,
        keys: Keys,
        clock: Clock,
    ) -> None:
        self._inboxes = inboxes
        self._contents = contents
        self._log = log
        self._news = news
        self._jobs = jobs
        self._keys = keys
        self._clock = clock

    async def by_host_id(self, tenant: TenantId, inbox: str, host_system_id: str) -> NoticeId:
        """Of a notice that was sent as the only one of its name."""
        name = (await self._inboxes.of(tenant, inbox)).id
        found = await self._contents.claimed(tenant, name, Origin.HOST, host_system_id)
        if found is None:
            raise _unknown()
        return found.notice

    async def find(self, tenant: TenantId, inbox: str, notice: NoticeId) -> Content:
        content = await self._contents.find(tenant, notice)
        if content is None or content.inbox != inbox:
            raise _unknown()
        return content

    async def amend(
        self, tenant: TenantId, inbox: str, notice: NoticeId, message: Mapping[str, Any]
    ) -> Content:
        """Who has it sees the new words; whether he has read it stays as it is. Who is connected is told: by a job,
        of a broadcast by one word.
        """
        await payload.check_message(tenant, (await self._inboxes.of(tenant, inbox)).schema, message)
        body, keys = payload.encode(message), await self._keys.of(tenant)

        async def step() -> Content:
            before = await self.find(tenant, inbox, notice)
            if before.redacted_ms is not None:
                raise TidingsError(Code.NOTHING_TO_CHANGE, "The notice was redacted.")
            if before.version >= MAX_VERSIONS:
                raise TidingsError(Code.REQUEST_INVALID, f"A notice has at most {MAX_VERSIONS} versions.")
            version = before.version + 1
            after = replace(
                before, version=version, sealed=keys.seal(place_of(tenant, notice), version, body)
            )
            if not await self._contents.amend(tenant, after):
                raise _changed()
            return after

        after = await on_what_is_there(step)
        if after.reach is None:
            await self._start(tenant, after, JobKind.AMEND, JobId(new_ulid()))
        else:
            self._news.amended(LogId(tenant, inbox), notice)
        return after

    async def redact(self, tenant: TenantId, inbox: str, notice: NoticeId) -> Recalled:
        """Repeated, it is the same recall: its job is started again if the first try died before."""

        async def step() -> Content:
            before = await self.find(tenant, inbox, notice)
            if before.redacted_ms is not None:
                return before
            job, now_ms = new_ulid(), self._clock.now_ms()
            if not await self._contents.redact(tenant, before, now_ms, job):
                raise _changed()
            return replace(before, redacted_ms=now_ms, recall=job)

        found = await self.find(tenant, inbox, notice)
        if found.reach is not None:
            await self._log.redact(LogId(tenant, inbox), notice)
        content = await on_what_is_there(step)
        if content.reach is not None:
            return await self._hidden(tenant, content)
        job = JobId(content.recall or "")
        await self._start(tenant, content, JobKind.REDACT, job)
        return Recalled(content.id, job, content.redacted_ms or 0)

    async def _hidden(self, tenant: TenantId, content: Content) -> Recalled:
        """Looked at once more: a step that was under way may have come between."""
        reached = await self._log.redact(LogId(tenant, content.inbox), content.id)
        return Recalled(content.id, None, reached.redacted_ms or content.redacted_ms or 0)

    async def _start(self, tenant: TenantId, content: Content, kind: JobKind, job: JobId) -> None:
        await self._jobs.start(
            Job(
                tenant=tenant,
                id=job,
                kind=kind,
                inbox=content.inbox,
                notice=content.id,
                source=JobId(content.job),
                total=content.count,
                created_ms=self._clock.now_ms(),
            )
        )


class Prove:
    """For support: what became of a recall with each user, a chunk at a time."""

    def __init__(self, recall: Recall, work: Work, proofs: Proofs) -> None:
        self._recall = recall
        self._work = work
        self._proofs = proofs

    async def page(self, tenant: TenantId, inbox: str, notice: NoticeId, chunk: int = 0) -> ProofPage:
        content = await self._recall.find(tenant, inbox, notice)
        users = await self._work.chunk(tenant, JobId(content.job), chunk)
        rows = await self._proofs.rows_of(tenant, InboxId(inbox), notice, users)
        chunks = Job.chunks_of(content.count)
        return ProofPage(
            [_proof(user, rows.get(user)) for user in users], chunk + 1 if chunk + 1 < chunks else None
        )


def _proof(user: UserId, row: Row | None) -> Proof:
    if row is None:
        return Proof(user, None, None, None)
    return Proof(user, row.delivered_ms, row.read_ms, row.redacted_ms)


def _unknown() -> TidingsError:
    return TidingsError(Code.NOTICE_NOT_FOUND, "There is no such notice in this inbox.")


def _changed() -> TidingsError:
    return TidingsError(Code.CHANGED_MEANWHILE, "Somebody else changed the notice just now.")

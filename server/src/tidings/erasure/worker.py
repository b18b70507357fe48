"""Run erasures as jobs: one chunk each, which is processed again until the erasure is done."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from tidings.audit.model import AdminAction, AuditSource
from tidings.erasure.approval import expired
from tidings.erasure.chat_steps import ChatSteps
from tidings.erasure.data_steps import DataSteps
from tidings.erasure.model import ApprovalState, Erasure, ErasureStep
from tidings.erasure.ports import ActionLog, ErasureStore, StepAction
from tidings.erasure.rules import expiry_job_of, is_job_of, job_of
from tidings.erasure.service import ErasureRunner
from tidings.jobs.model import ChunkRef, ChunkResult, Job, JobId, JobState
from tidings.jobs.ports import ChunkPublisher, JobStarter, JobStore
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError

RUN_MS: Final = 10_000
"""How long a worker runs pages of one erasure before it lets others have their turn."""

REFUSED_MS: Final = 60_000
"""When a step is tried again that was refused."""

_log = logging.getLogger(__name__)


def step_actions(chats: ChatSteps, data: DataSteps) -> Mapping[ErasureStep, StepAction]:
    """Return the action of each step. The others only wait."""
    return {
        ErasureStep.FENCE: data.fence,
        ErasureStep.CREDENTIALS: data.credentials,
        ErasureStep.KEYS: data.keys,
        ErasureStep.LEAVE: chats.leave,
        ErasureStep.CHATS: chats.rewrite,
        ErasureStep.UPLOADS: data.uploads,
        ErasureStep.SEARCH: data.search,
        ErasureStep.INBOX: data.inbox,
        ErasureStep.ROWS: data.rows,
        ErasureStep.PROFILE: data.profile,
        ErasureStep.CERTIFICATE: data.certificate,
        ErasureStep.FINAL: data.final,
    }


class ErasureWorker:
    """Use it from one event loop."""

    def __init__(
        self,
        runner: ErasureRunner,
        store: ErasureStore,
        *,
        jobs: JobStore,
        starter: JobStarter,
        chunks: ChunkPublisher,
        audit: ActionLog,
        clock: Clock,
    ) -> None:
        self._runner = runner
        self._audit = audit
        self._store = store
        self._jobs = jobs
        self._starter = starter
        self._chunks = chunks
        self._clock = clock
        self._scheduled: set[ChunkRef] = set()

    async def process(self, ref: ChunkRef) -> None:
        """Continue an erasure. If it must wait, publish the chunk again when the time has come.

        A worker that dies publishes nothing; then the job sweeper does. Raises retryable errors; then process it again.
        """
        job = await self._jobs.read(ref.tenant, ref.job)
        if job is None or job.user is None or job.state is not JobState.RUNNING or ref.chunk >= job.chunks:
            return
        if job.starts_ms > self._clock.now_ms() or await self._jobs.is_done(ref.tenant, ref.job, ref.chunk):
            return
        erasure = await self._store.read(job.tenant, job.user)
        if erasure is None:  # It has expired, 400 days after the request.
            return
        if job.id == expiry_job_of(erasure).id:
            await self._expire(erasure)
        if not is_job_of(job.id, erasure):
            await self._mark_done(ref)
            return
        try:
            result = await self._runner.run(erasure, self._clock.now_ms() + RUN_MS)
        except TidingsError as error:
            if error.retryable:
                raise
            # Race: a group is transferred to a member who leaves it. The next attempt reads the members again.
            _log.warning("the erasure %s failed at %s: %s", erasure.id, erasure.step, error)
            self._publish_at(ref, self._clock.now_ms() + REFUSED_MS)
            return
        if await self._is_over(job, result.erasure):
            await self._mark_done(ref)
        elif result.wait_until_ms is not None:
            self._publish_at(ref, result.wait_until_ms)

    async def _expire(self, erasure: Erasure) -> None:
        """Expire a request without a decision, and record it in the audit log.

        Race: an approver decides meanwhile, or another worker expires it. One of them stores the next version, and only a
        stored expiry is recorded as applied.
        """
        after = expired(erasure, self._clock.now_ms())
        if after is None:
            return
        async with self._audit.action(_expiry_of(erasure)):
            if not await self._store.save(after):
                raise TidingsError(Code.WRITE_CONFLICT, "The request was decided at the same time.")
            note_change({"approval": ApprovalState.AWAITING}, {"approval": ApprovalState.EXPIRED})

    async def _mark_done(self, ref: ChunkRef) -> None:
        done = ChunkResult(chunk=ref.chunk, users=1, failed=(), at_ms=self._clock.now_ms())
        await self._jobs.mark_done(ref.tenant, ref.job, done)

    async def _is_over(self, job: Job, erasure: Erasure) -> bool:
        """Return whether the job is done. The first job ends before the step `final`, and starts the job of that step."""
        if erasure.step is ErasureStep.DONE:
            return True
        if erasure.step is not ErasureStep.FINAL or job.id != JobId(erasure.id):
            return False
        await self._starter.start(job_of(erasure))
        return True

    def _publish_at(self, ref: ChunkRef, at_ms: int) -> None:
        """Publish the chunk at a time, once: the sweeper may have published it several times meanwhile."""
        if ref in self._scheduled:
            return
        self._scheduled.add(ref)
        delay_s = max(at_ms - self._clock.now_ms(), 0) / 1000
        asyncio.get_running_loop().call_later(delay_s, self._publish, ref)

    def _publish(self, ref: ChunkRef) -> None:
        self._scheduled.discard(ref)
        self._chunks.publish([ref])


def _expiry_of(erasure: Erasure) -> AdminAction:
    return AdminAction(
        source=AuditSource.WORKER,
        actor="tidings",
        credential="none",
        operation="expire_erasure",
        target=f"/v1/users/{erasure.user}/erasure",
        tenant=erasure.tenant,
    )

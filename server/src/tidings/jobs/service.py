"""Start, observe and control jobs, and publish lost chunks again."""

import asyncio
from collections.abc import Collection, Sequence
from typing import NamedTuple

from tidings.jobs import rules
from tidings.jobs.model import (
    KINDS_WITH_A_TOPIC,
    ChunkRef,
    ChunkResult,
    DueJob,
    Job,
    JobId,
    JobProgress,
    JobState,
)
from tidings.jobs.ports import ChunkPublisher, JobStore, OnJobEnded, ReadProgress
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import TenantId, UserId


class JobPage(NamedTuple):
    """Newest first. `below` is the cursor of the next page."""

    jobs: Sequence[JobProgress]
    below: JobId | None


class JobService:
    def __init__(self, store: JobStore, chunks: ChunkPublisher, clock: Clock) -> None:
        self._store = store
        self._chunks = chunks
        self._clock = clock

    async def put_chunks(
        self, job: Job, chunks: Sequence[Sequence[UserId]], kept_days: int | None, /
    ) -> None:
        """Store the users of a job before `start`, so that a job that exists has all its chunks. Idempotent.

        The chunks are stored for at least `kept_days`. None: permanently.
        """
        await self._store.put_chunks(job, chunks, kept_days)

    async def start(self, job: Job, /) -> bool:
        """Create the job and publish its chunks. Idempotent. False: an earlier attempt created it."""
        is_new = await self._store.create(
            job, DueJob(job.tenant, job.id, rules.first_check_ms(job, job.created_ms))
        )
        self._publish(job, range(job.chunks))
        return is_new

    async def progress(self, tenant: TenantId, job: JobId) -> JobProgress:
        found = await self._progress(tenant, job)
        if found is None:
            raise job_not_found()
        return found

    async def _progress(self, tenant: TenantId, job: JobId) -> JobProgress | None:
        """Return the progress. None: the job has expired; the list can still contain it for a while."""
        found = await self._store.read(tenant, job)
        if found is None:
            return None
        return rules.job_progress(found, await self._store.done(tenant, job), self._clock.now_ms())

    async def listed(self, tenant: TenantId, limit: int, below: JobId | None = None) -> JobPage:
        ids = await self._store.listed(tenant, limit, below)
        jobs = [at for each in ids if (at := await self._progress(tenant, each)) is not None]
        return JobPage(jobs, ids[-1] if len(ids) == limit else None)

    async def pause(self, tenant: TenantId, job: JobId) -> JobProgress:
        """Stop the job. Chunks in progress are finished."""
        return await self._change_state(tenant, job, JobState.PAUSED)

    async def cancel(self, tenant: TenantId, job: JobId) -> JobProgress:
        """Stop the job permanently. The effects of finished chunks remain."""
        progress = await self._change_state(tenant, job, JobState.CANCELLED)
        # The next check reports the end. A job that was paused has no check.
        await self._store.schedule(DueJob(tenant, job, self._clock.now_ms(), progress.chunks_done))
        return progress

    async def resume(self, tenant: TenantId, job: JobId) -> JobProgress:
        """Continue a paused job: publish its missing chunks."""
        progress = await self._change_state(tenant, job, JobState.RUNNING)
        done = await self._store.done(tenant, job)
        at_ms = rules.first_check_ms(progress.job, self._clock.now_ms())
        await self._store.schedule(DueJob(tenant, job, at_ms, len(done)))
        self._publish(progress.job, rules.missing_chunks(progress.job, done))
        return progress

    def _publish(self, job: Job, chunks: Sequence[int]) -> None:
        """Publish chunks, unless the job starts later: then the sweeper publishes them."""
        if job.starts_ms <= self._clock.now_ms():
            self._chunks.publish(chunk_refs(job, chunks))

    async def _change_state(self, tenant: TenantId, job: JobId, state: JobState) -> JobProgress:
        async def step() -> None:
            found = await self._store.read(tenant, job)
            if found is None:
                raise job_not_found()
            done = await self._store.done(tenant, job)
            note_change({"state": found.state}, {"state": state})
            if not rules.changes_state(found, state, done):
                return
            if state is JobState.RUNNING:
                await self._store.renew(found, done)
            if not await self._store.change(found, state, self._clock.now_ms()):
                raise TidingsError(Code.WRITE_CONFLICT, "Another request changed the job. Try again.")

        await retry_on_conflict(step)
        return await self.progress(tenant, job)


def job_not_found() -> TidingsError:
    return TidingsError(Code.JOB_NOT_FOUND, "This job does not exist, or has expired.")


def chunk_refs(job: Job, chunks: Sequence[int]) -> list[ChunkRef]:
    kind = job.kind if job.kind in KINDS_WITH_A_TOPIC else None
    return [
        ChunkRef(tenant=job.tenant, job=job.id, chunk=chunk, chat=job.chat, kind=kind) for chunk in chunks
    ]


class JobSweeper:
    """Checks unfinished jobs at scheduled times, publishes chunks whose events were lost, and reports jobs that ended."""

    def __init__(
        self,
        store: JobStore,
        chunks: ChunkPublisher,
        read_progress: ReadProgress,
        clock: Clock,
        on_ended: OnJobEnded | None = None,
    ) -> None:
        self._on_ended = on_ended
        self._store = store
        self._chunks = chunks
        self._read_progress = read_progress
        self._clock = clock

    async def run(self, every_s: float) -> None:
        """Sweep one shard at a time, all of them within `every_s`, until it is cancelled."""
        while True:
            for shard in range(self._store.due_shards):
                await self.shard(shard)
                await asyncio.sleep(every_s / self._store.due_shards)

    async def shard(self, shard: int) -> None:
        for due in await self._store.due(shard, self._clock.now_ms()):
            await self.sweep(due)

    async def sweep(self, due: DueJob) -> None:
        """Check one job and schedule its next check. A job that runs does not expire."""
        job = await self._store.read(due.tenant, due.job)
        done = await self._store.done(due.tenant, due.job)
        if job is None or job.state is not JobState.RUNNING or len(done) == job.chunks:
            if job is not None:
                await self._report_end(job, done)
            # Resuming a paused job schedules its checks again.
            await self._store.unschedule(due)
            return
        await self._store.renew(job, done)
        found = rules.StalledChunks((), due.fences)
        if rules.is_stalled(due, len(done)):
            found = await self._find_lost(job, due, done)
        later = rules.next_check(due, len(done), self._clock.now_ms())
        if await self._store.reschedule(due, later._replace(fences=found.fences)) and found.lost:
            self._chunks.publish(found.lost)

    async def _report_end(self, job: Job, done: Collection[ChunkResult]) -> None:
        """Report a job that is done or cancelled. Before its check is removed: a process that dies is followed by another."""
        progress = rules.job_progress(job, done, self._clock.now_ms())
        if self._on_ended is not None and progress.state in {JobState.DONE, JobState.CANCELLED}:
            await self._on_ended(progress)

    async def _find_lost(self, job: Job, due: DueJob, done: Collection[ChunkResult]) -> rules.StalledChunks:
        """Find missing chunks whose events the consumers have passed."""
        missing = chunk_refs(job, rules.missing_chunks(job, done))
        if not rules.has_begun(job, due):
            return rules.StalledChunks(missing, ())
        try:
            progress = await self._read_progress(missing)
        except UnavailableError:
            return rules.StalledChunks((), due.fences)  # Kafka would not accept the chunks either.
        # Race: a worker marks a chunk as done and then commits its offset. Read the marks after the offsets: a worker
        # that has committed past a fence has marked its chunks before, so they are not found to be lost.
        done = await self._store.done(job.tenant, job.id)
        return rules.find_lost(chunk_refs(job, rules.missing_chunks(job, done)), progress, due.fences)

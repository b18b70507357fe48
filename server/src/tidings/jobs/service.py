"""A job while it runs: how far it is, and what is wanted of it. `start` is its first step, after its chunks stand."""

import asyncio
from collections.abc import Collection, Sequence
from typing import NamedTuple

from tidings.jobs import rules
from tidings.jobs.model import ChunkRef, ChunkResult, DueJob, Job, JobId, JobProgress, JobState
from tidings.jobs.ports import ChunkPublisher, Consumers, DueStore, JobStore
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import TenantId, UserId


class JobPage(NamedTuple):
    """Newest first. `below` goes into the next page."""

    jobs: Sequence[JobProgress]
    below: JobId | None


class JobService:
    def __init__(self, store: JobStore, due: DueStore, chunks: ChunkPublisher, clock: Clock) -> None:
        self._store = store
        self._due = due
        self._chunks = chunks
        self._clock = clock

    async def put_chunks(
        self, tenant: TenantId, job: JobId, chunks: Sequence[Sequence[UserId]], kept_days: int | None, /
    ) -> None:
        """Before `start`: a job that is there has all its chunks. `kept_days`: at least; None: for ever."""
        await self._store.put_chunks(tenant, job, chunks, kept_days)

    async def start(self, job: Job, /) -> bool:
        """False: it was started before, by an earlier try."""
        is_new = await self._store.create(
            job, DueJob(job.tenant, job.id, rules.first_check_ms(job, job.created_ms))
        )
        self._publish(job, range(job.chunks))
        return is_new

    async def progress(self, tenant: TenantId, job: JobId) -> JobProgress:
        found = await self._progress(tenant, job)
        if found is None:
            raise _unknown()
        return found

    async def _progress(self, tenant: TenantId, job: JobId) -> JobProgress | None:
        """None: it is kept no longer, though the list may still have it for a while."""
        found = await self._store.read(tenant, job)
        if found is None:
            return None
        return rules.job_progress(found, await self._store.done(tenant, job), self._clock.now_ms())

    async def listed(self, tenant: TenantId, limit: int, below: JobId | None = None) -> JobPage:
        ids = await self._store.listed(tenant, limit, below)
        jobs = [at for each in ids if (at := await self._progress(tenant, each)) is not None]
        return JobPage(jobs, ids[-1] if len(ids) == limit else None)

    async def pause(self, tenant: TenantId, job: JobId) -> JobProgress:
        """Chunks that are at work are finished."""
        return await self._want(tenant, job, JobState.PAUSED)

    async def cancel(self, tenant: TenantId, job: JobId) -> JobProgress:
        """What was done stays done."""
        return await self._want(tenant, job, JobState.CANCELLED)

    async def resume(self, tenant: TenantId, job: JobId) -> JobProgress:
        progress = await self._want(tenant, job, JobState.RUNNING)
        done = await self._store.done(tenant, job)
        at_ms = rules.first_check_ms(progress.job, self._clock.now_ms())
        await self._due.enqueue(DueJob(tenant, job, at_ms, len(done)))
        self._publish(progress.job, rules.missing_chunks(progress.job, done))
        return progress

    def _publish(self, job: Job, chunks: Sequence[int]) -> None:
        """What has yet to start is published when it is due."""
        if job.starts_ms <= self._clock.now_ms():
            self._chunks.publish(chunk_refs(job, chunks))

    async def _want(self, tenant: TenantId, job: JobId, state: JobState) -> JobProgress:
        async def step() -> None:
            found = await self._find(tenant, job)
            done = await self._store.done(tenant, job)
            if rules.apply_request(found, state, done) and not await self._store.change(
                found, state, self._clock.now_ms()
            ):
                raise TidingsError(Code.WRITE_CONFLICT, "Somebody else changed the job just now.")

        await retry_on_conflict(step)
        return await self.progress(tenant, job)

    async def _find(self, tenant: TenantId, job: JobId) -> Job:
        found = await self._store.read(tenant, job)
        if found is None:
            raise _unknown()
        return found


def _unknown() -> TidingsError:
    return TidingsError(Code.JOB_NOT_FOUND, "There is no such job.")


def chunk_refs(job: Job, chunks: Sequence[int]) -> list[ChunkRef]:
    return [ChunkRef(tenant=job.tenant, job=job.id, chunk=chunk) for chunk in chunks]


class JobSweeper:
    def __init__(
        self, store: JobStore, due: DueStore, chunks: ChunkPublisher, consumers: Consumers, clock: Clock
    ) -> None:
        self._store = store
        self._due = due
        self._chunks = chunks
        self._consumers = consumers
        self._clock = clock

    async def run(self, every_s: float) -> None:
        """Until it is cancelled. One shard at a time, so that all of them are seen within `every_s`."""
        while True:
            for shard in range(self._due.shards):
                await self.shard(shard)
                await asyncio.sleep(every_s / self._due.shards)

    async def shard(self, shard: int) -> None:
        for due in await self._due.due(shard, self._clock.now_ms()):
            await self.sweep(due)

    async def sweep(self, due: DueJob) -> None:
        job = await self._store.read(due.tenant, due.job)
        done = await self._store.done(due.tenant, due.job)
        if job is None or job.state is not JobState.RUNNING or len(done) == job.chunks:
            # a job that is resumed is put there again
            await self._due.dequeue(due)
            return
        is_stuck = rules.is_stalled(due, len(done))
        found = await self._silence(job, due, done) if is_stuck else rules.Silence((), due.fences)
        later = rules.next_check(due, len(done), self._clock.now_ms())
        if await self._due.reschedule(due, later._replace(fences=found.fences)) and found.lost:
            self._chunks.publish(found.lost)

    async def _silence(self, job: Job, due: DueJob, done: Collection[ChunkResult]) -> rules.Silence:
        """Find the chunks that the consumers have passed and that nobody has done."""
        missing = chunk_refs(job, rules.missing_chunks(job, done))
        if not rules.has_begun(job, due):
            return rules.Silence(missing, ())
        try:
            reached = await self._consumers.progress(missing)
        except UnavailableError:
            return rules.Silence((), due.fences)  # Kafka would not take the chunks either.
        # After the offsets: a worker that has committed past a fence marked its chunks before.
        done = await self._store.done(job.tenant, job.id)
        return rules.silence(chunk_refs(job, rules.missing_chunks(job, done)), reached, due.fences)

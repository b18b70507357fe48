"""Looks after jobs that are due: publishes chunks again whose events were lost, takes finished jobs from the queue.

Any number of processes may do it: the one that moves a job to its next time looks after it this time. If that process
dies right after, nothing is missed: the job comes up again at its next time.
"""

import asyncio
from collections.abc import Collection

from tidings.jobs import rules
from tidings.jobs.model import ChunkResult, DueJob, Job, JobState
from tidings.jobs.ports import ChunkPublisher, Consumers, DueStore, JobStore
from tidings.jobs.track import chunk_refs
from tidings.kernel.clock import Clock
from tidings.kernel.fences import ConsumersUnavailableError


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
        except ConsumersUnavailableError:
            return rules.Silence((), due.fences)  # Kafka would not take the chunks either.
        # After the offsets: a worker that has committed past a fence marked its chunks before.
        done = await self._store.done(job.tenant, job.id)
        return rules.silence(chunk_refs(job, rules.missing_chunks(job, done)), reached, due.fences)

"""Looks after jobs that are due: what stands still is published again, what is over is taken from the queue.

Any number of processes may do it: who moves a job to its next time is the one who looks after it this time. One that
dies then is not missed; the job comes up again at that time.
"""

import asyncio

from tidings.jobs import rules
from tidings.jobs.model import Due, JobState
from tidings.jobs.ports import Chunks, DueStore, JobStore
from tidings.jobs.track import refs
from tidings.kernel.clock import Clock


class LookAfter:
    def __init__(self, store: JobStore, due: DueStore, chunks: Chunks, clock: Clock) -> None:
        self._store = store
        self._due = due
        self._chunks = chunks
        self._clock = clock

    async def run(self, every_s: float) -> None:
        """Until it is cancelled. One shard at a time, so that all of them are seen within `every_s`."""
        while True:
            for shard in range(self._due.shards):
                await self.shard(shard)
                await asyncio.sleep(every_s / self._due.shards)

    async def shard(self, shard: int) -> None:
        for due in await self._due.due(shard, self._clock.now_ms()):
            await self.look(due)

    async def look(self, due: Due) -> None:
        job = await self._store.read(due.tenant, due.job)
        done = await self._store.done(due.tenant, due.job)
        if job is None or job.state is not JobState.RUNNING or len(done) == job.chunks:
            # a job that is resumed is put there again
            await self._due.dequeue(due)
            return
        later = rules.look_again(due, len(done), self._clock.now_ms())
        if await self._due.reschedule(due, later) and rules.is_stuck(due, len(done)):
            self._chunks.publish(refs(job, rules.missing(job, done)))

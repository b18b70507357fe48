"""Ports of jobs. Each method states what it guarantees."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

from tidings.jobs.model import ChunkRef, ChunkResult, DueJob, Job, JobClaim, JobId, JobProgress, JobState
from tidings.kernel.fences import PartitionProgress
from tidings.kernel.ids import ChatId, TenantId, UserId

type ReadProgress = Callable[[Collection[ChunkRef]], Awaitable[Mapping[ChunkRef, PartitionProgress]]]
"""Returns the consumers' progress in the partition of each chunk. Raises `UnavailableError`."""


type OnJobEnded = Callable[[JobProgress], Awaitable[None]]
"""Called when a job is done or cancelled: at least once, within some seconds. May raise; then it is called again."""


class JobStarter(Protocol):
    """Starts jobs, and shows their progress."""

    async def put_chunks(
        self, job: Job, chunks: Sequence[Sequence[UserId]], kept_days: int | None, /
    ) -> None:
        """Store the chunks for at least `kept_days`, or permanently. Idempotent. Call it before `start`."""
        ...

    async def start(self, job: Job, /) -> bool:
        """Create the job and publish its chunks. False: an earlier attempt created it."""
        ...

    async def progress(self, tenant: TenantId, job: JobId, /) -> JobProgress:
        """Return the progress. Raises `job_not_found`."""
        ...


class JobStore(Protocol):
    """Jobs with their chunks, and the schedule of checks over all tenants. Reads are strong, except `listed`.

    Raises `overloaded` if nothing was written, and `outcome_unknown` if the write may have been applied.
    """

    async def put_chunks(self, job: Job, chunks: Sequence[Sequence[UserId]], kept_days: int | None) -> None:
        """Store the users of a job in chunks. Idempotent."""
        ...

    async def claim(self, tenant: TenantId, chat: ChatId, key: str, claim: JobClaim) -> JobClaim:
        """Claim an idempotency key of a chat for 7 days. Returns this claim, or that of an earlier attempt. Idempotent."""
        ...

    async def create(self, job: Job, due: DueJob) -> bool:
        """Write the job, its entry in the tenant's list and its first check, atomically. False: it exists."""
        ...

    async def read(self, tenant: TenantId, job: JobId) -> Job | None:
        """Return a job. None: it does not exist, or has expired."""
        ...

    async def chunk(self, tenant: TenantId, job: JobId, chunk: int) -> Sequence[UserId]: ...

    async def is_done(self, tenant: TenantId, job: JobId, chunk: int) -> bool: ...

    async def mark_done(self, tenant: TenantId, job: JobId, done: ChunkResult) -> None:
        """Record that a chunk is done. Safe to repeat."""
        ...

    async def done(self, tenant: TenantId, job: JobId) -> Sequence[ChunkResult]: ...

    async def change(self, job: Job, state: JobState, at_ms: int) -> bool:
        """Change the state. False: the job changed since it was read."""
        ...

    async def renew(self, job: Job, done: Sequence[ChunkResult]) -> None:
        """Store an unfinished job, its chunks and its marks as long as one that is created now.

        Does nothing while more than half of that time is left.
        """
        ...

    async def listed(self, tenant: TenantId, limit: int, below: JobId | None = None) -> Sequence[JobId]:
        """List a tenant's jobs, newest first."""
        ...

    @property
    def due_shards(self) -> int: ...

    async def due(self, shard: int, now_ms: int) -> Sequence[DueJob]:
        """Read the jobs of a shard whose check is due."""
        ...

    async def schedule(self, due: DueJob) -> None: ...

    async def reschedule(self, due: DueJob, later: DueJob) -> bool:
        """Replace a scheduled check. False: another process did so first."""
        ...

    async def unschedule(self, due: DueJob) -> None: ...


class ChunkPublisher(Protocol):
    def publish(self, refs: Collection[ChunkRef]) -> None:
        """Publish chunks to the workers without waiting. The sweeper publishes lost chunks again."""
        ...

"""What jobs ask of the world. Each method says what it guarantees."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from tidings.jobs.model import ChunkRef, ChunkResult, DueJob, Job, JobId, JobState
from tidings.kernel.fences import PartitionProgress
from tidings.kernel.ids import TenantId, UserId


class JobStore(Protocol):
    """Reads are strong but for `listed`. Raises `overloaded` or `outcome_unknown` while it can't be written."""

    async def put_chunks(
        self, tenant: TenantId, job: JobId, chunks: Sequence[Sequence[UserId]], kept_days: int | None
    ) -> None:
        """The same again changes nothing."""
        ...

    async def create(self, job: Job, due: DueJob) -> bool:
        """The job, its place in the tenant's list and among those that are due. False: it is there already."""
        ...

    async def read(self, tenant: TenantId, job: JobId) -> Job | None: ...

    async def chunk(self, tenant: TenantId, job: JobId, chunk: int) -> Sequence[UserId]: ...

    async def is_done(self, tenant: TenantId, job: JobId, chunk: int) -> bool: ...

    async def mark_done(self, tenant: TenantId, job: JobId, done: ChunkResult) -> None:
        """The same again is no harm."""
        ...

    async def done(self, tenant: TenantId, job: JobId) -> Sequence[ChunkResult]: ...

    async def change(self, job: Job, state: JobState, at_ms: int) -> bool:
        """False: somebody changed it since it was read."""
        ...

    async def listed(self, tenant: TenantId, limit: int, below: JobId | None = None) -> Sequence[JobId]:
        """Newest first."""
        ...


class DueStore(Protocol):
    """Jobs that are looked after, over all tenants, in shards."""

    @property
    def shards(self) -> int: ...

    async def due(self, shard: int, now_ms: int) -> Sequence[DueJob]: ...

    async def enqueue(self, due: DueJob) -> None: ...

    async def reschedule(self, due: DueJob, later: DueJob) -> bool:
        """False: another one did."""
        ...

    async def dequeue(self, due: DueJob) -> None: ...


class ChunkPublisher(Protocol):
    def publish(self, refs: Collection[ChunkRef]) -> None:
        """To the workers, without an answer: what gets lost is found by those who look after what is due."""
        ...


class Consumers(Protocol):
    async def progress(self, refs: Collection[ChunkRef], /) -> Mapping[ChunkRef, PartitionProgress]:
        """Ask for the partition that each chunk is published to. Raises `UnavailableError`."""
        ...

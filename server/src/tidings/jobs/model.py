"""A job: what is to be done for how many users, in chunks. Only what is wanted of it is stored; the rest is derived."""

from enum import StrEnum
from typing import NamedTuple, NewType

from msgspec import Struct

from tidings.kernel.fences import OffsetFence
from tidings.kernel.ids import TenantId, UserId

JobId = NewType("JobId", str)

CHUNK_USERS = 100


class JobKind(StrEnum):
    DELIVER = "deliver"
    REDACT = "redact"
    AMEND = "amend"
    """Changes nothing of anybody's: users who are connected are told."""
    BROADCAST = "broadcast"
    """A broadcast that starts, or a step of its ramp: one chunk, due at its time."""


class JobState(StrEnum):
    """`DONE` is never stored: a job is done when each of its chunks is."""

    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    DONE = "done"


class Job(Struct, frozen=True, kw_only=True):
    """`source`: the job whose chunks it goes through, its own or that of an earlier one.

    Nothing is done before `starts_ms`. `percent`: of a broadcast's users.
    """

    tenant: TenantId
    id: JobId
    kind: JobKind
    inbox: str
    notification: str
    source: JobId
    total: int
    created_ms: int
    state: JobState = JobState.RUNNING
    updated_ms: int = 0
    version: int = 1
    starts_ms: int = 0
    percent: int = 0

    @property
    def chunks(self) -> int:
        return self.chunks_of(self.total)

    @staticmethod
    def chunks_of(users: int) -> int:
        return -(-users // CHUNK_USERS)


class ChunkRef(Struct, frozen=True, kw_only=True):
    """What crosses to the workers: which chunk of which job is to be done."""

    tenant: TenantId
    job: JobId
    chunk: int


class ChunkResult(Struct, frozen=True, kw_only=True):
    """A chunk that is done, and the users for whom it failed."""

    chunk: int
    users: int
    failed: tuple[UserId, ...]
    at_ms: int


class DueJob(NamedTuple):
    """A job that is looked after at `at_ms`. `seen`: so many chunks were done the last time; `tries` without progress.

    `fences`: the ends of the partitions behind whose lag its missing chunks may wait. They are stored, because the
    next look may be another process's.
    """

    tenant: TenantId
    job: JobId
    at_ms: int
    seen: int = 0
    tries: int = 0
    fences: tuple[OffsetFence, ...] = ()


class JobProgress(Struct, frozen=True, kw_only=True):
    """`rate_per_s`: users in the last seconds, or over all its time if it is done; `remaining_s` None: it can't be told."""

    job: Job
    state: JobState
    done: int
    failed: int
    chunks_done: int
    rate_per_s: float
    remaining_s: float | None
    finished_ms: int | None

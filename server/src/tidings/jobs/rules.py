"""Derive the progress of a job, its missing chunks and its next check. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tidings.jobs.model import ChunkRef, ChunkResult, DueJob, Job, JobKind, JobProgress, JobState
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.fences import OffsetFence, PartitionProgress, fence_at, is_explained_by_lag

DAY_MS = 86_400_000
MIN_ERASURE_DAYS = 30
"""An erasure waits for an approval, and for its last step. Its jobs are stored for at least this number of days."""
RATE_OVER_MS = 10_000
FIRST_CHECK_MS = 5_000
_MAX_CHECK_INTERVAL_MS = 300_000

_MAY_BECOME = {
    JobState.PAUSED: frozenset({JobState.RUNNING}),
    JobState.RUNNING: frozenset({JobState.PAUSED}),
    JobState.CANCELLED: frozenset({JobState.RUNNING, JobState.PAUSED}),
}


_NOT_CANCELLED = {
    JobKind.ERASE: "An erasure cannot be cancelled: a part of the user is erased.",
    JobKind.EXPORT: "An export cannot be cancelled. Its archive is deleted after 7 days.",
}


def retention_days(kind: JobKind, days: int) -> int:
    """Return how long a job is stored, given the retention of jobs."""
    return max(days, MIN_ERASURE_DAYS) if kind is JobKind.ERASE else days


def kept_from_ms(job: Job, now_ms: int) -> int:
    """Return the time from which the retention of a job counts that is created or renewed now: not before its start."""
    return max(job.created_ms, job.starts_ms, now_ms)


def first_check_ms(job: Job, now_ms: int) -> int:
    return job.starts_ms if job.starts_ms > now_ms else now_ms + FIRST_CHECK_MS


def missing_chunks(job: Job, done: Collection[ChunkResult]) -> list[int]:
    chunks_done = {each.chunk for each in done}
    return [chunk for chunk in range(job.chunks) if chunk not in chunks_done]


def job_progress(job: Job, done: Collection[ChunkResult], now_ms: int) -> JobProgress:
    is_done = len(done) == job.chunks
    finished_ms = max(each.at_ms for each in done) if is_done else None
    users, failed = sum(each.users for each in done), sum(len(each.failed) for each in done)
    since_ms = job.created_ms if is_done else max(now_ms - RATE_OVER_MS, job.created_ms)
    rate = _rate_per_s(done, since_ms, finished_ms or now_ms)
    left = job.total - users - failed
    return JobProgress(
        job=job,
        state=JobState.DONE if is_done else job.state,
        done=users,
        failed=failed,
        chunks_done=len(done),
        rate_per_s=rate,
        remaining_s=left / rate if rate and job.state is JobState.RUNNING else None,
        finished_ms=finished_ms,
    )


def _rate_per_s(done: Collection[ChunkResult], since_ms: int, until_ms: int) -> float:
    users = sum(each.users + len(each.failed) for each in done if each.at_ms > since_ms)
    return users * 1000 / max(until_ms - since_ms, 1)


def changes_state(job: Job, state: JobState, done: Collection[ChunkResult]) -> bool:
    """Tell whether a request changes the state. Raises `no_change` if the job is done or cancelled."""
    if job.state is state:
        return False
    if job.kind in _NOT_CANCELLED and state is JobState.CANCELLED:
        raise TidingsError(Code.NO_CHANGE, _NOT_CANCELLED[job.kind])
    if job.state not in _MAY_BECOME[state] or len(done) == job.chunks:
        state_now = JobState.DONE if len(done) == job.chunks else job.state
        raise TidingsError(Code.NO_CHANGE, f"The job is {state_now}.")
    return True


def next_check(due: DueJob, chunks_done: int, now_ms: int) -> DueJob:
    """Schedule the next check: soon while chunks are done, with exponential backoff while none is."""
    tries = 0 if chunks_done > due.seen else due.tries + 1
    wait_ms = min(FIRST_CHECK_MS * 2**tries, _MAX_CHECK_INTERVAL_MS)
    return due._replace(at_ms=now_ms + wait_ms, seen=chunks_done, tries=min(tries, 20))


def is_stalled(due: DueJob, chunks_done: int) -> bool:
    """Tell whether no chunk was done since the last check: events may be lost, or consumers lag."""
    return chunks_done <= due.seen


def has_begun(job: Job, due: DueJob) -> bool:
    """Tell whether the chunks were published before this check. The first check of a later job is at its start."""
    return due.at_ms > job.starts_ms


class StalledChunks(NamedTuple):
    """Chunks whose events are lost, and fences for chunks that wait behind a lag."""

    lost: Sequence[ChunkRef]
    fences: tuple[OffsetFence, ...]


def find_lost(
    missing: Collection[ChunkRef],
    progress: Mapping[ChunkRef, PartitionProgress],
    fences: Collection[OffsetFence],
) -> StalledChunks:
    """Find the missing chunks whose events the consumers have passed.

    A fence remains until the consumers have passed it. Chunks of a passed partition are lost and published again;
    its next fence is set at the next check, after the offsets of these new events.
    """
    stored = {fence.partition: fence for fence in fences}
    lost, remaining = [], set[OffsetFence]()
    for ref in missing:
        if (at := progress.get(ref)) is None:
            continue
        fence = stored.get(at.partition, fence_at(at))
        if is_explained_by_lag(fence, at):
            remaining.add(fence)
        else:
            lost.append(ref)
    return StalledChunks(lost, tuple(sorted(remaining)))

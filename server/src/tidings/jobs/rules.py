"""How far a job is, what is missing, what may be wanted of it. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tidings.jobs.model import ChunkRef, ChunkResult, DueJob, Job, JobProgress, JobState
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.fences import OffsetFence, PartitionProgress, fence_at, is_explained_by_lag

RATE_OVER_MS = 10_000
FIRST_CHECK_MS = 5_000
_MAX_CHECK_INTERVAL_MS = 300_000

_MAY_BECOME = {
    JobState.PAUSED: frozenset({JobState.RUNNING}),
    JobState.RUNNING: frozenset({JobState.PAUSED}),
    JobState.CANCELLED: frozenset({JobState.RUNNING, JobState.PAUSED}),
}


def first_check_ms(job: Job, now_ms: int) -> int:
    return job.starts_ms if job.starts_ms > now_ms else now_ms + FIRST_CHECK_MS


def missing_chunks(job: Job, done: Collection[ChunkResult]) -> list[int]:
    there = {each.chunk for each in done}
    return [chunk for chunk in range(job.chunks) if chunk not in there]


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
    """Of what goes on: over the last seconds; of what is over: over all its time."""
    users = sum(each.users + len(each.failed) for each in done if each.at_ms > since_ms)
    return users * 1000 / max(until_ms - since_ms, 1)


def apply_request(job: Job, state: JobState, done: Collection[ChunkResult]) -> bool:
    """Whether this changes anything. What is over stays as it is."""
    if job.state is state:
        return False
    if job.state not in _MAY_BECOME[state] or len(done) == job.chunks:
        raise TidingsError(Code.NO_CHANGE, "The job is over.")
    return True


def next_check(due: DueJob, chunks_done: int, now_ms: int) -> DueJob:
    """Soon while it goes on; later and later while nothing moves."""
    tries = 0 if chunks_done > due.seen else due.tries + 1
    wait_ms = min(FIRST_CHECK_MS * 2**tries, _MAX_CHECK_INTERVAL_MS)
    return due._replace(at_ms=now_ms + wait_ms, seen=chunks_done, tries=min(tries, 20))


def is_stalled(due: DueJob, chunks_done: int) -> bool:
    """Tell whether no chunk was done since the last look: the events may be lost, or wait behind others."""
    return chunks_done <= due.seen


def has_begun(job: Job, due: DueJob) -> bool:
    """Tell whether the job's chunks were published before this look. A job that starts later comes up at its start."""
    return due.at_ms > job.starts_ms


class Silence(NamedTuple):
    """Chunks that no lag explains, and the fences of the others."""

    lost: Sequence[ChunkRef]
    fences: tuple[OffsetFence, ...]


def silence(
    missing: Collection[ChunkRef],
    reached: Mapping[ChunkRef, PartitionProgress],
    fences: Collection[OffsetFence],
) -> Silence:
    """Judge chunks that are not done, in partitions that are known.

    A fence stays until it is passed. Chunks behind a passed one are to be published again; that partition's next
    fence is noted at the next look, above what is published now.
    """
    noted = {fence.partition: fence for fence in fences}
    lost, kept = [], set[OffsetFence]()
    for ref in missing:
        if (place := reached.get(ref)) is None:
            continue
        fence = noted.get(place.partition, fence_at(place))
        if is_explained_by_lag(fence, place):
            kept.add(fence)
        else:
            lost.append(ref)
    return Silence(lost, tuple(sorted(kept)))

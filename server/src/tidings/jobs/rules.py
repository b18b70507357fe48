"""How far a job is, what is missing, what may be wanted of it. Pure."""

from collections.abc import Collection

from tidings.jobs.model import Done, Due, Job, JobState, Progress
from tidings.kernel.errors import Code, TidingsError

RATE_OVER_MS = 10_000
FIRST_LOOK_MS = 5_000
_LONGEST_LOOK_MS = 300_000

_MAY_BECOME = {
    JobState.PAUSED: frozenset({JobState.RUNNING}),
    JobState.RUNNING: frozenset({JobState.PAUSED}),
    JobState.CANCELLED: frozenset({JobState.RUNNING, JobState.PAUSED}),
}


def first_look_ms(job: Job, now_ms: int) -> int:
    return job.starts_ms if job.starts_ms > now_ms else now_ms + FIRST_LOOK_MS


def missing(job: Job, done: Collection[Done]) -> list[int]:
    there = {each.chunk for each in done}
    return [chunk for chunk in range(job.chunks) if chunk not in there]


def progress(job: Job, done: Collection[Done], now_ms: int) -> Progress:
    is_done = len(done) == job.chunks
    finished_ms = max(each.at_ms for each in done) if is_done else None
    users, failed = sum(each.users for each in done), sum(len(each.failed) for each in done)
    since_ms = job.created_ms if is_done else max(now_ms - RATE_OVER_MS, job.created_ms)
    rate = _rate_per_s(done, since_ms, finished_ms or now_ms)
    left = job.total - users - failed
    return Progress(
        job=job,
        state=JobState.DONE if is_done else job.state,
        done=users,
        failed=failed,
        chunks_done=len(done),
        rate_per_s=rate,
        left_s=left / rate if rate and job.state is JobState.RUNNING else None,
        finished_ms=finished_ms,
    )


def _rate_per_s(done: Collection[Done], since_ms: int, until_ms: int) -> float:
    """Of what goes on: over the last seconds; of what is over: over all its time."""
    users = sum(each.users + len(each.failed) for each in done if each.at_ms > since_ms)
    return users * 1000 / max(until_ms - since_ms, 1)


def wanted(job: Job, state: JobState, done: Collection[Done]) -> bool:
    """Whether this changes anything. What is over stays as it is."""
    if job.state is state:
        return False
    if job.state not in _MAY_BECOME[state] or len(done) == job.chunks:
        raise TidingsError(Code.NOTHING_TO_CHANGE, "The job is over.")
    return True


def look_again(due: Due, chunks_done: int, now_ms: int) -> Due:
    """Soon while it goes on; later and later while nothing moves."""
    tries = 0 if chunks_done > due.seen else due.tries + 1
    wait_ms = min(FIRST_LOOK_MS * 2**tries, _LONGEST_LOOK_MS)
    return due._replace(at_ms=now_ms + wait_ms, seen=chunks_done, tries=min(tries, 20))


def is_stuck(due: Due, chunks_done: int) -> bool:
    """Nothing was done since the last look: the events may be lost."""
    return chunks_done <= due.seen

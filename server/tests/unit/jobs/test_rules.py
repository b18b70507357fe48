"""Progress and checks of jobs."""

import pytest

from tidings.jobs import rules
from tidings.jobs.model import ChunkResult, DueJob, Job, JobId, JobKind, JobState
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId

NOW = 1_794_700_000_000
JOB = Job(
    tenant=TenantId("acme"),
    id=JobId("j"),
    kind=JobKind.DELIVER,
    inbox="default",
    notification="n",
    source=JobId("j"),
    total=250,
    created_ms=NOW - 60_000,
)


def done(chunk: int, users: int = 100, ago_ms: int = 1_000, failed: int = 0) -> ChunkResult:
    return ChunkResult(
        chunk=chunk,
        users=users,
        failed=tuple(UserId(f"u{number}") for number in range(failed)),
        at_ms=NOW - ago_ms,
    )


def test_a_job_is_done_when_each_of_its_chunks_is() -> None:
    some, everything = [done(0), done(2, 49, failed=1)], [done(0), done(1), done(2, 49, failed=1)]
    assert (JOB.chunks, rules.missing_chunks(JOB, some)) == (3, [1])
    at = rules.job_progress(JOB, some, NOW)
    assert (at.state, at.done, at.failed, at.rate_per_s, at.remaining_s) == ("running", 149, 1, 15, 100 / 15)
    over = rules.job_progress(JOB, everything, NOW)
    assert (over.state, over.done, over.failed, over.finished_ms) == ("done", 249, 1, NOW - 1_000)


def test_a_stalled_job_has_no_remaining_time() -> None:
    assert rules.job_progress(JOB, [done(0, ago_ms=30_000)], NOW).remaining_s is None


def test_a_finished_job_cannot_be_changed() -> None:
    assert rules.changes_state(JOB, JobState.PAUSED, [])
    assert not rules.changes_state(JOB, JobState.RUNNING, [])
    with pytest.raises(TidingsError) as refused:
        rules.changes_state(JOB, JobState.PAUSED, [done(0), done(1), done(2)])
    assert refused.value.code is Code.NO_CHANGE


def test_a_job_without_progress_is_checked_at_growing_intervals() -> None:
    due = DueJob(JOB.tenant, JOB.id, NOW)
    waits = []
    for _ in range(9):
        assert rules.is_stalled(due, 0)
        due = rules.next_check(due, 0, NOW)
        waits.append((due.at_ms - NOW) // 1000)
    assert waits == [10, 20, 40, 80, 160, 300, 300, 300, 300]
    moved = rules.next_check(due, 1, NOW)
    assert (moved.at_ms - NOW, moved.tries, rules.is_stalled(due, 1)) == (5_000, 0, False)

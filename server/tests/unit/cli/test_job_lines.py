"""The line that `tidings job` prints for a job."""

import pytest

from tidings.cli.job import job_line
from tidings.jobs.model import Job, JobId, JobKind, JobProgress, JobState
from tidings.kernel.ids import TenantId


def progress(kind: JobKind, state: JobState, done: int) -> JobProgress:
    job = Job(
        tenant=TenantId("acme"),
        id=JobId("01J"),
        kind=kind,
        inbox="default",
        notification="01N",
        source=JobId("01J"),
        total=1,
        created_ms=0,
    )
    return JobProgress(
        job=job,
        state=state,
        done=done,
        failed=0,
        chunks_done=done,
        rate_per_s=0.0,
        remaining_s=None,
        finished_ms=None,
    )


@pytest.mark.parametrize(
    ("state", "done", "line"),
    [
        (JobState.CANCELLED, 0, "cancelled: the broadcast has not started"),
        (JobState.DONE, 1, "done: the broadcast has started"),
    ],
)
def test_a_scheduled_broadcast_has_no_users_and_no_rate(state: JobState, done: int, line: str) -> None:
    assert job_line(progress(JobKind.BROADCAST, state, done)) == line


def test_a_send_has_users_and_a_rate() -> None:
    assert job_line(progress(JobKind.DELIVER, JobState.DONE, 1)) == (
        "done: 1 of 1 users done, 0 failed; 0 a second"
    )

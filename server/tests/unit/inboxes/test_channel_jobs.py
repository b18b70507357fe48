"""The jobs of channels: a repeated chunk finds its job, and no user is left out."""

from collections.abc import Sequence

import pytest

from tidings.inboxes.channels.jobs import ChannelJobs
from tidings.jobs.model import Job, JobId, JobKind, JobProgress
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId, UserId, new_ulid

TENANT = TenantId("acme")
ANNA, BEN = UserId("anna"), UserId("ben")
DELIVERY = Job(
    tenant=TENANT, id=JobId(new_ulid()), kind=JobKind.DELIVER, source=JobId("s"), total=2, created_ms=1
)


class StartedJobs:
    """Jobs that were started. As in the store, the first job with an id stays, and the last chunk replaces others."""

    def __init__(self) -> None:
        self.jobs: dict[JobId, Job] = {}
        self.users: dict[JobId, Sequence[UserId]] = {}

    async def put_chunks(self, job: Job, chunks: Sequence[Sequence[UserId]], _: int | None, /) -> None:
        self.users[job.id] = chunks[0]

    async def start(self, job: Job, /) -> bool:
        return self.jobs.setdefault(job.id, job) is job

    async def progress(self, _: TenantId, job: JobId, /) -> JobProgress:
        raise NotImplementedError(job)


async def test_a_repeated_chunk_finds_its_job_and_other_users_get_another_one() -> None:
    started = StartedJobs()
    jobs = ChannelJobs(JobKind.PUSH, started, SystemClock())
    for users in ([BEN], [BEN], [ANNA, BEN]):
        await jobs.start(DELIVERY, 0, users, starts_ms=0, attempt=1)
    assert sorted(map(list, started.users.values())) == [[ANNA, BEN], [BEN]]


@pytest.mark.parametrize("kind", [JobKind.PUSH, JobKind.MAIL])
async def test_the_age_of_a_notification_counts_from_the_first_job(kind: JobKind) -> None:
    started = StartedJobs()
    jobs = ChannelJobs(kind, started, SystemClock())
    await jobs.start(DELIVERY, 0, [ANNA], starts_ms=0, attempt=0)
    (first,) = started.jobs.values()
    assert first.created_ms > DELIVERY.created_ms
    await jobs.start(first, 0, [ANNA], starts_ms=first.created_ms + 30_000, attempt=1)
    assert {each.created_ms for each in started.jobs.values()} == {first.created_ms}

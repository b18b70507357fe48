"""Retention of jobs and their users by TTL. The order of expiry never leaves a job that looks unfinished."""

import random
import secrets

import pytest
from contract.inboxes.conftest import OpenInboxes
from fixtures.inbox_env import DEFAULT
from fixtures.notifications import NEWS, NotificationEnv
from fixtures.use_cases import ANNA, BEN, code_of
from msgspec.structs import replace

from tidings.app.wiring.inboxes import build_inboxes
from tidings.jobs.model import ChunkResult, Job, JobId, JobKind, JobState
from tidings.jobs.service import JobSweeper
from tidings.jobs.store import due_shard
from tidings.kernel.errors import Code
from tidings.kernel.ids import encode_ulid, ulid_ms
from tidings.schema.tables.items.jobs import JOBS_OF_TENANT, LISTED_SORT, OF_JOB
from tidings.schema.tables.patterns import jobs as patterns

DAY_S = 86_400


@pytest.mark.parametrize(("retention_days", "chunk_days"), [(None, None), (30, 96), (365, 371)])
async def test_a_job_leaves_the_list_first_and_its_users_are_stored_as_long_as_its_notifications(
    open_inboxes: OpenInboxes, retention_days: int | None, chunk_days: int | None
) -> None:
    async with open_inboxes() as at:
        await at.make_inbox(replace(NEWS, retention_days=retention_days))
        at.cases.configs.evict(at.tenant, DEFAULT)
        sent = await at.given("anna")

        async def days(partition: str, sort: str) -> int | None:
            item = await at.client.get(patterns.READ, {"PK": partition, "SK": sort})
            assert item is not None, sort
            return None if "ttl" not in item else (int(item["ttl"]) - ulid_ms(sent.job) // 1000) // DAY_S

        job = OF_JOB.render(tenant=at.tenant, job=sent.job)
        listed = JOBS_OF_TENANT.render(tenant=at.tenant, shard=due_shard(sent.job))
        assert await days(listed, LISTED_SORT.render(job=sent.job)) == 90
        assert [await days(job, sort) for sort in ("job", "d#000000", "k#000000")] == [93, 96, chunk_days]


async def test_a_listed_job_that_was_deleted_is_left_out(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        gone, kept = await at.given("anna"), await at.given("anna")
        key = {"PK": OF_JOB.render(tenant=at.tenant, job=gone.job), "SK": "job"}
        await at.client.delete(patterns.DEQUEUE, key)
        listed = await at.cases.jobs.listed(at.tenant, 10)
        assert [each.job.id for each in listed.jobs] == [kept.job]


async def test_the_retention_of_jobs_is_a_setting(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        at.cases = build_inboxes(at.client, at.ring, at.clock, at.chunks, job_retention_days=7)
        sent = await at.given("anna")
        item = await at.client.get(
            patterns.READ, {"PK": OF_JOB.render(tenant=at.tenant, job=sent.job), "SK": "job"}
        )
        assert item is not None
        assert (int(item["ttl"]) - ulid_ms(sent.job) // 1000) // DAY_S == 10


DAY_MS = DAY_S * 1000


def job_at(at: NotificationEnv, kind: JobKind, *, chunks: int = 1, starts_ms: int = 0) -> Job:
    id_ = JobId(encode_ulid(at.clock.now_ms(), secrets.randbits(80)))
    return Job(
        tenant=at.tenant,
        id=id_,
        kind=kind,
        inbox=DEFAULT,
        source=id_,
        total=chunks,
        created_ms=at.clock.now_ms(),
        starts_ms=starts_ms,
        chunk_users=1,
    )


async def until_ms(at: NotificationEnv, job: Job, sort: str = "job") -> int:
    """Return until when an item of a job is stored."""
    item = await at.client.get(patterns.READ, {"PK": OF_JOB.render(tenant=at.tenant, job=job.id), "SK": sort})
    assert item is not None, sort
    return int(item["ttl"]) * 1000


async def test_the_last_step_of_a_rollout_keeps_its_job_until_it_has_started(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        starts_ms = at.clock.now_ms() + 149 * DAY_MS
        job = job_at(at, JobKind.BROADCAST, starts_ms=starts_ms)
        await at.cases.jobs.start(job)
        assert await until_ms(at, job) >= starts_ms + 90 * DAY_MS


async def test_an_erasure_is_kept_for_thirty_days_whatever_the_retention(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        at.cases = build_inboxes(at.client, at.ring, at.clock, at.chunks, job_retention_days=1)
        job = job_at(at, JobKind.ERASE, starts_ms=at.clock.now_ms() + 8 * DAY_MS)
        await at.cases.jobs.start(job)
        assert await until_ms(at, job) >= job.starts_ms + 30 * DAY_MS


async def test_an_expired_job_is_absent_before_it_is_deleted(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        job = job_at(at, JobKind.DELIVER)
        await at.cases.jobs.start(job)
        await at.cases.jobs.pause(at.tenant, job.id)
        at.clock.ahead_ms += 94 * DAY_MS
        assert (await at.cases.jobs.listed(at.tenant, 10)).jobs == []
        assert await code_of(at.cases.jobs.resume(at.tenant, job.id)) is Code.JOB_NOT_FOUND


async def test_a_job_that_is_resumed_is_kept_with_its_users_and_marks(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        job = job_at(at, JobKind.DELIVER, chunks=2)
        await at.cases.jobs.put_chunks(job, [[ANNA], [BEN]], 0)
        await at.cases.jobs.start(job)
        done = ChunkResult(chunk=0, users=1, failed=(), at_ms=at.clock.now_ms())
        store = at.cases.job_store
        await store.mark_done(at.tenant, job.id, done)
        await at.cases.jobs.pause(at.tenant, job.id)
        at.clock.ahead_ms += 80 * DAY_MS
        await at.cases.jobs.resume(at.tenant, job.id)
        kept_until_ms = await until_ms(at, job)
        assert kept_until_ms >= at.clock.now_ms() + 90 * DAY_MS
        assert await until_ms(at, job, "d#000000") > kept_until_ms
        assert await until_ms(at, job, "k#000001") > kept_until_ms


@pytest.mark.parametrize("seed", range(20))
async def test_no_job_expires_within_a_day_of_its_last_step_nor_after_its_users_and_marks(
    open_inboxes: OpenInboxes, seed: int
) -> None:
    chance = random.Random(seed)
    retention_days = chance.choice([1, 2, 5, 30, 90, 365])
    async with open_inboxes() as at:
        at.cases = build_inboxes(at.client, at.ring, at.clock, at.chunks, job_retention_days=retention_days)
        store, now_ms = at.cases.job_store, at.clock.now_ms
        later_ms = chance.choice([0, 3_600_000, 8 * DAY_MS, 60 * DAY_MS, 150 * DAY_MS])
        kind = chance.choice([JobKind.DELIVER, JobKind.BROADCAST, JobKind.ERASE, JobKind.INDEX])
        # The request may have waited for an approval before its job was created.
        waited_ms = chance.choice([0, 7 * DAY_MS])
        job = job_at(at, kind, chunks=3, starts_ms=later_ms and now_ms() + later_ms)
        job = replace(job, created_ms=job.created_ms - waited_ms)
        await at.cases.jobs.put_chunks(job, [[ANNA], [BEN], [ANNA]], 0)
        await at.cases.jobs.start(job)
        at.clock.ahead_ms += later_ms
        for chunk in range(2):
            assert await until_ms(at, job) > now_ms() + DAY_MS
            await store.mark_done(
                at.tenant, job.id, ChunkResult(chunk=chunk, users=1, failed=(), at_ms=now_ms())
            )
            await at.cases.jobs.pause(at.tenant, job.id)
            at.clock.ahead_ms += chance.randrange(int((retention_days / 2 + 2.9) * DAY_MS))
            await at.cases.jobs.resume(at.tenant, job.id)
            kept_ms = await until_ms(at, job)
            users_and_marks = ["k#000002", *(f"d#00000{number}" for number in range(chunk + 1))]
            assert all([await until_ms(at, job, sort) > kept_ms for sort in users_and_marks])
        assert await until_ms(at, job) > now_ms() + DAY_MS


async def test_a_job_that_runs_for_longer_than_the_retention_does_not_expire(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        at.cases = build_inboxes(at.client, at.ring, at.clock, at.chunks, job_retention_days=1)
        job = job_at(at, JobKind.DELIVER)
        await at.cases.jobs.start(job)
        sweeper = JobSweeper(at.cases.job_store, at.chunks, at.chunks.progress, at.clock)
        for _ in range(5):
            at.clock.ahead_ms += 3 * DAY_MS
            await sweeper.shard(due_shard(job.id))
            assert (await at.cases.jobs.progress(at.tenant, job.id)).state is JobState.RUNNING

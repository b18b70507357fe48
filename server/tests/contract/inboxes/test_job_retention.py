"""Retention of jobs and their users by TTL. The order of expiry never leaves a job that looks unfinished."""

import pytest
from contract.inboxes.conftest import OpenInboxes
from fixtures.inbox_env import DEFAULT
from fixtures.notifications import NEWS
from msgspec.structs import replace

from tidings.app.wiring.inboxes import build_inboxes
from tidings.jobs.store import due_shard
from tidings.kernel.ids import ulid_ms
from tidings.schema.tables.items.jobs import JOBS_OF_TENANT, LISTED_SORT, OF_JOB
from tidings.schema.tables.patterns import jobs as patterns

DAY_S = 86_400


@pytest.mark.parametrize(("retention_days", "chunk_days"), [(None, None), (30, 93), (365, 368)])
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
        assert int(item["ttl"]) == ulid_ms(sent.job) // 1000 + 10 * DAY_S

"""Sending to named users: each gets the notification once despite repeats, and the inbox's rules apply."""

from contract.inboxes.conftest import OpenInboxes
from fixtures.inbox_env import DEFAULT
from fixtures.notifications import NEWS, NotificationEnv
from fixtures.use_cases import code_of
from msgspec.structs import replace

from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId
from tidings.schema.tables.items.inboxes import profile_key
from tidings.schema.tables.patterns import inboxes as patterns

USERS = [f"user{number:04d}" for number in range(205)]


async def test_each_user_gets_it_once_and_the_job_reports_it(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await at.send([*USERS, USERS[0]], category="sport", label="all of them", sender="editor")
        assert (sent.total, await at.state(sent.job)) == (205, "running")
        await at.work()
        progress = await at.cases.jobs.progress(at.tenant, sent.job)
        assert (progress.state, progress.done, progress.failed, progress.remaining_s) == ("done", 205, 0, 0)
        for user in (USERS[0], USERS[100], USERS[204]):
            sheet = await at.cases.queries.counts(at.owner(user))
            assert (sheet.counts.total, sheet.counts.by_category) == (1, {1: 1})
        assert await at.messages(USERS[204]) == [{"title": "hello"}]


async def test_the_content_of_a_notification_is_encrypted_in_the_table(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        sent = await at.given("anna", message={"title": "for anna alone"})
        content = await at.cases.recall.find(at.tenant, DEFAULT, sent.notification)
        assert content.sealed is not None
        assert b"anna" not in content.sealed


async def test_repeated_events_deliver_nothing_again(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await at.send(["anna", "ben"])
        again = list(at.chunks.refs)
        await at.work()
        for ref in again * 2:
            await at.cases.worker.process(ref)
        assert [await at.total(user) for user in ("anna", "ben")] == [1, 1]


async def test_a_try_with_the_same_key_is_the_same_notification(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        first = await at.send(["anna"], key="k1")
        again = await at.send(["anna"], key="k1")
        assert (again.notification, again.job, again.is_new) == (first.notification, first.job, False)
        await at.work()
        assert await at.total("anna") == 1
        assert await code_of(at.send(["ben"], key="k1")) is Code.IDEMPOTENCY_CONFLICT


async def test_a_host_system_id_is_unique_in_its_inbox_if_asked(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        first = await at.send(["anna"], host_system_id="order-7", is_unique=True)
        taken = at.send(["anna"], host_system_id="order-7", is_unique=True)
        assert await code_of(taken) is Code.IDEMPOTENCY_CONFLICT
        await at.send(["anna"], host_system_id="order-7")
        assert await at.cases.recall.by_host_id(at.tenant, DEFAULT, "order-7") == first.notification


async def test_a_paused_job_continues_where_it_stopped(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await at.send(USERS)
        first, *rest = at.chunks.take()
        await at.cases.worker.process(first)
        await at.cases.jobs.pause(at.tenant, sent.job)
        for ref in rest:
            await at.cases.worker.process(ref)
        paused = await at.cases.jobs.progress(at.tenant, sent.job)
        assert (paused.state, paused.done, await at.total(USERS[-1])) == ("paused", 100, 0)
        await at.cases.jobs.resume(at.tenant, sent.job)
        assert [ref.chunk for ref in at.chunks.refs] == [1, 2]
        await at.work()
        assert await at.state(sent.job) == "done"


async def test_a_cancelled_job_gives_nothing_more(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await at.send(USERS)
        first, *rest = at.chunks.take()
        await at.cases.worker.process(first)
        await at.cases.jobs.cancel(at.tenant, sent.job)
        for ref in rest:
            await at.cases.worker.process(ref)
        assert (await at.state(sent.job), await at.total(USERS[0]), await at.total(USERS[-1])) == (
            "cancelled",
            1,
            0,
        )
        assert await code_of(at.cases.jobs.resume(at.tenant, sent.job)) is Code.NO_CHANGE


async def test_lost_chunks_are_published_again(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await at.send(USERS)
        lost = at.chunks.take()
        await at.cases.worker.process(lost[1])
        at.clock.ahead_ms = 6_000
        await look_after_all(at)
        # something was done since: it is left alone for now
        assert at.chunks.refs == []
        at.clock.ahead_ms = 20_000
        await look_after_all(at)
        assert [ref.chunk for ref in at.chunks.refs] == [0, 2]
        await at.work()
        assert await at.state(sent.job) == "done"
        assert [await at.total(user) for user in (USERS[0], USERS[100], USERS[204])] == [1, 1, 1]
        at.clock.ahead_ms = 1_000_000
        await look_after_all(at)
        at.clock.ahead_ms = 10_000_000
        await look_after_all(at)
        assert at.chunks.refs == []


async def look_after_all(at: NotificationEnv) -> None:
    """The queue is shared by all tenants: jobs of other tests are swept too, without effect."""
    for shard in range(16):
        await at.sweeper.shard(shard)
    at.chunks.refs = [ref for ref in at.chunks.refs if ref.tenant == at.tenant]


async def test_jobs_are_listed_newest_first(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        jobs = []
        for _ in range(5):
            at.clock.ahead_ms += 10
            jobs.append((await at.send(["anna"])).job)
        page = await at.cases.jobs.listed(at.tenant, 3)
        rest = await at.cases.jobs.listed(at.tenant, 3, page.below)
        assert [each.job.id for each in (*page.jobs, *rest.jobs)] == jobs[::-1]
        assert rest.below is None


async def test_an_invalid_notification_is_rejected(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        assert await code_of(at.send(["anna"], message={"text": 1})) is Code.CONTENT_INVALID
        assert await code_of(at.send(["anna"], category="cooking")) is Code.REQUEST_INVALID
        assert await code_of(at.send([])) is Code.REQUEST_INVALID
        too_large = {"title": "x" * 17_000}
        assert await code_of(at.send(["anna"], message=too_large)) is Code.CONTENT_TOO_LARGE
        assert at.chunks.refs == []


async def test_a_retired_category_keeps_its_code_and_takes_no_more(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await at.given("anna", category="sport")
        await at.make_inbox(replace(NEWS, categories=("weather", "traffic")))
        assert await code_of(at.send(["anna"], category="sport")) is Code.REQUEST_INVALID
        inbox = await at.cases.inboxes.read(at.tenant, DEFAULT)
        assert dict(inbox.codes) == {"sport": 1, "weather": 2, "traffic": 3}
        sheet = await at.cases.queries.counts(at.owner("anna"))
        assert sheet.counts.by_category == {1: 1}
        await at.make_inbox(replace(NEWS, categories=("sport",)))
        await at.given("anna", category="sport")
        assert (await at.cases.queries.counts(at.owner("anna"))).counts.by_category == {1: 2}


async def test_an_inbox_for_known_users_rejects_users_without_a_profile(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await at.make_inbox(replace(NEWS, is_for_known_users=True))
        at.cases.configs.evict(at.tenant, DEFAULT)
        known = {**profile_key(at.tenant, UserId("anna")), "version": 1}
        await at.client.put(patterns.WRITE_CONFIG, known)
        sent = await at.given("anna", "ben")
        progress = await at.cases.jobs.progress(at.tenant, sent.job)
        assert (progress.state, progress.done, progress.failed) == ("done", 1, 1)
        assert [await at.total(user) for user in ("anna", "ben")] == [1, 0]
        await at.make_inbox()
        at.cases.configs.evict(at.tenant, DEFAULT)
        await at.given("anna", "ben")
        assert [await at.total(user) for user in ("anna", "ben")] == [2, 1]

"""Events of inboxes and jobs: a chunk or a job is done only after its event is stored."""

from typing import Any

from fixtures.use_cases import UseCaseEnv, code_of
from fixtures.webhook_events import ProducerEnv, about, opened

from tidings.app.wiring.inboxes import build_inboxes
from tidings.inboxes.config import InboxSpec
from tidings.inboxes.model import InboxId, InboxKey, NotificationId
from tidings.inboxes.preferences import CategorySettings, Channel, Throttle
from tidings.inboxes.sender import SendNotificationRequest
from tidings.jobs.model import DueJob, JobId
from tidings.jobs.service import JobSweeper
from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId
from tidings.webhooks.model import EventType

INBOX = InboxId("default")


class InboxEnv:
    """An inbox whose users can switch off webhooks, with the events of its jobs."""

    def __init__(self, env: ProducerEnv) -> None:
        self.env, self.refs = env, list[Any]()
        use_cases = env.use_cases
        self.cases = build_inboxes(use_cases.client, use_cases.ring, use_cases.clock, self, events=env.events)
        self.sweeper = JobSweeper(
            self.cases.job_store, self, self.progress, use_cases.clock, env.events.job_ended
        )

    def publish(self, refs: Any) -> None:
        self.refs += refs

    async def progress(self, _: object) -> dict[Any, Any]:
        return {}

    async def open(self, category: CategorySettings | None = None) -> None:
        spec = InboxSpec(
            title="News",
            categories=("sport",),
            schema={"type": "object"},
            category_settings={} if category is None else {"sport": category},
        )
        await self.cases.inboxes.set(self.env.use_cases.tenant, INBOX, lambda _: spec)

    async def send(self, *users: str) -> tuple[NotificationId, JobId]:
        request = SendNotificationRequest(
            user_ids=[UserId(user) for user in users], message={"title": "hi"}, category="sport"
        )
        made = await self.cases.sender.send(self.env.use_cases.tenant, INBOX, request)
        return made.notification, made.job

    async def work(self) -> None:
        refs, self.refs = self.refs, []
        for ref in refs:
            await self.cases.worker.process(ref)

    async def due(self, job: JobId) -> list[DueJob]:
        found: list[DueJob] = []
        for shard in range(self.cases.job_store.due_shards):
            found += await self.cases.job_store.due(shard, self.env.clock.now_ms() + 3_600_000)
        return [each for each in found if each.job == job]

    async def check(self, job: JobId, sweeper: JobSweeper | None = None) -> None:
        for each in await self.due(job):
            await (sweeper or self.sweeper).sweep(each)

    def owner(self, user: str) -> InboxKey:
        return InboxKey(self.env.use_cases.tenant, UserId(user), INBOX)


async def test_a_chunk_is_done_only_after_its_delivery_was_reported(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    inbox = InboxEnv(env)
    await inbox.open()
    await inbox.cases.preferences.change(inbox.owner("ben"), {Channel.WEBHOOK: False}, {})
    notification, job = await inbox.send("anna", "ben")
    [ref] = inbox.refs
    env.broken.is_broken = True
    assert await code_of(inbox.cases.worker.process(ref)) is Code.OVERLOADED
    assert not await inbox.cases.job_store.is_done(ref.tenant, job, 0)
    env.broken.is_broken = False
    await inbox.work()
    expected = {"inbox": "default", "notification": notification, "job": job, "users": ["anna"]}
    assert about(await env.received()) == [("notification.delivered", expected)]


async def test_users_above_the_limit_of_a_category_are_not_reported(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    inbox = InboxEnv(env)
    await inbox.open(CategorySettings(throttle=Throttle(limit=1, window_s=3_600)))
    for _ in range(2):
        await inbox.send("anna")
        await inbox.work()
    delivered = await env.received(EventType.NOTIFICATION_DELIVERED)
    assert [event["data"]["users"] for event in delivered] == [["anna"]]


async def test_marked_notifications_are_reported(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    inbox = InboxEnv(env)
    await inbox.open()
    notification, _ = await inbox.send("anna")
    await inbox.work()
    await inbox.cases.marker.read(inbox.owner("anna"), [notification])
    await inbox.cases.marker.read_all(inbox.owner("anna"))
    found = about(await env.received(EventType.NOTIFICATION_READ))
    assert sorted(found, key=str) == [
        ("notification.read", {"inbox": "default", "user": "anna", "all": True}),
        ("notification.read", {"inbox": "default", "user": "anna", "notifications": [notification]}),
    ]


async def test_the_end_of_a_job_is_reported_before_its_last_check_is_removed(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    inbox = InboxEnv(env)
    await inbox.open()
    notification, job = await inbox.send("anna", "ben")
    await inbox.check(job)
    assert await env.received(EventType.JOB_ENDED) == [], "it has not ended"
    await inbox.work()
    env.broken.is_broken = True
    assert await code_of(inbox.check(job)) is Code.OVERLOADED
    env.broken.is_broken = False
    await inbox.check(job)
    [event] = await env.received(EventType.JOB_ENDED)
    assert event["data"] == {
        "job": job,
        "kind": "deliver",
        "state": "done",
        "done": 2,
        "failed": 0,
        "notification": notification,
        "inbox": "default",
    }
    assert await inbox.due(job) == []


async def test_a_job_that_is_cancelled_while_it_is_paused_ends_with_an_event(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    inbox, tenant = InboxEnv(env), env.use_cases.tenant
    await inbox.open()
    _, job = await inbox.send("anna")
    await inbox.cases.jobs.pause(tenant, job)
    await inbox.check(job)
    assert await inbox.due(job) == []
    assert await env.received(EventType.JOB_ENDED) == []
    await inbox.cases.jobs.cancel(tenant, job)
    await inbox.check(job)
    [event] = await env.received(EventType.JOB_ENDED)
    assert (event["data"]["state"], event["data"]["done"]) == ("cancelled", 0)

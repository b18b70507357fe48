"""Notifications of inboxes on devices: the recipients, the time, the number, and the recorded results."""

from collections.abc import Sequence

from fixtures.dispatcher_env import ACCEPTED, BUSY, DispatcherEnv
from fixtures.use_cases import BEN, UseCaseEnv

from tidings.accounts.model import Scope
from tidings.connections.model import LookupResult, Route
from tidings.inboxes.channels.jobs import ChannelJobs
from tidings.inboxes.channels.push import PushChunks, PushJobs
from tidings.inboxes.chunk_worker import ChannelActions
from tidings.inboxes.config import InboxSpec
from tidings.inboxes.model import InboxId, InboxKey, NotificationId
from tidings.inboxes.preferences import CategorySettings, Channel, Digest
from tidings.inboxes.sender import SendNotificationRequest
from tidings.jobs.model import JobKind
from tidings.jobs.service import JobSweeper
from tidings.kernel.ids import TenantId, UserId
from tidings.push.inbox_alerts import InboxAlertSender
from tidings.push.model import PushAction, PushPreferences, PushResult, QuietHours
from tidings.push.outages import OutageTracker
from tidings.push.ports import SendResult, SendVerdict

INBOX = InboxId("default")
SPEC = InboxSpec(title="News", categories=("sport",))
GONE = SendResult(verdict=SendVerdict.GONE, status=410)
REFUSED = SendResult(verdict=SendVerdict.REJECTED, status=400, answer="bad")


class ScriptedRoutes:
    """The users with a connected device."""

    def __init__(self) -> None:
        self.connected: set[UserId] = set()

    async def look_up(self, _: TenantId, users: Sequence[UserId]) -> LookupResult[UserId, Sequence[Route]]:
        return LookupResult({user: () for user in users if user in self.connected}, frozenset())

    async def remove(self, *_: object, is_closed: bool = False) -> bool:
        return is_closed


class InboxPushEnv(DispatcherEnv):
    def __init__(self, use_cases: UseCaseEnv) -> None:
        super().__init__(use_cases)
        self.inboxes, self.routes, clock = self.rest.notifications, ScriptedRoutes(), use_cases.clock
        jobs = ChannelJobs(JobKind.PUSH, self.inboxes.jobs, clock)
        chunks = PushChunks(
            reader=self.inboxes.channel_reader,
            jobs=jobs,
            alerts=InboxAlertSender(self.deps, self.stats, OutageTracker(clock)),
            routes=self.routes,
            clock=clock,
        )
        self.has_providers = True

        async def has_providers(_: TenantId) -> bool:
            return self.has_providers

        self.inboxes.worker.use_channels(
            ChannelActions(
                start={Channel.PUSH: PushJobs(jobs, has_providers)}, send={JobKind.PUSH: chunks.send}
            )
        )
        self.sweeper = JobSweeper(self.inboxes.job_store, self.rest.chunks, self.rest.chunks.progress, clock)

    async def open(self, *devices: str, spec: InboxSpec = SPEC) -> None:
        await self.prepare(0, *devices)
        await self.inboxes.inboxes.set(self.use_cases.tenant, INBOX, lambda _: spec)

    async def send(self, user: str = BEN, *, is_critical: bool = False) -> NotificationId:
        request = SendNotificationRequest(
            user_ids=[UserId(user)],
            message={"title": "Goal!", "body": "1:0"},
            category="sport",
            is_critical=is_critical,
        )
        sent = await self.inboxes.sender.send(self.use_cases.tenant, INBOX, request, None)
        await self.work()
        return sent.notification

    async def work(self) -> None:
        """Process the delivery, and the push jobs that follow from it and are due."""
        while refs := self.rest.chunks.take():
            for ref in refs:
                if ref.tenant == self.use_cases.tenant:
                    await self.inboxes.worker.process(ref)

    async def later(self, ms: int) -> None:
        self.use_cases.clock.ahead_ms += ms
        for shard in range(self.inboxes.job_store.due_shards):
            await self.sweeper.shard(shard)
        await self.work()

    @property
    def key(self) -> InboxKey:
        return InboxKey(self.use_cases.tenant, BEN, INBOX)

    async def results_of(self, notification: NotificationId) -> list[PushResult]:
        return list(await self.results.of_notification(self.key, notification))

    async def verdict(self, notification: NotificationId) -> tuple[str, str]:
        (found,) = await self.results_of(notification)
        return found.outcome.value, found.reason.partition(":")[0]


async def test_an_offline_user_is_notified_once_with_the_exact_badge(use_cases: UseCaseEnv) -> None:
    env = InboxPushEnv(use_cases)
    await env.open("phone", "tablet")
    notification = await env.send()
    first, second = env.provider.sent
    assert {first.device, second.device} == {"phone", "tablet"}
    assert (first.title, first.body, first.badge, first.action) == ("Goal!", "1:0", 1, PushAction.ALERT)
    assert first.data() == {
        "inbox": "default",
        "notification_id": notification,
        "badge": "1",
        "action": "alert",
    }
    assert (first.collapse_id, first.thread) == (notification, "default")
    assert {each.outcome.value for each in await env.results_of(notification)} == {"sent"}
    await env.later(3_600_000)
    assert len(env.provider.sent) == 2
    assert env.reported


async def test_a_connected_user_is_notified_after_half_a_minute_unless_they_read_it(
    use_cases: UseCaseEnv,
) -> None:
    env = InboxPushEnv(use_cases)
    await env.open()
    env.routes.connected = {BEN}
    read = await env.send()
    unread = await env.send()
    assert env.provider.sent == []
    await env.inboxes.marker.read(env.key, [read])
    await env.later(31_000)
    assert [note.subject for note in env.provider.sent] == [unread]
    assert await env.verdict(read) == ("skipped", "read")


async def test_what_a_user_must_not_receive_is_not_sent_and_explained(use_cases: UseCaseEnv) -> None:
    env = InboxPushEnv(use_cases)
    await env.open()
    tenant = env.use_cases.tenant
    env.routes.connected = {BEN}
    off = await env.send()
    await env.inboxes.preferences.change(env.key, {Channel.PUSH: False}, {})
    await env.later(31_000)
    assert await env.verdict(off) == ("skipped", "channel_off")
    await env.inboxes.preferences.change(env.key, {Channel.PUSH: None}, {})
    recalled = await env.send()
    await env.inboxes.recall.redact(tenant, INBOX, recalled)
    await env.later(31_000)
    assert await env.verdict(recalled) == ("skipped", "recalled")
    quiet = PushPreferences(quiet_hours=QuietHours(start=0, end=1_439))
    await env.deps.alerts.put_preferences(tenant, BEN, quiet, env.use_cases.clock.now_ms())
    env.routes.connected = set()
    silent = await env.send()
    assert await env.verdict(silent) == ("skipped", "quiet_hours")
    assert env.provider.sent == []
    await env.send(is_critical=True)
    assert len(env.provider.sent) == 1, "quiet hours do not apply to a critical notification"


async def test_users_without_a_device_or_a_provider_cost_no_result(use_cases: UseCaseEnv) -> None:
    env = InboxPushEnv(use_cases)
    await env.open()
    notification = await env.send("dora")
    key = InboxKey(env.use_cases.tenant, UserId("dora"), INBOX)
    assert list(await env.results.of_notification(key, notification)) == []
    env.has_providers = False
    await env.send()
    assert env.provider.sent == []
    assert env.stats.sent == 0


async def test_a_provider_that_fails_is_asked_again_until_the_notification_is_too_old(
    use_cases: UseCaseEnv,
) -> None:
    env = InboxPushEnv(use_cases)
    await env.open("phone", "tablet")
    env.provider.answers = [ACCEPTED, BUSY]
    notification = await env.send()
    states = {each.device: each.outcome.value for each in await env.results_of(notification)}
    assert sorted(states.values()) == ["retrying", "sent"]
    await env.later(31_000)
    assert len(env.provider.sent) == 3, "only the device that did not receive it"
    assert {each.outcome.value for each in await env.results_of(notification)} == {"sent"}
    env.provider.answers = [BUSY] * 100
    failed = await env.send()
    for _ in range(12):
        await env.later(600_000)
    decision = next(each for each in await env.results_of(failed) if each.device is None)
    assert (decision.outcome.value, decision.reason.partition(":")[0]) == ("failed", "too_old")
    asked = len(env.provider.sent)
    await env.later(3_600_000)
    assert len(env.provider.sent) == asked


async def test_an_invalid_token_is_removed_and_a_refusal_is_a_failure_of_the_job(
    use_cases: UseCaseEnv,
) -> None:
    env = InboxPushEnv(use_cases)
    await env.open("phone")
    env.provider.answers = [GONE]
    gone = await env.send()
    assert [each.outcome.value for each in await env.results_of(gone)] == ["gone"]
    assert await env.store.list(env.use_cases.tenant, BEN) == []
    await env.prepare(0, "tablet")
    env.provider.answers = [REFUSED]
    refused = await env.send()
    assert [each.outcome.value for each in await env.results_of(refused)] == ["failed"]
    assert env.stats.failed == 1


async def test_a_repeated_chunk_notifies_nobody_twice(use_cases: UseCaseEnv) -> None:
    env = InboxPushEnv(use_cases)
    await env.open()
    request = SendNotificationRequest(user_ids=[BEN], message={"title": "Goal!"}, category="sport")
    await env.inboxes.sender.send(env.use_cases.tenant, INBOX, request, None)
    (delivery,) = env.rest.chunks.take()
    await env.inboxes.worker.process(delivery)
    (pushes,) = env.rest.chunks.take()
    assert pushes.kind is JobKind.PUSH
    job = await env.inboxes.job_store.read(env.use_cases.tenant, pushes.job)
    assert job is not None
    await env.inboxes.worker.process(pushes)
    await env.inboxes.worker._channels.send[JobKind.PUSH](job, 0, [BEN])
    assert len(env.provider.sent) == 1
    assert env.stats.repeated == 1


async def test_a_digest_is_sent_once(use_cases: UseCaseEnv) -> None:
    env = InboxPushEnv(use_cases)
    digest = {"sport": CategorySettings(digest=Digest(window_s=600))}
    await env.open(spec=InboxSpec(title="News", categories=("sport",), category_settings=digest))
    await env.send()
    await env.send()
    assert len(env.provider.sent) == 1


async def test_the_results_are_in_the_rest_api(use_cases: UseCaseEnv) -> None:
    env = InboxPushEnv(use_cases)
    await env.open()
    notification = await env.send()
    path = f"/v1/inboxes/default/notifications/{notification}/users/{BEN}/pushes"
    server = env.rest.server(Scope.NOTIFICATIONS)
    (found,) = (await server.ok("GET", path))["results"]
    assert (found["outcome"], found["device"], found["attempts"][0]["status"]) == ("sent", "phone", 200)

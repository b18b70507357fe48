"""Broadcasts on both engines: sent once, merged at read, started later, step by step, recalled; and what they cost."""

import pytest
from contract.inboxes.conftest import OpenInboxes
from contract.inboxes.test_send import look_after_all
from fixtures.inbox_env import DEFAULT
from fixtures.notifications import NotificationEnv
from fixtures.use_cases import code_of

from tidings.capacity.operations import BROADCAST
from tidings.inboxes.broadcasts import estimates
from tidings.inboxes.broadcasts.model import BroadcastLogId, RolloutStatus
from tidings.inboxes.broadcasts.segments import MAX_LISTED
from tidings.inboxes.broadcasts.service import BroadcastRequest, BroadcastResult, RolloutStep
from tidings.inboxes.model import NotificationId
from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId

HELLO = {"title": "to all of you"}
USERS = [f"user{number:03d}" for number in range(100)]


async def send(at: NotificationEnv, key: str | None = None, **more: object) -> BroadcastResult:
    request = BroadcastRequest(message=HELLO, **more)  # type: ignore[arg-type]  # as the test wishes
    return await at.cases.broadcast.send(at.tenant, DEFAULT, request, key)


async def reached(at: NotificationEnv, notification: NotificationId) -> RolloutStatus:
    return await at.cases.broadcasts.rollout.status(BroadcastLogId(at.tenant, DEFAULT), notification)


async def holders(at: NotificationEnv) -> int:
    return sum([await at.total(user) for user in USERS])


async def test_a_broadcast_is_merged_with_the_users_notifications_newest_first(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        await at.given("anna", message={"title": "first"})
        at.clock.ahead_ms += 10
        await send(at, category="sport")
        at.clock.ahead_ms += 10
        await at.given("anna", message={"title": "last"})
        assert await at.messages("anna") == [{"title": "last"}, HELLO, {"title": "first"}]
        assert await at.messages("ben") == [HELLO]
        sheet = await at.cases.queries.counts(at.owner("anna"))
        assert (sheet.total, sheet.by_category, sheet.unseen) == (3, {1: 1}, 3)


async def test_mark_all_applies_to_notifications_and_broadcasts(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await at.given("anna")
        sent = await send(at)
        assert (await at.cases.marker.read_all(at.owner("anna"))).total == 0
        assert (await at.cases.marker.reopen(at.owner("anna"), [sent.notification])).total == 1
        assert (await at.cases.marker.archive(at.owner("anna"), [sent.notification])).total == 0
        assert (await at.cases.marker.restore(at.owner("anna"), [sent.notification])).total == 1
        assert (await at.cases.marker.read(at.owner("anna"), [sent.notification])).total == 0


async def test_the_next_page_continues_at_its_cursor_after_new_arrivals(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = []
        for number in range(5):
            at.clock.ahead_ms += 10
            sent.append(
                (await send(at)).notification if number % 2 else (await at.given("anna")).notification
            )
        first = await at.cases.queries.page(at.owner("anna"), 2)
        at.clock.ahead_ms += 10
        await send(at)
        second = await at.cases.queries.page(at.owner("anna"), 2, below=first.below)
        third = await at.cases.queries.page(at.owner("anna"), 2, below=second.below)
        pages = (*first.notifications, *second.notifications, *third.notifications)
        assert [each.row.id for each in pages] == sent[::-1]
        assert third.below is None


async def test_a_try_with_the_same_key_is_the_same_broadcast(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        first = await send(at, key="k1")
        again = await send(at, key="k1")
        assert (again.notification, again.status.sequence, again.is_new) == (first.notification, 1, False)
        assert again.status.head == 1
        await at.cases.recall.redact(at.tenant, DEFAULT, first.notification)
        late = await send(at, key="k1")
        assert (late.notification, late.status.head) == (first.notification, 2)
        assert await at.total("anna") == 0
        assert await code_of(send(at, key="k1", segment=None, category="sport")) is Code.IDEMPOTENCY_CONFLICT


async def test_a_scheduled_broadcast_is_new_at_its_start_and_not_before(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        starts_ms = at.clock.now_ms() + 60_000
        sent = await send(at, starts_ms=starts_ms)
        assert (sent.status.sequence, at.chunks.refs) == (None, [])
        await look_after_all(at)
        assert (await at.total("anna"), at.chunks.refs) == (0, [])
        other = await send(at)
        await at.cases.marker.read_all(at.owner("anna"))
        at.clock.ahead_ms += 61_000
        await look_after_all(at)
        refs = list(at.chunks.refs)
        await at.work()
        for ref in refs:
            await at.cases.worker.process(ref)
        assert await at.total("anna") == 1
        assert (await reached(at, sent.notification)).sequence == 2 > (other.status.sequence or 0)
        assert await at.state(sent.jobs[0]) == "done"


async def test_a_cancelled_start_never_happens(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await send(at, starts_ms=at.clock.now_ms() + 60_000)
        await at.cases.jobs.cancel(at.tenant, sent.jobs[0])
        at.clock.ahead_ms += 61_000
        await look_after_all(at)
        await at.work()
        assert (await reached(at, sent.notification)).sequence is None


async def test_a_paused_start_that_is_resumed_waits_for_its_time(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await send(at, starts_ms=at.clock.now_ms() + 60_000)
        await at.cases.jobs.pause(at.tenant, sent.jobs[0])
        await at.cases.jobs.resume(at.tenant, sent.jobs[0])
        assert at.chunks.refs == []
        at.clock.ahead_ms += 61_000
        await look_after_all(at)
        await at.work()
        assert (await reached(at, sent.notification)).sequence == 1


async def test_a_rollout_reaches_each_user_once_step_by_step(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await send(at, steps=(RolloutStep(25), RolloutStep(75, 60)))
        first = await holders(at)
        assert 10 <= first <= 40
        at.clock.ahead_ms += 61_000
        await look_after_all(at)
        await at.work()
        second = await holders(at)
        assert first < second <= 90
        await at.cases.broadcast.ramp(at.tenant, DEFAULT, sent.notification, 100)
        assert await holders(at) == 100
        again = at.cases.broadcast.ramp(at.tenant, DEFAULT, sent.notification, 100)
        assert await code_of(again) is Code.NO_CHANGE


async def test_a_halted_rollout_ignores_its_later_steps(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await send(at, steps=(RolloutStep(25), RolloutStep(100, 60)))
        first = await holders(at)
        halted = await at.cases.broadcast.halt(at.tenant, DEFAULT, sent.notification)
        assert (halted.is_halted, halted.parts) == (True, 2_500)
        at.clock.ahead_ms += 61_000
        await look_after_all(at)
        await at.work()
        assert (await holders(at), await at.state(sent.jobs[0])) == (first, "done")
        more = at.cases.broadcast.ramp(at.tenant, DEFAULT, sent.notification, 50)
        assert await code_of(more) is Code.NO_CHANGE


async def test_a_recall_is_one_entry_and_leaves_lists_and_counts(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await send(at)
        assert await at.total("anna") == 1
        await at.cases.recall.amend(at.tenant, DEFAULT, sent.notification, {"title": "corrected"})
        assert await at.messages("anna") == [{"title": "corrected"}]
        recalled = await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        assert (await at.total("anna"), await at.messages("anna"), recalled.job) == (0, [], None)
        proof = await reached(at, sent.notification)
        assert (proof.redacted_ms, proof.head) == (recalled.at_ms, 2)
        again = await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        assert (again, (await reached(at, sent.notification)).head) == (recalled, 2)


async def test_a_broadcast_recalled_before_its_start_is_never_shown(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await send(at, starts_ms=at.clock.now_ms() + 60_000)
        await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        at.clock.ahead_ms += 61_000
        await look_after_all(at)
        await at.work()
        assert (await at.total("anna"), (await reached(at, sent.notification)).sequence) == (0, None)


async def test_a_segment_is_evaluated_when_a_user_reads(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        people, segments = at.cases.broadcasts.profile_service, at.cases.broadcasts.segments
        assert await code_of(send(at, segment="pros")) is Code.SEGMENT_NOT_FOUND
        await segments.set_predicate(at.tenant, "pros", {"attribute": "plan", "is": "pro"})
        await people.set(at.tenant, UserId("anna"), {"plan": "pro"}, created_ms=0)
        await send(at, segment="pros")
        assert [await at.total(user) for user in ("anna", "ben")] == [1, 0]
        await people.set(at.tenant, UserId("ben"), {"plan": "pro"})
        await people.set(at.tenant, UserId("anna"), {"plan": "free"})
        assert [await at.total(user) for user in ("anna", "ben")] == [0, 1]


async def test_a_new_segment_list_applies_from_its_activation(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        segments, users = at.cases.broadcasts.segments, ("anna", "ben", "cleo")

        async def upload(*names: str, version: int | None = None) -> int:
            wanted = [UserId(name) for name in names]
            return (await segments.upload(at.tenant, "vip", wanted, version)).newest

        await segments.activate(at.tenant, "vip", await upload("anna", "ben"))
        await send(at, segment="vip")
        assert [await at.total(user) for user in users] == [1, 1, 0]
        second = await upload("ben")
        assert await upload("cleo", version=second) == second
        assert [await at.total(user) for user in users] == [1, 1, 0]
        await segments.activate(at.tenant, "vip", second)
        assert [await at.total(user) for user in users] == [0, 1, 1]
        await segments.activate(at.tenant, "vip", second - 1)
        assert [await at.total(user) for user in users] == [1, 1, 0]
        assert await code_of(upload("dora", version=second - 1)) is Code.REQUEST_INVALID
        assert await code_of(upload(*map(str, range(MAX_LISTED + 1)))) is Code.REQUEST_INVALID


async def test_a_user_who_is_uploaded_many_times_costs_one_write(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        calls = called(at)
        await at.cases.broadcasts.segments.upload(at.tenant, "vip", [UserId("anna")] * MAX_LISTED, None)
        assert called(at) - calls < 10


async def test_a_new_user_sees_only_broadcasts_since_their_profile_was_created(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        await send(at)
        at.clock.ahead_ms += 10_000
        await at.cases.broadcasts.profile_service.set(at.tenant, UserId("anna"), {})
        assert (await at.total("anna"), await at.total("ben")) == (0, 1)
        await send(at)
        assert (await at.total("anna"), await at.total("ben")) == (1, 2)
        explanation = await at.cases.queries.explain(at.owner("anna"), 10)
        assert [each.why.value for each in explanation.reasons] == ["delivered", "before_joining"]


async def test_a_broadcast_expires_automatically_and_has_its_expiry(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        ends_ms = at.clock.now_ms() + 5_000
        await send(at, expires_ms=ends_ms)
        sheet = await at.cases.queries.counts(at.owner("anna"))
        assert (sheet.total, sheet.next_change_ms) == (1, ends_ms)
        at.clock.ahead_ms += 6_000
        assert await at.total("anna") == 0
        too_long = send(at, expires_ms=at.clock.now_ms() + 91 * 86_400_000)
        assert await code_of(too_long) is Code.REQUEST_INVALID


async def test_a_broadcast_writes_at_most_ten_units_and_a_read_costs_two_reads_at_most(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        await send(at, key="k1")  # also stores the tenant's keys
        before = written(at)
        await send(at, key="k2")
        assert written(at) - before <= BROADCAST.writes["inbox"]
        await at.total("anna")
        calls, units = called(at), written(at)
        await at.cases.queries.counts(at.owner("anna"))
        assert called(at) - calls <= 2
        assert written(at) == units


async def test_readers_are_recorded_only_if_reads_are_tracked(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        tracked, other = await send(at, tracks_reads=True), await send(at)
        await at.cases.marker.read(at.owner("anna"), [tracked.notification, other.notification])
        await at.cases.marker.read_all(at.owner("ben"))
        await at.cases.marker.archive(at.owner("cleo"), [tracked.notification])
        readers = at.cases.broadcast.readers
        first = await readers(at.tenant, DEFAULT, tracked.notification, 1)
        rest = await readers(at.tenant, DEFAULT, tracked.notification, 5, first.below)
        assert [each.user for each in (*first.readers, *rest.readers)] == ["anna", "ben"]
        assert rest.below is None
        assert await code_of(readers(at.tenant, DEFAULT, other.notification, 1)) is Code.REQUEST_INVALID


def written(at: NotificationEnv) -> float:
    return sum(count.value for count in at.client.ledger if count.name == "write_units")


def called(at: NotificationEnv) -> float:
    return sum(count.value for count in at.client.ledger if count.name == "calls")


async def test_reach_is_estimated_beforehand_with_its_precision(
    open_inboxes: OpenInboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_inboxes() as at:
        segments, people = at.cases.broadcasts.segments, at.cases.broadcasts.profile_service
        await segments.set_predicate(at.tenant, "pros", {"attribute": "plan", "is": "pro"})
        empty = await at.cases.broadcasts.reach.estimate(at.tenant, None)
        assert empty == (0, 0, 0, 0, 0)
        for number in range(300):
            await people.set(at.tenant, UserId(f"u{number}"), {"plan": "pro" if number % 2 else "free"})
        assert await at.cases.broadcasts.reach.estimate(at.tenant, None) == (300, 300, 300, 300, 300)
        assert await at.cases.broadcasts.reach.estimate(at.tenant, "pros") == (150, 150, 150, 300, 150)
        monkeypatch.setattr(estimates, "_COUNT_ALL_UP_TO", -1)  # as if there were too many to count
        everyone = await at.cases.broadcasts.reach.estimate(at.tenant, None)
        pros = await at.cases.broadcasts.reach.estimate(at.tenant, "pros")
        assert everyone.users == 256 * everyone.met
        assert everyone.low <= 300 <= everyone.high or everyone.seen == 0
        assert pros.met <= pros.seen

"""Events that are not entries of a log: each is queued before its cause counts as done, and reaches the endpoints that chose it."""

import asyncio
from collections.abc import Sequence
from typing import Any

from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, UseCaseEnv, code_of
from fixtures.webhook_events import ProducerEnv, about, opened
from fixtures.webhooks import OK, failing

from tidings.accounts.model import ProfileChange
from tidings.app.wiring.chats import build_chat_lists
from tidings.app.wiring.moderation import build_reports, report_events
from tidings.app.wiring.webhook_events import PresenceEvents
from tidings.ephemeral.model import Presence, PresenceRecord, PresenceStatus
from tidings.inboxes.model import InboxId
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatId, DeviceId, TenantId, UserId
from tidings.moderation.model import ReportReason
from tidings.moderation.reviews import ReportRequest
from tidings.moderation.store import DynamoReviewStore
from tidings.platform.dynamo.errors import ServiceError
from tidings.push.model import PushKind, PushOutcome, PushResult
from tidings.webhooks.endpoints import EndpointDirectory
from tidings.webhooks.model import FREQUENT_TYPES, EventType, QueueKind
from tidings.webhooks.producer import EventProducer

INBOX = InboxId("default")


async def test_changes_of_a_user_are_reported(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    users = env.users()
    tenant = env.use_cases.tenant
    await users.create(tenant, ANNA, display_name="Anna")
    await users.update(tenant, ANNA, ProfileChange(display_name="Anna B."))
    await users.suspend(tenant, ANNA, is_on=True)
    await users.suspend(tenant, ANNA, is_on=False)
    await users.admitted(tenant, BEN)
    await users.admitted(tenant, BEN)
    found = await env.received()
    assert sorted(about(found), key=str) == [
        ("user.created", {"user": "anna"}),
        ("user.created", {"user": "ben"}),
        ("user.suspended", {"user": "anna"}),
        ("user.unsuspended", {"user": "anna"}),
        ("user.updated", {"user": "anna"}),
    ]
    assert len({event["id"] for event in found}) == 5


async def test_a_report_is_an_event_also_after_its_process_died(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    await env.users().create(use_cases.tenant, ANNA)
    await env.received()
    store = DynamoReviewStore(use_cases.client, use_cases.user_keys)
    history, users = use_cases.history, env.users()
    reports = build_reports(store, use_cases.clock, history, users, report_events(env.events))
    request = ReportRequest(BEN, ReportReason.SPAM, "a secret text")
    env.broken.is_broken = True
    assert await code_of(reports.report_user(use_cases.tenant, ANNA, request)) is Code.OVERLOADED
    env.broken.is_broken = False
    await reports.report_user(use_cases.tenant, ANNA, request)
    expected = {"review": "u.anna", "user": "anna", "reason": "spam"}
    assert about(await env.received()) == [("report.created", expected)]


async def test_a_request_is_not_answered_before_its_event_is_stored(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    users = env.users()
    await users.create(env.use_cases.tenant, ANNA)
    await env.received()
    env.broken.is_broken = True
    suspending = users.suspend(env.use_cases.tenant, ANNA, is_on=True)
    assert await code_of(suspending) is Code.OVERLOADED
    env.broken.is_broken = False
    await users.suspend(env.use_cases.tenant, ANNA, is_on=True)
    assert about(await env.received()) == [("user.suspended", {"user": "anna"})]


async def test_after_a_write_that_fails_unexpectedly_the_next_event_is_stored(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    env.broken.is_broken, env.broken.error = True, ServiceError(code="AccessDeniedException")
    reports = [env.events.reported(use_cases.tenant, f"u.{user}", {}, BEN) for user in ("anna", "cleo")]
    failed = await asyncio.wait_for(asyncio.gather(*reports, return_exceptions=True), 5)
    assert [type(error) for error in failed] == [ServiceError, ServiceError]
    env.broken.is_broken = False
    await asyncio.wait_for(env.events.reported(use_cases.tenant, "u.anna", {}, BEN), 5)
    assert about(await env.received()) == [("report.created", {"review": "u.anna"})]


async def test_a_lower_read_of_another_process_does_not_replace_a_higher_one_that_waits(
    use_cases: UseCaseEnv,
) -> None:
    env = await opened(use_cases)
    other = ProducerEnv(use_cases)
    chat = await use_cases.group(BEN)
    for events, sequence in ((env.events, 4), (other.events, 2), (env.events, 3)):
        await events.chat_read(chat, BEN, sequence)
    assert [event["data"]["read"] for event in await env.received(EventType.MESSAGE_READ)] == [4]
    await asyncio.gather(*(env.events.chat_read(chat, BEN, sequence) for sequence in (6, 5)))
    assert [event["data"]["read"] for event in await env.received(EventType.MESSAGE_READ)] == [6]


async def test_frequent_events_are_sent_only_to_endpoints_that_name_them(use_cases: UseCaseEnv) -> None:
    env = ProducerEnv(use_cases)
    plain = await env.endpoint()
    chat = await use_cases.group(BEN)
    await env.events.chat_read(chat, BEN, 1)
    await env.events.presence_changed(use_cases.tenant, BEN, "online", 0.0)
    assert await env.queue.items(plain.name, 10) == []
    await env.endpoint("https://app.example/b", events=tuple(FREQUENT_TYPES))
    await env.events.chat_read(chat, BEN, 1)
    assert about(await env.received()) == [("message.read", {"chat": chat.chat, "user": "ben", "read": 1})]


async def test_the_newest_read_of_a_chat_is_reported_before_the_request_is_answered(
    use_cases: UseCaseEnv,
) -> None:
    env = await opened(use_cases)
    lists = build_chat_lists(use_cases.client, use_cases.keys, use_cases.clock, on_read=env.events.chat_read)
    chat = await use_cases.group(BEN)
    for _ in range(3):
        await use_cases.send(chat, ANNA)
    env.broken.is_broken = True
    assert await code_of(lists.marking.read(chat, BEN, 2)) is Code.OVERLOADED
    env.broken.is_broken = False
    for sequence in (2, 4, 3):
        await lists.marking.read(chat, BEN, sequence)
    first = await env.received(EventType.MESSAGE_READ)
    assert about(first) == [("message.read", {"chat": chat.chat, "user": "ben", "read": 4})]
    await lists.marking.read(chat, BEN, 4)
    assert [event["id"] for event in await env.received(EventType.MESSAGE_READ)] == [first[0]["id"]]


async def test_a_read_that_arrives_while_an_earlier_one_is_sent_is_not_lost(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    chat = await env.use_cases.group(BEN)
    await env.events.chat_read(chat, BEN, 1)
    gate = asyncio.Event()
    env.transport.gate = lambda _: gate
    sweeping = asyncio.create_task(env.sweep())
    await until(lambda: env.transport.in_flight == 1)
    await env.events.chat_read(chat, BEN, 2)
    gate.set()
    await sweeping
    assert [data["read"] for _, data in about(await env.received())] == [1, 2]


def push_result(device: str | None, outcome: PushOutcome, tenant: TenantId, reason: str = "") -> PushResult:
    return PushResult(
        tenant=tenant,
        chat=ChatId("c1"),
        sequence=7,
        user=ANNA,
        device=None if device is None else DeviceId(device),
        outcome=outcome,
        decided_ms=1,
        reason=reason,
        provider=None if device is None else PushKind.FCM,
    )


async def test_push_results_are_reported_with_the_same_id_if_they_are_repeated(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    tenant = env.use_cases.tenant
    results = [
        push_result("phone", PushOutcome.SENT, tenant),
        push_result("tablet", PushOutcome.RETRYING, tenant),
    ]
    await env.events.push_finished(results)
    [first] = await env.received()
    await env.events.push_finished(results)
    [second] = await env.received()
    assert first["id"] == second["id"]
    assert first["data"] == {
        "chat": "c1",
        "sequence": 7,
        "user": "anna",
        "results": [{"outcome": "sent", "device": "phone", "provider": "fcm"}],
    }
    await env.events.push_finished([push_result("tablet", PushOutcome.RETRYING, tenant)])
    skipped = push_result(None, PushOutcome.SKIPPED, tenant, "read: 2 s before")
    await env.events.push_finished([skipped])
    [event] = await env.received()
    assert event["id"] != first["id"]
    assert event["data"]["results"] == [{"outcome": "skipped", "reason": "read: 2 s before"}]


class ScriptedPresence:
    status = PresenceStatus.ONLINE

    async def read(self, _: TenantId, users: Sequence[UserId]) -> dict[UserId, PresenceRecord]:
        return {user: PresenceRecord(Presence(self.status)) for user in users}

    async def set_away(self, *_: Any, **__: Any) -> bool:
        return False


async def test_a_user_who_reconnects_in_the_grace_period_is_not_reported_as_offline(
    use_cases: UseCaseEnv,
) -> None:
    env = await opened(use_cases)
    presence, tenant = ScriptedPresence(), env.use_cases.tenant
    events = PresenceEvents(presence, env.events, grace_s=60.0)
    await events.report(tenant, ANNA)
    assert about(await env.received()) == [("presence.changed", {"user": "anna", "status": "online"})]
    presence.status = PresenceStatus.OFFLINE
    await events.report(tenant, ANNA)
    assert await env.received() == [], "they may reconnect"
    presence.status = PresenceStatus.ONLINE
    await events.report(tenant, ANNA)
    [event] = await env.received()
    assert event["data"]["status"] == "online"
    assert await env.received() == []


async def test_many_events_at_a_time_share_the_writes_of_the_backlog(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    ledger, chat = env.use_cases.client.ledger, await env.use_cases.group(BEN)
    users = [UserId(f"user{number}") for number in range(100)]
    await asyncio.gather(*(env.events.chat_read(chat, user, 1) for user in users))
    assert ledger["webhooks.note_backlog"].calls <= 2
    [endpoint] = await env.service.list(env.use_cases.tenant)
    waiting = await env.queue.items(endpoint.name, 200)
    assert {(item.kind, item.event_type) for item in waiting} == {(QueueKind.EVENT, EventType.MESSAGE_READ)}
    assert len(waiting) == 100


async def test_a_failed_event_is_repeated_and_other_events_do_not_wait_for_it(use_cases: UseCaseEnv) -> None:
    env = await opened(use_cases)
    tenant = env.use_cases.tenant
    users = env.users()
    await users.create(tenant, ANNA)
    await users.create(tenant, BEN)
    env.transport.answer = lambda each: failing() if each.body["data"]["user"] == "anna" else OK
    assert [data["user"] for _, data in about(await env.received())] == ["ben"]
    env.transport.answer = lambda _: OK
    [endpoint] = await env.service.list(tenant)
    await env.make_due(endpoint.name)
    assert [data["user"] for _, data in about(await env.received())] == ["anna"]


async def test_a_tenant_without_endpoints_pays_one_cached_look_up(use_cases: UseCaseEnv) -> None:
    env = ProducerEnv(use_cases)
    events = EventProducer(EndpointDirectory(env.store, env.clock), env.queue, env.clock)
    chat = await use_cases.group(BEN)
    before = sum(row.calls for row in use_cases.client.ledger.rows())
    for sequence in range(1, 6):
        await events.chat_read(chat, BEN, sequence)
    assert sum(row.calls for row in use_cases.client.ledger.rows()) - before == 1

"""Decisions, attempts and results of the dispatcher, with stores on both engines and a scripted provider."""

import pytest
from fixtures.dispatcher_env import ACCEPTED, BUSY, DispatcherEnv
from fixtures.use_cases import BEN, UseCaseEnv, code_of

from tidings.accounts.model import Device, Session, SessionId
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, DeviceId, new_ulid
from tidings.push.model import (
    ApnsTarget,
    PushAction,
    PushOutcome,
    PushRegistration,
)
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.registrations import PushRegistrations

DAY_MS = 86_400_000


async def test_a_result_is_stored_only_after_it_was_reported(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat, env.report_fails = await env.prepare(2), True
    assert await code_of(env.dispatcher.handle([env.task(chat, 2), env.task(chat, 3)])) is Code.OVERLOADED
    for sequence in (2, 3):
        assert await env.results.of_message(ChatKey(use_cases.tenant, chat), sequence) == []
    env.reported, env.report_fails = [], False
    await env.dispatcher.handle([env.task(chat, 2), env.task(chat, 3)])
    outcomes = sorted((each.sequence, each.outcome.value) for some in env.reported for each in some)
    assert outcomes == [(2, "skipped"), (3, "sent")]
    await env.dispatcher.handle([env.task(chat, 3)])
    assert len(env.reported) == 2, "a stored result is not reported again"


async def test_of_a_burst_one_notification_is_sent_with_the_exact_badge(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat = await env.prepare(4)
    await env.dispatcher.handle([env.task(chat, sequence) for sequence in (2, 4, 3, 5)])
    (note,) = env.provider.sent
    assert (note.about["sequence"], note.action, note.badge, note.collapse_id) == (
        "5",
        PushAction.ALERT,
        4,
        chat,
    )
    assert (await env.result(chat, 5)).outcome is PushOutcome.SENT
    assert (await env.result(chat, 3)).reason.startswith("newer_message: ")


async def test_a_repeated_event_sends_nothing(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat = await env.prepare(1)
    for _ in range(3):
        await env.dispatcher.handle([env.task(chat, 2)])
    assert len(env.provider.sent) == 1
    assert env.stats.repeated == 2


async def test_a_repeated_event_does_not_make_a_newer_message_an_alert(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat = await env.prepare(2)
    await env.dispatcher.handle([env.task(chat, 2)])
    await env.dispatcher.handle([env.task(chat, 2), env.task(chat, 3)])
    sent = [(note.about["sequence"], note.action) for note in env.provider.sent]
    assert sent == [("2", PushAction.ALERT), ("3", PushAction.UPDATE)]


async def test_an_alert_that_is_sent_again_begins_a_collapse_window(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat, env.report_fails = await env.prepare(2), True  # The worker ends before it stores the result.
    assert await code_of(env.dispatcher.handle([env.task(chat, 2)])) is Code.OVERLOADED
    use_cases.clock.ahead_ms, env.report_fails = 9_000, False
    await env.dispatcher.handle([env.task(chat, 2)])
    use_cases.clock.ahead_ms = 12_000
    await env.dispatcher.handle([env.task(chat, 3)])
    sent = [(note.about["sequence"], note.action) for note in env.provider.sent]
    assert sent == [("2", PushAction.ALERT), ("2", PushAction.ALERT), ("3", PushAction.UPDATE)]


async def test_only_the_device_that_failed_is_tried_again(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat = await env.prepare(1, "laptop", "phone")
    env.provider.answers = [ACCEPTED, BUSY]
    await env.dispatcher.handle([env.task(chat, 2)])
    (retry,) = env.tasks.retries
    failed = env.provider.sent[1].device
    assert (retry.devices, retry.tries) == ((failed,), 1)
    assert retry.due_ms > retry.at_ms
    await env.dispatcher.handle([retry])
    assert [note.device for note in env.provider.sent[2:]] == [failed]
    assert env.provider.sent[2].action is PushAction.ALERT
    assert env.provider.sent[2].id == env.provider.sent[1].id


async def test_a_refused_notification_is_a_dead_letter(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat = await env.prepare(1)
    env.provider.answers = [SendResult(verdict=SendVerdict.REJECTED, status=413, answer="PayloadTooLarge")]
    await env.dispatcher.handle([env.task(chat, 2)])
    assert env.tasks.dead == ["apns: 413 PayloadTooLarge. The provider refused the notification."]
    assert (await env.result(chat, 2)).outcome is PushOutcome.FAILED
    await env.dispatcher.handle([env.task(chat, 2)])  # the replay
    replayed = await env.result(chat, 2)
    assert (replayed.outcome, [each.status for each in replayed.attempts]) == (PushOutcome.SENT, [413, 200])


async def test_a_notification_that_several_devices_refuse_is_one_dead_letter(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat = await env.prepare(1, "laptop", "phone", "watch")
    refused = SendResult(verdict=SendVerdict.REJECTED, status=413, answer="PayloadTooLarge")
    env.provider.answers = [refused, ACCEPTED, refused]
    await env.dispatcher.handle([env.task(chat, 2)])
    (reason,) = env.tasks.dead
    assert reason.count("413 PayloadTooLarge") == 2
    await env.dispatcher.handle([env.task(chat, 2)])
    assert [note.device for note in env.provider.sent] == ["laptop", "phone", "watch", "laptop", "watch"]


async def test_a_token_that_was_registered_after_it_became_invalid_is_kept(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat = await env.prepare(2)
    gone = SendResult(verdict=SendVerdict.GONE, status=410, gone_ms=1)
    env.provider.answers = [gone]
    await env.dispatcher.handle([env.task(chat, 2)])
    assert len(await env.store.list(use_cases.tenant, BEN)) == 1
    env.provider.answers = [SendResult(verdict=SendVerdict.GONE, status=410)]
    await env.dispatcher.handle([env.task(chat, 3)])
    assert list(await env.store.list(use_cases.tenant, BEN)) == []


async def test_a_provider_that_fails_is_left_alone_for_a_while(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat = await env.prepare(8)
    env.provider.answers = [BUSY] * 8
    for sequence in range(2, 10):
        await env.dispatcher.handle([env.task(chat, sequence)])
    assert len(env.provider.sent) == 5
    assert env.dispatcher.outages.failing == 1
    assert len(env.tasks.retries) == 8
    assert "not tried" in (await env.result(chat, 9)).attempts[-1].answer


async def test_a_user_without_a_device_has_the_reason(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat = await env.prepare(1)
    await PushRegistrations(env.store, use_cases.clock).remove_all(use_cases.tenant, BEN)
    await env.dispatcher.handle([env.task(chat, 2)])
    assert (await env.result(chat, 2)).reason == "no_device: No device is registered."


@pytest.mark.parametrize(
    ("expires_in_days", "devices"),
    [(60, ["phone", "tablet"]), (2, ["phone"]), (None, ["phone"])],
    ids=["refreshed", "expired", "deleted"],
)
async def test_a_registration_ends_when_its_session_expires(
    use_cases: UseCaseEnv, expires_in_days: int | None, devices: list[str]
) -> None:
    env = DispatcherEnv(use_cases)
    chat, now_ms = await env.prepare(1), use_cases.clock.now_ms()
    session = Session(
        tenant=use_cases.tenant,
        session=SessionId(new_ulid()),
        user=BEN,
        device=Device(id=DeviceId("tablet")),
        token_hash=b"x" * 32,
        epoch=0,
        created_at_ms=now_ms,
        refreshed_at_ms=now_ms,
        expires_at_ms=now_ms + (expires_in_days or 0) * DAY_MS,
    )
    if expires_in_days is not None:
        await env.sessions.create(session)
    target = ApnsTarget(token="f" * 64, topic="com.example.chat")
    await PushRegistrations(env.store, use_cases.clock).register(
        PushRegistration(
            tenant=use_cases.tenant,
            user=BEN,
            device=session.device.id,
            target=target,
            session=session.session,
            registered_ms=0,
        )
    )
    use_cases.clock.ahead_ms = DAY_MS // 2
    assert len((await env.read_state(chat)).registrations) == 2, "a new registration is not checked"
    use_cases.clock.ahead_ms = 3 * DAY_MS
    await env.dispatcher.handle([env.task(chat, 2)])
    assert [note.device for note in env.provider.sent] == devices
    assert [each.device for each in await env.store.list(use_cases.tenant, BEN)] == devices

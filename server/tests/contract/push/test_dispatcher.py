"""Decisions, attempts and results of the dispatcher, with stores on both engines and a scripted provider."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from fixtures.apns_server import ApnsServer
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, UseCaseEnv, code_of

from tidings.accounts.model import Device, Session, SessionId
from tidings.accounts.store.sessions import DynamoSessionStore
from tidings.accounts.store.users import DynamoUserStore
from tidings.app.wiring.chats import build_chat_row_reader
from tidings.delivery.model import OfflineMessage
from tidings.kernel.clock import format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS
from tidings.kernel.ids import ChatId, ChatKey, DeviceId, message_id, new_ulid
from tidings.messages.model import EntryKind
from tidings.push.dispatcher import PushDispatcher
from tidings.push.model import (
    ApnsTarget,
    PushAction,
    PushKind,
    PushOutcome,
    PushRead,
    PushRegistration,
    PushResult,
    PushTask,
)
from tidings.push.notification import Notification
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.provider_config import StoredProvider
from tidings.push.providers_cache import PushProviders, PushProviderService
from tidings.push.registrations import PushRegistrations
from tidings.push.sending import DispatcherDeps, PushStats
from tidings.push.state import PushStateReader, RecipientState
from tidings.push.store.alerts import DynamoAlertStore
from tidings.push.store.providers import DynamoProviderStore
from tidings.push.store.registrations import DynamoRegistrationStore
from tidings.push.store.results import DynamoResultStore
from tidings.push.withdrawals import PushWithdrawals

DAY_MS = 86_400_000
ACCEPTED = SendResult(verdict=SendVerdict.ACCEPTED, status=200)
BUSY = SendResult(verdict=SendVerdict.RETRY, status=503, answer="busy", is_outage=True)


@dataclass
class ScriptedProvider:
    answers: list[SendResult] = field(default_factory=list)
    sent: list[Notification] = field(default_factory=list)

    async def send(self, _: PushRegistration, note: Notification, __: StoredProvider, /) -> SendResult:
        self.sent.append(note)
        return self.answers.pop(0) if self.answers else ACCEPTED


@dataclass
class CollectedTasks:
    retries: list[PushTask] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)

    async def retry(self, task: PushTask, /) -> None:
        self.retries.append(task)

    async def dead_letter(self, _: PushTask, reason: str, /) -> None:
        self.dead.append(reason)


class DispatcherEnv:
    """BEN is offline, with a phone. ANNA has sent messages to BEN, from sequence 2 on."""

    def __init__(self, use_cases: UseCaseEnv) -> None:
        client, ring, clock = use_cases.client, use_cases.ring, use_cases.clock
        self.use_cases, self.rest, self.stats = use_cases, RestApp(use_cases), PushStats()
        self.provider, self.tasks = ScriptedProvider(), CollectedTasks()
        self.reported, self.report_fails = list[Sequence[PushResult]](), False
        self.store = DynamoRegistrationStore(client, ring)
        self.results = DynamoResultStore(client)
        alerts, users = DynamoAlertStore(client), DynamoUserStore(client, ring, use_cases.user_keys)
        self.sessions = DynamoSessionStore(client, use_cases.authentic)
        self.state = PushStateReader(
            rows=build_chat_row_reader(client),
            log=use_cases.reader,
            users=users,
            registrations=self.store,
            alerts=alerts,
            sessions=self.sessions,
            clock=clock,
        )
        deps = DispatcherDeps(
            state=self.state,
            registrations=self.store,
            alerts=alerts,
            results=self.results,
            providers=PushProviders(DynamoProviderStore(client, ring), clock),
            senders={PushKind.APNS: self.provider},
            users=users,
            tenants=self.rest.accounts.tenants,
            tasks=self.tasks,
            badge=self.rest.app.state.edge.services.push.badge.total,
            clock=clock,
            failpoints=NO_FAILPOINTS,
            on_finished=self.report,
        )
        self.dispatcher = PushDispatcher(deps, self.stats)
        self.withdrawals = PushWithdrawals(deps, self.stats)

    async def report(self, results: Sequence[PushResult]) -> None:
        self.reported.append(results)
        if self.report_fails:
            raise TidingsError(Code.OVERLOADED, "The report cannot be stored.")

    async def prepare(self, messages: int, *devices: str) -> ChatId:
        use_cases = self.use_cases
        providers = DynamoProviderStore(use_cases.client, use_cases.ring)
        await PushProviderService(providers, use_cases.clock).set(use_cases.tenant, ApnsServer().config())
        anna = self.rest.user(ANNA)
        chat = ChatId((await anna.ok("POST", "/v1/chats", {"type": "direct", "user": BEN}))["id"])
        for number in range(messages):
            body = {"text": "hi", "client_message_id": f"m{number}"}
            await anna.ok("POST", f"/v1/chats/{chat}/messages", body)
        await self.rest.settle()
        for number, device in enumerate(devices or ("phone",)):
            target = ApnsTarget(token=f"{number:064x}", topic="com.example.chat")
            given = PushRegistration(
                tenant=use_cases.tenant, user=BEN, device=DeviceId(device), target=target, registered_ms=0
            )
            await PushRegistrations(self.store, use_cases.clock).register(given)
        return chat

    def task(self, chat: ChatId, sequence: int) -> PushTask:
        event = OfflineMessage(
            tenant=self.use_cases.tenant,
            recipient=BEN,
            chat=chat,
            message_id=message_id(chat, sequence),
            sequence=sequence,
            sender=ANNA,
            kind=EntryKind.MESSAGE,
            at=format_ms(self.use_cases.clock.now_ms()),
            badge=0,
            collapse_key=chat,
        )
        return PushTask(event=event)

    async def read_state(self, chat: ChatId) -> RecipientState:
        return await self.state.read(ChatKey(self.use_cases.tenant, chat), BEN, [self.task(chat, 2).event])

    async def result(self, chat: ChatId, sequence: int) -> PushResult:
        (found,) = await self.results.of_message(ChatKey(self.use_cases.tenant, chat), sequence)
        return found


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
    assert (note.sequence, note.action, note.badge, note.collapse_id) == (5, PushAction.ALERT, 4, chat)
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
    sent = [(note.sequence, note.action) for note in env.provider.sent]
    assert sent == [(2, PushAction.ALERT), (3, PushAction.UPDATE)]


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


async def test_a_read_withdraws_the_notification_once(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat = await env.prepare(2)
    await env.dispatcher.handle([env.task(chat, 3)])
    reads = [
        PushRead(tenant=use_cases.tenant, user=BEN, chat=chat, sequence=sequence) for sequence in (2, 3, 3)
    ]
    await env.withdrawals.handle(reads[:1])
    assert len(env.provider.sent) == 1
    await env.rest.user(BEN).ok("PUT", f"/v1/chats/{chat}/read", {"sequence": 3})
    for _ in range(2):
        await env.withdrawals.handle(reads)
    assert [note.action for note in env.provider.sent] == [PushAction.ALERT, PushAction.WITHDRAW]
    assert (env.provider.sent[1].badge, env.provider.sent[1].collapse_id) == (0, chat)


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

"""Withdrawals of notifications: after a read, while a notification is sent, and after a worker was killed."""

from fixtures.dispatcher_env import DispatcherEnv
from fixtures.use_cases import BEN, UseCaseEnv, code_of

from tidings.kernel.errors import Code
from tidings.push.model import PushAction, PushRead


async def test_a_read_while_a_notification_is_sent_withdraws_it(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat = await env.prepare(2)

    async def read_meanwhile() -> None:
        await env.rest.user(BEN).ok("PUT", f"/v1/chats/{chat}/read", {"sequence": 3})
        # The worker of the read finds no shown alert.
        read = PushRead(tenant=use_cases.tenant, user=BEN, chat=chat, sequence=3)
        await env.withdrawals.handle([read])

    env.provider.meanwhile = read_meanwhile
    await env.dispatcher.handle([env.task(chat, 2), env.task(chat, 3)])
    sent = [(note.about["sequence"], note.action, note.badge) for note in env.provider.sent]
    assert sent == [("3", PushAction.ALERT, 2), ("3", PushAction.WITHDRAW, 0)]


async def test_a_repeated_event_withdraws_what_a_killed_worker_has_shown(use_cases: UseCaseEnv) -> None:
    env = DispatcherEnv(use_cases)
    chat, env.report_fails = await env.prepare(1), True  # The worker ends after it stored the alert.
    assert await code_of(env.dispatcher.handle([env.task(chat, 2)])) is Code.OVERLOADED
    await env.rest.user(BEN).ok("PUT", f"/v1/chats/{chat}/read", {"sequence": 2})
    env.report_fails = False
    for _ in range(2):
        await env.dispatcher.handle([env.task(chat, 2)])
    assert [note.action for note in env.provider.sent] == [PushAction.ALERT, PushAction.WITHDRAW]


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

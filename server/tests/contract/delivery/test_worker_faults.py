"""The worker with repeated, late, reordered and missing events, and without Redis."""

import asyncio

import pytest
from fixtures.delivery_env import DeliveryEnv, FakeGateway
from fixtures.use_cases import ANNA, BEN, CLEO, asked, by

from tidings.chats.model import ChatType, chat_type
from tidings.connections.model import GatewayId
from tidings.delivery.model import ChatRow
from tidings.delivery.worker import ChatEntries
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.sender import Content

GROUP_STEPS = ["gap_filled", "rows_written", "looked_up", "pushed", "marked"]
DIRECT_STEPS = [*GROUP_STEPS, "pending_put", "looked_up_again", "rung"]


async def create_history(env: DeliveryEnv) -> ChatKey:
    """BEN is connected, CLEO is not."""
    use_cases = env.use_cases
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.send(chat, ANNA, "two")
    sent = await use_cases.send(chat, BEN, "three")
    await use_cases.change.edit(asked(chat, BEN, sent.sequence), Content(text="three, edited"))
    await use_cases.change.redact(asked(chat, BEN, sent.sequence))
    await use_cases.send(chat, ANNA, "six")
    await use_cases.manage.remove(chat, by(ANNA), CLEO)
    await use_cases.send(chat, ANNA, "eight")
    return chat


async def create_direct_history(env: DeliveryEnv) -> ChatKey:
    """Both users are without a device."""
    use_cases = env.use_cases
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, CLEO)
    first = await use_cases.send(chat, ANNA, "two")
    redacted = await use_cases.send(chat, ANNA, "three")
    await use_cases.change.edit(asked(chat, ANNA, first.sequence), Content(text="two, edited"))
    await use_cases.change.redact(asked(chat, ANNA, redacted.sequence))
    await use_cases.send(chat, ANNA, "six")
    await use_cases.send(chat, CLEO, "seven")
    return chat


async def rows(env: DeliveryEnv, chat: ChatKey) -> list[ChatRow]:
    """Return the rows of the users, with the head of their group."""
    users = (ANNA, BEN, CLEO) if chat_type(chat.chat) is ChatType.GROUP else (ANNA, CLEO)
    return [await env.lists.shown(chat, user) for user in users]


async def shape(env: DeliveryEnv, chat: ChatKey) -> list[object]:
    """Return rows without encrypted parts and times, and the queues."""
    found: list[object] = []
    for row in await rows(env, chat):
        known = row.known
        shown = known.shown and known.shown.rank
        marks = (known.head, known.own, known.joined and known.joined[:2], known.removed)
        found.append((marks, shown, known.is_large))
    queues = [(user, await env.queue(user)) for user in (ANNA, CLEO)]
    return [
        *found,
        *((user, item.entry.sequence) for user, items in queues for item in items if item.chat == chat),
    ]


def offline(env: DeliveryEnv, chat: ChatKey, user: UserId) -> list[int]:
    """Return the messages of the chat for which an offline event of the user was published."""
    return [sequence for key, to, some in env.away.of if (key, to) == (chat, user) for sequence in some]


async def cut_off_at(env: DeliveryEnv, step: str, commits: list[ChatEntries]) -> None:
    """A worker is paused at a step and killed there."""
    reached = asyncio.Event()

    async def pause() -> None:
        reached.set()
        await asyncio.Event().wait()

    env.hooks.at_step = {f"worker.{step}": pause}
    task = asyncio.create_task(env.new_worker().handle(commits))
    await asyncio.wait_for(reached.wait(), 60)
    task.cancel()
    await asyncio.wait([task])
    env.hooks.at_step = {}


async def with_ben(env: DeliveryEnv, name: str = "gateway-1") -> FakeGateway:
    here = await env.gateway(name)
    await env.comes_in(BEN, here.id)
    return here


@pytest.mark.parametrize("step", GROUP_STEPS)
async def test_a_worker_killed_between_any_two_steps_is_completed_by_another(
    delivery_env: DeliveryEnv, step: str
) -> None:
    here = await with_ben(delivery_env)
    once = await create_history(delivery_env)
    await delivery_env.deliver()
    expected = await shape(delivery_env, once)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    await cut_off_at(delivery_env, step, commits)
    await delivery_env.new_worker().handle(commits)
    assert await shape(delivery_env, chat) == expected
    got = here.got(chat, "ben-phone")
    assert got[-8:] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert got in ([*range(1, 9)], [*range(1, 9)] * 2)
    assert await delivery_env.mark(chat) == 8
    assert (chat, CLEO, [2, 6]) in delivery_env.away.of
    assert await delivery_env.queue(CLEO) == []


@pytest.mark.parametrize("step", DIRECT_STEPS)
async def test_a_worker_of_a_direct_chat_killed_between_any_two_steps_is_completed_by_another(
    delivery_env: DeliveryEnv, step: str
) -> None:
    chat = await create_direct_history(delivery_env)
    commits = delivery_env.committed()
    await cut_off_at(delivery_env, step, commits)
    await delivery_env.new_worker().handle(commits)
    completed = await shape(delivery_env, chat)
    assert completed[2:] == [(ANNA, 7), (CLEO, 2), (CLEO, 6)]
    await forget_mark(delivery_env, chat)
    await delivery_env.new_worker().handle(commits)
    assert await shape(delivery_env, chat) == completed
    assert await delivery_env.mark(chat) == 7
    assert set(offline(delivery_env, chat, CLEO)) >= {2, 6}


async def test_a_repeated_event_costs_nothing_and_restores_a_lost_checkpoint(
    delivery_env: DeliveryEnv,
) -> None:
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    await delivery_env.worker.handle(commits)
    calls, payload_count = dict(_calls(delivery_env)), len(here.payloads)
    await forget_mark(delivery_env, chat)
    await delivery_env.worker.handle(commits[2:4])
    assert await delivery_env.mark(chat) == 8
    await delivery_env.new_worker().handle(commits)
    assert dict(_calls(delivery_env)) == calls
    assert len(here.payloads) == payload_count


def _calls(env: DeliveryEnv) -> list[tuple[str, float]]:
    return [(each.pattern, each.value) for each in env.use_cases.client.ledger if each.name == "calls"]


async def test_earlier_unprocessed_entries_are_read_from_the_log_and_processed_first(
    delivery_env: DeliveryEnv,
) -> None:
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    await delivery_env.worker.handle(commits[:1])
    await delivery_env.worker.handle([commits[7], commits[3]])
    assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert await delivery_env.mark(chat) == 8
    assert offline(delivery_env, chat, CLEO) == [2, 6]
    assert await delivery_env.lists.unread(chat, BEN) == 2


async def test_a_new_worker_finds_unprocessed_entries_by_rows_and_checkpoints(
    delivery_env: DeliveryEnv,
) -> None:
    """A new worker gets only the second half: once with a checkpoint of the first half, once with Redis emptied."""
    here = await with_ben(delivery_env)
    for is_emptied in (False, True):
        chat = await create_history(delivery_env)
        commits = delivery_env.committed()
        if not is_emptied:
            await delivery_env.worker.handle(commits[:2])
        await delivery_env.new_worker().handle(commits[5:])
        assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
        assert await delivery_env.mark(chat) == 8
        assert await delivery_env.lists.unread(chat, BEN) == 2


async def test_entries_above_an_old_checkpoint_are_processed_again(
    delivery_env: DeliveryEnv,
) -> None:
    """The rows are complete, the checkpoint is not: a worker wrote rows and died before it pushed."""
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    await delivery_env.worker.handle(commits[:1])
    second = delivery_env.new_worker()
    await second.handle(commits[:1])
    await cut_off_at(delivery_env, "rows_written", commits[1:5])
    await second.handle(commits[5:])
    assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert await delivery_env.mark(chat) == 8


async def test_without_redis_rows_are_written_and_pushes_follow_with_the_next_entry(
    delivery_env: DeliveryEnv,
) -> None:
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    await delivery_env.worker.handle(commits[:2])
    delivery_env.is_cut = True
    await delivery_env.worker.handle(commits[2:4])
    await delivery_env.worker.handle(commits[4:7])
    assert [row.known.head and row.known.head.sequence for row in await rows(delivery_env, chat)] == [7, 7, 7]
    assert offline(delivery_env, chat, CLEO) == [2]
    assert delivery_env.counts.deferred == 5
    delivery_env.is_cut = False
    assert (await delivery_env.mark(chat), here.got(chat, "ben-phone")) == (2, [1, 2])
    await delivery_env.worker.handle(commits[7:])
    # Deferred entries first: a member removed by one of them may still be subscribed.
    assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert await delivery_env.mark(chat) == 8
    assert offline(delivery_env, chat, CLEO) == [2, 6]


async def test_a_worker_with_progress_in_memory_loses_nothing_when_redis_is_emptied(
    delivery_env: DeliveryEnv,
) -> None:
    """Redis was unavailable, then lost its data: a checkpoint for the next entry would cover unprocessed ones."""
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    await delivery_env.worker.handle(commits[:2])
    delivery_env.is_cut = True
    await delivery_env.worker.handle(commits[2:7])
    delivery_env.is_cut = False
    await forget_mark(delivery_env, chat)
    await delivery_env.worker.handle(commits[7:])
    assert sorted(set(here.got(chat, "ben-phone"))) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert offline(delivery_env, chat, CLEO) == [2, 6]


async def test_a_chat_deferred_from_its_first_entry_is_delivered_completely(
    delivery_env: DeliveryEnv,
) -> None:
    """No checkpoint and no cached progress. A member who was removed meanwhile would never receive the leave."""
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    delivery_env.is_cut = True
    await delivery_env.worker.handle(commits[:3])
    await delivery_env.worker.handle(commits[3:7])
    delivery_env.is_cut = False
    await delivery_env.worker.handle(commits[7:])
    assert sorted(set(here.got(chat, "ben-phone"))) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert offline(delivery_env, chat, CLEO) == [2, 6]
    assert await delivery_env.mark(chat) == 8


async def test_a_device_that_connects_before_entries_are_pushed_again_gets_the_leave_with_them(
    delivery_env: DeliveryEnv,
) -> None:
    """The device does not have the chat and starts with the first push; the leave was pushed before it connected."""
    here = await with_ben(delivery_env)
    use_cases = delivery_env.use_cases
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.manage.remove(chat, by(ANNA), CLEO)
    commits = delivery_env.committed()
    await delivery_env.worker.handle(commits[:1])
    await forget_mark(delivery_env, chat)
    await delivery_env.marks.advance(chat, 0, 0)

    async def come_in() -> None:
        delivery_env.hooks.at_step = {}
        await delivery_env.comes_in(CLEO, here.id)

    delivery_env.hooks.at_step = {"worker.pushed": come_in}
    await delivery_env.worker.handle(commits[1:])
    assert here.got(chat, "cleo-phone") == [1, 2]
    assert await delivery_env.mark(chat) == 2


async def test_a_checkpoint_that_moved_back_is_raised_again(delivery_env: DeliveryEnv) -> None:
    """As after a failover to a Redis replica without the latest writes."""
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    await delivery_env.worker.handle(commits[:7])
    await forget_mark(delivery_env, chat)
    await delivery_env.marks.advance(chat, 1, 3)
    await delivery_env.worker.handle(commits[7:])
    assert await delivery_env.mark(chat) == 8
    assert here.got(chat, "ben-phone")[-6:] == [8, 4, 5, 6, 7, 8]


async def forget_mark(env: DeliveryEnv, chat: ChatKey) -> None:
    await env.redis.write("DEL", env.redis.keys.key(chat.tenant, chat.chat, "handled"))


async def test_pushes_lost_with_redis_are_repeated_by_the_relay(delivery_env: DeliveryEnv) -> None:
    here = await with_ben(delivery_env)
    chat = await create_history(delivery_env)
    commits = delivery_env.committed()
    delivery_env.is_cut = True
    await delivery_env.worker.handle(commits)
    delivery_env.is_cut = False
    assert here.got(chat, "ben-phone") == []
    assert await delivery_env.mark(chat) == 0
    for each in commits:
        await delivery_env.worker.handle([each])
    assert here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert await delivery_env.mark(chat) == 8


def crowd(count: int, first: int = 0) -> list[UserId]:
    return [UserId(f"u{n}") for n in range(first, first + count)]


async def test_a_chat_that_becomes_large_notifies_all_members_and_then_uses_its_channel(
    delivery_env: DeliveryEnv,
) -> None:
    here = await with_ben(delivery_env)
    await delivery_env.comes_in(UserId("late"), here.id)
    use_cases, channel = delivery_env.use_cases, FakeGateway("channel")
    chat = await use_cases.group(BEN, *crowd(90))
    await delivery_env.deliver()
    listening = await delivery_env.line.subscribe_chat(chat, channel.hear)
    await use_cases.send(chat, ANNA, "two")
    await use_cases.manage.add(chat, by(ANNA), crowd(15, 90))
    await use_cases.send(chat, ANNA, "four", after=3)
    await use_cases.manage.add(chat, by(ANNA), [UserId("late")])
    await use_cases.send(chat, ANNA, "six", after=5)
    await use_cases.manage.remove(chat, by(ANNA), BEN)
    await use_cases.send(chat, ANNA, "eight", after=7)
    await delivery_env.deliver()
    assert here.got(chat, "ben-phone") == [1, 2, 3, 7]
    assert [push.is_large for push in here.pushes if push.key == chat] == [False, True, True]
    assert here.got(chat, "late-phone") == [5, 6, 7, 8]
    assert [e.sequence for push in channel.pushes for e in push.entries] == [4, 5, 6, 7, 8]
    assert all(push.parts == () and push.is_large for push in channel.pushes)
    assert {sequence for _, _, each in delivery_env.away.of for sequence in each} == {2}
    assert len(delivery_env.away.of) == 90, "message 2, for all who are not connected"
    assert delivery_env.counts.queued == 0
    assert await delivery_env.mark(chat) == 8
    listening.close()


async def test_gateways_without_routes_receive_nothing(delivery_env: DeliveryEnv) -> None:
    here, idle = await with_ben(delivery_env), await delivery_env.gateway("gateway-2")
    await create_history(delivery_env)
    await delivery_env.deliver()
    assert here.payloads
    assert idle.payloads == []
    assert idle.id != GatewayId("gateway-1")

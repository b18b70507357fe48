"""The worker over stores in memory: chats side by side, one in trouble, and steps in their order."""

import pytest
from unit.delivery.worker_env import ANNA, BEN, CLEO, DORA, HERE, WorkerEnv, chat, log_of

from tidings.delivery.fanout import MAX_PAYLOAD_BYTES
from tidings.delivery.model import LogPosition
from tidings.delivery.worker import group_by_chat
from tidings.kernel.errors import TidingsError


def test_events_are_processed_in_order_and_none_twice() -> None:
    entries = log_of(4)
    found = group_by_chat([(chat("g1"), entries[2:]), (chat("g2"), entries[:1]), (chat("g1"), entries[:3])])
    assert [entry.sequence for entry in found[chat("g1")]] == [1, 2, 3, 4]
    assert [entry.sequence for entry in found[chat("g2")]] == [1]


async def test_the_steps_of_a_direct_chat_run_in_order() -> None:
    env = WorkerEnv(ANNA)
    await env.worker.handle([(chat("d1"), env.entries[:2])])
    assert env.steps == ["row", "row", "look up", "push", "keep", "look up", "tell", "mark"]


async def test_the_steps_of_a_group_run_in_order() -> None:
    env = WorkerEnv(ANNA)
    await env.worker.handle([(chat("g1"), env.entries[:2])])
    assert env.steps == ["row", "row", "head", "look up", "push", "tell", "mark"]
    env.steps.clear()
    await env.worker.handle([(chat("g1"), env.entries[2:3])])
    assert env.steps == ["row", "head", "look up", "push", "tell", "mark"], "only the sender's row"


async def test_a_head_that_is_behind_is_not_raised_over_the_gap() -> None:
    env = WorkerEnv(ANNA, BEN)
    await env.worker.handle([(chat("g1"), env.entries[:1])])
    env.marks.of_chats.clear()
    env.steps.clear()
    worker = WorkerEnv(ANNA, BEN)
    worker.truths.of, worker.marks.of_chats = env.truths.of, {chat("g1"): 3}
    await worker.worker.handle([(chat("g1"), env.entries[3:])])
    assert [[entry.sequence for entry in push.entries] for push in worker.pushes] == [[2, 3], [4]]
    assert worker.truths.of[chat("g1")].head.head == LogPosition(4, 3)


async def test_a_failing_chat_is_reported_and_does_not_delay_others() -> None:
    env = WorkerEnv(ANNA, BEN)
    env.truths.broken.add(chat("g2"))
    entries = [(chat(name), env.entries) for name in ("g1", "g2", "g3")]
    with pytest.raises(TidingsError) as caught:
        await env.worker.handle(entries)
    assert caught.value.retryable
    assert {push.chat for push in env.pushes} == {"g1", "g3"}
    assert env.marks.of_chats == {chat("g1"): 4, chat("g3"): 4}
    env.truths.broken.clear()
    await env.worker.handle(entries)
    assert [push.chat for push in env.pushes] == ["g1", "g3", "g2"], "what got through is not done again"
    assert env.marks.of_chats[chat("g2")] == 4


async def test_entries_that_cannot_be_queued_are_not_in_the_checkpoint() -> None:
    env = WorkerEnv(ANNA)
    env.queue.is_broken = True
    with pytest.raises(TidingsError):
        await env.worker.handle([(chat("d1"), env.entries)])
    assert env.marks.of_chats == {}


async def test_a_payload_is_bounded_and_keeps_the_order_for_each_gateway() -> None:
    env = WorkerEnv(ANNA, BEN, entries=log_of(60, b"x" * 4096))
    chats = [chat(f"g{n}") for n in range(6)]
    await env.worker.handle((each, env.entries) for each in chats)
    assert len(env.redis.payloads) == 3
    assert all(len(payload) < 1.2 * MAX_PAYLOAD_BYTES for payload in env.redis.payloads)
    assert [push.chat for push in env.pushes] == [each.chat for each in chats]


async def test_a_silent_shard_of_a_user_defers_only_their_chat() -> None:
    env = WorkerEnv(ANNA, BEN)
    env.redis.unknown = {CLEO}
    env.members[chat("g2")] = (ANNA, BEN, CLEO)
    await env.worker.handle([(chat(name), env.entries) for name in ("g1", "g2", "g3")])
    assert env.marks.of_chats == {chat("g1"): 4, chat("g3"): 4}
    assert {push.chat for push in env.pushes} == {"g1", "g2", "g3"}, "the others of g2 are found, and get it"
    assert env.counts.deferred == 4
    env.redis.unknown, env.redis.online = set(), {ANNA, BEN, CLEO}
    env.redis.payloads.clear()
    await env.worker.handle([(chat("g2"), log_of(5)[4:])])
    (push,) = env.pushes
    assert [entry.sequence for entry in push.entries] == [1, 2, 3, 4, 5], "what was late goes first"
    spans = {(part.first, part.last): {target.user for target in part.devices} for part in push.parts}
    assert spans == {(1, 5): {CLEO}, (5, 5): {ANNA, BEN}}, "the others have the earlier entries"
    assert env.marks.of_chats[chat("g2")] == 5


async def test_an_unknown_checkpoint_defers_only_its_chat() -> None:
    env = WorkerEnv(ANNA, BEN)
    env.marks.unknown = {chat("g2")}
    await env.worker.handle([(chat(name), env.entries) for name in ("g1", "g2")])
    assert env.marks.of_chats == {chat("g1"): 4}
    assert {push.chat for push in env.pushes} == {"g1"}, "earlier entries of g2 may be unpushed"


async def test_a_silent_channel_of_a_gateway_defers_only_its_chats() -> None:
    env = WorkerEnv(ANNA, BEN)
    env.redis.silent = {HERE}
    env.members[chat("d2")] = (CLEO, DORA)
    await env.worker.handle([(chat("g1"), env.entries), (chat("d2"), env.entries)])
    assert env.marks.of_chats == {chat("d2"): 4}
    assert {user for user, _ in env.queue.kept} == {CLEO, DORA}


async def test_deferred_entries_are_not_processed_again_with_every_entry_of_a_long_outage() -> None:
    env = WorkerEnv(ANNA, BEN, entries=log_of(2_000))
    env.redis.unknown, env.redis.online = {BEN}, {ANNA}
    env.marks.of_chats[chat("g1")] = 0
    for n in range(1, 2_001):
        await env.worker.handle([(chat("g1"), env.entries[n - 1 : n])])
    pushed = sum(len(push.entries) for push in env.pushes)
    assert pushed < 3_000, "2,000 entries one by one, each with all before it, would be 2 million"
    env.redis.unknown = set()
    await env.worker.handle([(chat("g1"), env.entries)])
    assert env.marks.of_chats[chat("g1")] == 2_000


@pytest.mark.parametrize("what", ["row", "queue"])
async def test_a_throttled_user_does_not_stop_the_partition(what: str) -> None:
    env = WorkerEnv(ANNA, BEN)
    env.members[chat("d2")] = (ANNA, CLEO)
    if what == "row":
        env.truths.broken.add(chat("d2"))
    else:
        env.queue.throttled.add(CLEO)
    entries = [(chat("g1"), env.entries), (chat("d2"), env.entries)]
    for n in range(3):
        with pytest.raises(TidingsError):
            await env.worker.handle([*entries, (chat(f"other-{n}"), env.entries)])
    await env.worker.handle(entries)
    assert chat("d2") not in env.marks.of_chats, "it is not marked, so the relay brings it again"
    env.truths.broken.clear()
    env.queue.throttled.clear()
    await env.worker.handle([(chat("d2"), env.entries)])
    assert env.marks.of_chats[chat("d2")] == 4


async def test_the_partition_waits_while_nothing_can_be_delivered() -> None:
    env = WorkerEnv(ANNA, BEN)
    env.truths.broken |= {chat("g1"), chat("g2")}
    for _ in range(10):
        with pytest.raises(TidingsError):
            await env.worker.handle([(chat("g1"), env.entries), (chat("g2"), env.entries)])


async def test_members_who_were_reached_do_not_receive_deferred_entries_again() -> None:
    env = WorkerEnv(ANNA, BEN, entries=log_of(4))
    env.redis.unknown, env.redis.online = {CLEO}, {ANNA, BEN}
    env.members[chat("g2")] = (ANNA, BEN, CLEO)
    for n in range(4):
        await env.worker.handle([(chat("g2"), env.entries[n : n + 1])])
    assert [[entry.sequence for entry in push.entries] for push in env.pushes] == [[1], [2], [3], [4]]
    assert env.counts.offline == 0, "offline events wait until everybody is reached"


async def test_both_users_of_a_direct_chat_receive_deferred_entries_again() -> None:
    """A message that was queued before the device connected needs a push, because no signal was sent."""
    env = WorkerEnv(ANNA, BEN, entries=log_of(2))
    env.redis.unknown, env.redis.online = {BEN}, {ANNA}
    await env.worker.handle([(chat("d1"), env.entries[:1])])
    await env.worker.handle([(chat("d1"), env.entries[1:])])
    assert [[entry.sequence for entry in push.entries] for push in env.pushes] == [[1], [1, 2]]

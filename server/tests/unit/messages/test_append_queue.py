"""The append queue on a log in memory: appends, reads, and the result of each sender."""

import asyncio
from dataclasses import replace

from fixtures.append_queue import BEN, CHAT, AppendQueueEnv, entry, proposal, refusal, until

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.append_queue import MAX_BATCH
from tidings.messages.model import Appended, EntryKind
from tidings.messages.rules import MAX_KEY_LOOKBACK


async def test_a_warm_view_sends_with_one_append_and_no_read() -> None:
    env = AppendQueueEnv()
    await env.send("a")
    env.log.calls.clear()
    assert await env.send("b") == Appended(3, is_repeat=False)
    assert env.log.calls == ["append 1"]
    assert env.members.asked == 1


async def test_ordinals_count_messages_only() -> None:
    env = AppendQueueEnv()
    await env.send("a")
    await env.send("b")
    assert [e.ordinal for e in env.log.entries[CHAT]] == [0, 1, 2]


async def test_a_repeat_gets_the_first_answer_and_other_content_is_a_conflict() -> None:
    env = AppendQueueEnv()
    first = await env.send("a")
    assert await env.send("a") == Appended(first.sequence, is_repeat=True)
    assert await refusal(env.send("a", "other")) is Code.IDEMPOTENCY_CONFLICT
    assert len(env.texts()) == 1


async def test_a_repeat_through_a_cold_process_is_found_behind_its_view() -> None:
    env = AppendQueueEnv()
    first = await env.send("a")
    for n in range(5):
        await env.send(f"b{n}", sender=BEN)
    other = env.process()
    assert await env.send("a", after=1, via=other) == Appended(first.sequence, is_repeat=True)


async def test_a_process_with_an_old_view_loses_the_sequence_and_gets_the_next_one() -> None:
    env, other = AppendQueueEnv(), None
    other = env.process()
    await env.send("a", via=other)
    await env.send("b")
    await env.send("c")
    assert (await env.send("d", via=other)).sequence == 5
    assert env.texts() == [b"2:hi", b"3:hi", b"4:hi", b"5:hi"]


async def test_content_is_sealed_again_for_another_sequence() -> None:
    env = AppendQueueEnv()
    await env.send("a", "one", via=env.process())
    lagging = env.process()
    await env.send("x", "two", via=lagging)
    await env.send("b", "three")
    await env.send("y", "four", via=lagging)
    assert env.texts() == [b"2:one", b"3:two", b"4:three", b"5:four"]


async def test_waiting_sends_form_one_batch_in_order_of_arrival() -> None:
    env = AppendQueueEnv()
    await env.send("warm")
    env.log.gate = asyncio.Event()
    env.log.calls.clear()
    sends = [asyncio.ensure_future(env.send(f"k{n}", f"{n}")) for n in range(10)]
    await until(lambda: env.log.calls == ["append 1"])
    env.log.gate.set()
    assert [a.sequence for a in await asyncio.gather(*sends)] == list(range(3, 13))
    assert env.log.calls == ["append 1", "append 9"]


async def test_a_batch_is_bounded() -> None:
    env = AppendQueueEnv()
    await env.send("warm")
    await asyncio.gather(*(env.send(f"k{n}") for n in range(3 * MAX_BATCH)))
    sizes = [int(call.split()[1]) for call in env.log.calls if call.startswith("append")]
    assert max(sizes) == MAX_BATCH
    assert len(env.texts()) == 3 * MAX_BATCH + 1


async def test_two_tries_of_one_message_in_one_append_queue_become_one_entry() -> None:
    env = AppendQueueEnv()
    answers = await asyncio.gather(env.send("a"), env.send("b"), env.send("a"), env.send("b"))
    assert [a.sequence for a in answers] == [2, 3, 2, 3]
    assert len(env.texts()) == 2


async def test_a_retry_with_other_content_gets_a_conflict_after_the_first_is_committed() -> None:
    env = AppendQueueEnv()
    await env.send("warm")
    first, second = await asyncio.gather(env.send("a"), env.send("a", "other"), return_exceptions=True)
    assert first == Appended(3, is_repeat=False)
    assert isinstance(second, TidingsError)
    assert second.code is Code.IDEMPOTENCY_CONFLICT


async def test_a_non_member_is_refused_and_a_leave_in_the_log_is_applied() -> None:
    env = AppendQueueEnv()
    await env.send("a", sender=BEN)
    env.members.members.discard(BEN)
    env.log.apply(CHAT, [entry(3, EntryKind.LEAVE, sender=BEN, ordinal=1)])
    assert await refusal(env.send("b", sender=BEN)) is Code.NOT_A_MEMBER
    assert len(env.texts()) == 2


async def test_a_sender_without_a_position_is_authorized_by_their_row() -> None:
    env = AppendQueueEnv()
    first = await env.send("a", after=None)
    other = env.process()
    for n in range(3):
        await env.send(f"b{n}")
    assert await env.send("a", after=None, via=other) == Appended(first.sequence, is_repeat=True)
    assert await refusal(env.send("a", "other", after=None, via=env.process())) is Code.IDEMPOTENCY_CONFLICT


async def test_after_above_the_head_is_refused_only_once_the_view_is_fresh() -> None:
    env = AppendQueueEnv()
    await env.send("a")
    ahead = env.process()
    for n in range(4):
        await env.send(f"b{n}", via=ahead)
    assert (await env.send("c", after=6)).sequence == 7
    assert await refusal(env.send("d", after=99)) is Code.POSITION_AHEAD


async def test_too_far_back_means_position_too_old() -> None:
    env = AppendQueueEnv()
    log = env.log.entries[CHAT]
    log.extend(entry(n, EntryKind.RENAME) for n in range(2, MAX_KEY_LOOKBACK + 3))
    assert await refusal(env.send("a", after=1)) is Code.POSITION_TOO_OLD
    assert (await env.send("a", after=2)).sequence == MAX_KEY_LOOKBACK + 3


async def test_a_missing_chat_is_reported() -> None:
    env = AppendQueueEnv()
    nowhere = ChatKey(TenantId("acme"), ChatId("nowhere"))
    assert await refusal(env.appends.append(nowhere, proposal("a", "hi"))) is Code.CHAT_NOT_FOUND


async def test_a_keyed_send_is_refused_by_a_write_whether_its_chat_exists_or_not() -> None:
    """The time that a refusal takes must not show that the chat exists, and the refusal must stay final."""
    env = AppendQueueEnv()
    nowhere = ChatKey(TenantId("acme"), ChatId("nowhere"))
    asked = proposal("a", "hi", sender=UserId("stranger"), after=None)
    hidden = replace(asked, may=lambda is_member, _: None if is_member else Code.CHAT_NOT_FOUND)
    for chat in (nowhere, CHAT):
        env.log.calls.clear()
        assert await refusal(env.appends.append(chat, hidden)) is Code.CHAT_NOT_FOUND
        assert env.log.calls.count("refuse_key") == 1
    env.log.entries[nowhere] = [entry(1, EntryKind.CREATE)]
    again = replace(asked, may=lambda _, __: None)
    assert await refusal(env.appends.append(nowhere, again)) is Code.CHAT_NOT_FOUND


async def test_a_defect_of_one_proposal_is_raised_to_its_own_sender_alone() -> None:
    """The sender that drives the queue and the senders behind it receive their own results."""
    env = AppendQueueEnv()
    env.log.gate = asyncio.Event()

    def broken(sequence: int) -> object:
        raise ZeroDivisionError(sequence)

    def unsealed(chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
        raise KeyError(chat, sequence, body)

    first = asyncio.ensure_future(env.send("a"))
    await until(lambda: "append 1" in env.log.calls)
    bad = [
        asyncio.ensure_future(env.appends.append(CHAT, proposal("b", "hi"), broken)),
        asyncio.ensure_future(env.appends.append(CHAT, replace(proposal("c", "hi"), encrypt=unsealed))),
    ]
    good = [asyncio.ensure_future(env.send(f"d{n}", sender=BEN)) for n in range(3)]
    env.log.gate.set()
    done = await asyncio.gather(first, *bad, *good, return_exceptions=True)
    assert [type(each) for each in done[1:3]] == [ZeroDivisionError, KeyError]
    assert [each.sequence for each in (done[0], *done[3:]) if isinstance(each, Appended)] == [2, 3, 4, 5]


async def test_the_driver_of_an_append_queue_does_not_get_the_error_of_an_earlier_send() -> None:
    env = AppendQueueEnv()
    await env.send("warm")

    def broken(sequence: int) -> object:
        raise ZeroDivisionError(sequence)

    env.log.gate = asyncio.Event()
    leaving = asyncio.ensure_future(env.send("a"))
    await until(lambda: env.log.calls.count("append 1") == 2)
    bad = asyncio.ensure_future(env.appends.append(CHAT, proposal("b", "hi"), broken))
    good = asyncio.ensure_future(env.send("c", sender=BEN))
    await asyncio.sleep(0)
    leaving.cancel()
    env.log.gate.set()
    done = await asyncio.gather(bad, good, return_exceptions=True)
    assert isinstance(done[0], ZeroDivisionError)
    assert isinstance(done[1], Appended)

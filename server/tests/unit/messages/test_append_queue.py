"""The append queue on a log in memory: appends, reads, and the result of each sender."""

import asyncio
from dataclasses import replace

from fixtures.append_queue import BEN, CHAT, AppendQueueEnv, entry, proposal, refusal, run, until

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.append_queue import MAX_BATCH
from tidings.messages.model import Appended, EntryKind
from tidings.messages.rules import MAX_KEY_LOOKBACK


def test_a_warm_view_sends_with_one_append_and_no_read() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        await stage.send("a")
        stage.log.calls.clear()
        assert await stage.send("b") == Appended(3, is_repeat=False)
        assert stage.log.calls == ["append 1"]
        assert stage.members.asked == 1

    run(check())


def test_ordinals_count_messages_only() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        await stage.send("a")
        await stage.send("b")
        assert [e.ordinal for e in stage.log.entries[CHAT]] == [0, 1, 2]

    run(check())


def test_a_repeat_gets_the_first_answer_and_other_content_is_a_conflict() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        first = await stage.send("a")
        assert await stage.send("a") == Appended(first.sequence, is_repeat=True)
        assert await refusal(stage.send("a", "other")) is Code.IDEMPOTENCY_CONFLICT
        assert len(stage.texts()) == 1

    run(check())


def test_a_repeat_through_a_cold_process_is_found_behind_its_view() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        first = await stage.send("a")
        for n in range(5):
            await stage.send(f"b{n}", sender=BEN)
        other = stage.process()
        assert await stage.send("a", after=1, via=other) == Appended(first.sequence, is_repeat=True)

    run(check())


def test_a_process_with_an_old_view_loses_the_sequence_and_gets_the_next_one() -> None:
    async def check() -> None:
        stage, other = AppendQueueEnv(), None
        other = stage.process()
        await stage.send("a", via=other)
        await stage.send("b")
        await stage.send("c")
        assert (await stage.send("d", via=other)).sequence == 5
        assert stage.texts() == [b"2:hi", b"3:hi", b"4:hi", b"5:hi"]

    run(check())


def test_content_is_sealed_again_for_another_sequence() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        await stage.send("a", "one", via=stage.process())
        lagging = stage.process()
        await stage.send("x", "two", via=lagging)
        await stage.send("b", "three")
        await stage.send("y", "four", via=lagging)
        assert stage.texts() == [b"2:one", b"3:two", b"4:three", b"5:four"]

    run(check())


def test_waiting_sends_form_one_batch_in_order_of_arrival() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        await stage.send("warm")
        stage.log.gate = asyncio.Event()
        stage.log.calls.clear()
        sends = [asyncio.ensure_future(stage.send(f"k{n}", f"{n}")) for n in range(10)]
        await until(lambda: stage.log.calls == ["append 1"])
        stage.log.gate.set()
        assert [a.sequence for a in await asyncio.gather(*sends)] == list(range(3, 13))
        assert stage.log.calls == ["append 1", "append 9"]

    run(check())


def test_a_batch_is_bounded() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        await stage.send("warm")
        await asyncio.gather(*(stage.send(f"k{n}") for n in range(3 * MAX_BATCH)))
        sizes = [int(call.split()[1]) for call in stage.log.calls if call.startswith("append")]
        assert max(sizes) == MAX_BATCH
        assert len(stage.texts()) == 3 * MAX_BATCH + 1

    run(check())


def test_two_tries_of_one_message_in_one_append_queue_become_one_entry() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        answers = await asyncio.gather(stage.send("a"), stage.send("b"), stage.send("a"), stage.send("b"))
        assert [a.sequence for a in answers] == [2, 3, 2, 3]
        assert len(stage.texts()) == 2

    run(check())


def test_a_retry_with_other_content_gets_a_conflict_after_the_first_is_committed() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        await stage.send("warm")
        first, second = await asyncio.gather(
            stage.send("a"), stage.send("a", "other"), return_exceptions=True
        )
        assert first == Appended(3, is_repeat=False)
        assert isinstance(second, TidingsError)
        assert second.code is Code.IDEMPOTENCY_CONFLICT

    run(check())


def test_a_non_member_is_refused_and_a_leave_in_the_log_is_applied() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        await stage.send("a", sender=BEN)
        stage.members.members.discard(BEN)
        stage.log.apply(CHAT, [entry(3, EntryKind.LEAVE, sender=BEN, ordinal=1)])
        assert await refusal(stage.send("b", sender=BEN)) is Code.NOT_A_MEMBER
        assert len(stage.texts()) == 2

    run(check())


def test_a_sender_without_a_position_is_authorized_by_their_row() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        first = await stage.send("a", after=None)
        other = stage.process()
        for n in range(3):
            await stage.send(f"b{n}")
        assert await stage.send("a", after=None, via=other) == Appended(first.sequence, is_repeat=True)
        assert (
            await refusal(stage.send("a", "other", after=None, via=stage.process()))
            is Code.IDEMPOTENCY_CONFLICT
        )

    run(check())


def test_after_above_the_head_is_refused_only_once_the_view_is_fresh() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        await stage.send("a")
        ahead = stage.process()
        for n in range(4):
            await stage.send(f"b{n}", via=ahead)
        assert (await stage.send("c", after=6)).sequence == 7
        assert await refusal(stage.send("d", after=99)) is Code.POSITION_AHEAD

    run(check())


def test_too_far_back_means_position_too_old() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        log = stage.log.entries[CHAT]
        log.extend(entry(n, EntryKind.RENAME) for n in range(2, MAX_KEY_LOOKBACK + 3))
        assert await refusal(stage.send("a", after=1)) is Code.POSITION_TOO_OLD
        assert (await stage.send("a", after=2)).sequence == MAX_KEY_LOOKBACK + 3

    run(check())


def test_a_missing_chat_is_reported() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        nowhere = ChatKey(TenantId("acme"), ChatId("nowhere"))
        assert await refusal(stage.appends.append(nowhere, proposal("a", "hi"))) is Code.CHAT_NOT_FOUND

    run(check())


def test_a_keyed_send_is_refused_by_a_write_whether_its_chat_exists_or_not() -> None:
    """The time that a refusal takes must not show that the chat exists, and the refusal must stay final."""

    async def check() -> None:
        stage = AppendQueueEnv()
        nowhere = ChatKey(TenantId("acme"), ChatId("nowhere"))
        asked = proposal("a", "hi", sender=UserId("stranger"), after=None)
        hidden = replace(asked, may=lambda is_member, _: None if is_member else Code.CHAT_NOT_FOUND)
        for chat in (nowhere, CHAT):
            stage.log.calls.clear()
            assert await refusal(stage.appends.append(chat, hidden)) is Code.CHAT_NOT_FOUND
            assert stage.log.calls.count("refuse_key") == 1
        stage.log.entries[nowhere] = [entry(1, EntryKind.CREATE)]
        again = replace(asked, may=lambda _, __: None)
        assert await refusal(stage.appends.append(nowhere, again)) is Code.CHAT_NOT_FOUND

    run(check())


def test_a_defect_of_one_proposal_is_raised_to_its_own_sender_alone() -> None:
    """The sender that drives the queue and the senders behind it receive their own results."""

    async def check() -> None:
        stage = AppendQueueEnv()
        stage.log.gate = asyncio.Event()

        def broken(sequence: int) -> object:
            raise ZeroDivisionError(sequence)

        def unsealed(chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
            raise KeyError(chat, sequence, body)

        first = asyncio.ensure_future(stage.send("a"))
        await until(lambda: "append 1" in stage.log.calls)
        bad = [
            asyncio.ensure_future(stage.appends.append(CHAT, proposal("b", "hi"), broken)),
            asyncio.ensure_future(stage.appends.append(CHAT, replace(proposal("c", "hi"), encrypt=unsealed))),
        ]
        good = [asyncio.ensure_future(stage.send(f"d{n}", sender=BEN)) for n in range(3)]
        stage.log.gate.set()
        done = await asyncio.gather(first, *bad, *good, return_exceptions=True)
        assert [type(each) for each in done[1:3]] == [ZeroDivisionError, KeyError]
        assert [each.sequence for each in (done[0], *done[3:]) if isinstance(each, Appended)] == [2, 3, 4, 5]

    run(check())


def test_the_driver_of_an_append_queue_does_not_get_the_error_of_an_earlier_send() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        await stage.send("warm")

        def broken(sequence: int) -> object:
            raise ZeroDivisionError(sequence)

        stage.log.gate = asyncio.Event()
        leaving = asyncio.ensure_future(stage.send("a"))
        await until(lambda: stage.log.calls.count("append 1") == 2)
        bad = asyncio.ensure_future(stage.appends.append(CHAT, proposal("b", "hi"), broken))
        good = asyncio.ensure_future(stage.send("c", sender=BEN))
        await asyncio.sleep(0)
        leaving.cancel()
        stage.log.gate.set()
        done = await asyncio.gather(bad, good, return_exceptions=True)
        assert isinstance(done[0], ZeroDivisionError)
        assert isinstance(done[1], Appended)

    run(check())

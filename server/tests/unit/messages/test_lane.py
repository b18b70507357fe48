"""The lane on a log in memory: what is appended, what is read for it, what each sender hears."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from fixtures.memory_log import MemoryLog, MemoryMembers, seal

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.append import Appends
from tidings.messages.lane import MAX_BATCH, World
from tidings.messages.model import Appended, Draft, Entry, Kind, Proposal
from tidings.messages.rules import MAX_BACK

CHAT = ChatKey(TenantId("acme"), ChatId("c"))
ANNA, BEN = UserId("anna"), UserId("ben")


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 10))


class Stage:
    """A chat of two, and one process that writes to it."""

    def __init__(self) -> None:
        self.log = MemoryLog({CHAT: [entry(1, Kind.CREATE)]})
        self.members = MemoryMembers({ANNA, BEN})
        self.appends = self.process()

    def process(self) -> Appends[bool]:
        return Appends(World(self.log, self.members, SystemClock(), epoch=0))

    def send(
        self,
        key: str,
        text: str = "hi",
        *,
        sender: UserId = ANNA,
        after: int | None = 1,
        via: Appends[bool] | None = None,
    ) -> Awaitable[Appended]:
        return (via or self.appends).append(CHAT, proposal(key, text, sender=sender, after=after))

    def texts(self) -> list[bytes]:
        return [e.content or b"" for e in self.log.entries[CHAT][1:]]


def entry(sequence: int, kind: Kind, key: str = "", sender: UserId = ANNA, ordinal: int = 0) -> Entry:
    return Entry(
        sequence=sequence,
        ordinal=ordinal,
        kind=kind,
        sender=sender,
        client_key=ClientKey(key or f"{kind}-{sequence}"),
        fingerprint=b"",
        created_at_ms=0,
    )


def may(standing: bool, /) -> Code | None:  # noqa: FBT001 - the standing of these tests
    return None if standing else Code.NOT_A_MEMBER


def proposal(key: str, text: str, *, sender: UserId = ANNA, after: int | None = 1) -> Proposal[bool]:
    draft = Draft(
        kind=Kind.MESSAGE,
        sender=sender,
        client_key=ClientKey(key),
        fingerprint=text.encode(),
        body=text.encode(),
    )
    return Proposal(draft, may, after, seal)


async def refusal(sending: Awaitable[Appended]) -> Code:
    with pytest.raises(TidingsError) as caught:
        await sending
    return caught.value.code


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - what is waited for is a list that fills
        await asyncio.sleep(0)


def test_a_warm_view_sends_with_one_append_and_no_read() -> None:
    async def check() -> None:
        stage = Stage()
        await stage.send("a")
        stage.log.calls.clear()
        assert await stage.send("b") == Appended(3, is_repeat=False)
        assert stage.log.calls == ["append 1"]
        assert stage.members.asked == 1

    run(check())


def test_ordinals_count_messages_only() -> None:
    async def check() -> None:
        stage = Stage()
        await stage.send("a")
        await stage.send("b")
        assert [e.ordinal for e in stage.log.entries[CHAT]] == [0, 1, 2]

    run(check())


def test_a_repeat_gets_the_first_answer_and_other_content_is_a_conflict() -> None:
    async def check() -> None:
        stage = Stage()
        first = await stage.send("a")
        assert await stage.send("a") == Appended(first.sequence, is_repeat=True)
        assert await refusal(stage.send("a", "other")) is Code.KEY_CONFLICT
        assert len(stage.texts()) == 1

    run(check())


def test_a_repeat_through_a_cold_process_is_found_behind_its_view() -> None:
    async def check() -> None:
        stage = Stage()
        first = await stage.send("a")
        for n in range(5):
            await stage.send(f"b{n}", sender=BEN)
        other = stage.process()
        assert await stage.send("a", after=1, via=other) == Appended(first.sequence, is_repeat=True)

    run(check())


def test_a_lagging_process_loses_the_place_follows_and_gets_the_next_one() -> None:
    async def check() -> None:
        stage, other = Stage(), None
        other = stage.process()
        await stage.send("a", via=other)
        await stage.send("b")
        await stage.send("c")
        assert (await stage.send("d", via=other)).sequence == 5
        assert stage.texts() == [b"2:hi", b"3:hi", b"4:hi", b"5:hi"]

    run(check())


def test_content_is_sealed_anew_for_another_place() -> None:
    async def check() -> None:
        stage = Stage()
        await stage.send("a", "one", via=stage.process())
        lagging = stage.process()
        await stage.send("x", "two", via=lagging)
        await stage.send("b", "three")
        await stage.send("y", "four", via=lagging)
        assert stage.texts() == [b"2:one", b"3:two", b"4:three", b"5:four"]

    run(check())


def test_those_who_wait_go_together_in_the_order_they_came() -> None:
    async def check() -> None:
        stage = Stage()
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
        stage = Stage()
        await stage.send("warm")
        await asyncio.gather(*(stage.send(f"k{n}") for n in range(3 * MAX_BATCH)))
        sizes = [int(call.split()[1]) for call in stage.log.calls if call.startswith("append")]
        assert max(sizes) == MAX_BATCH
        assert len(stage.texts()) == 3 * MAX_BATCH + 1

    run(check())


def test_two_tries_of_one_message_in_one_lane_become_one_entry() -> None:
    async def check() -> None:
        stage = Stage()
        answers = await asyncio.gather(stage.send("a"), stage.send("b"), stage.send("a"), stage.send("b"))
        assert [a.sequence for a in answers] == [2, 3, 2, 3]
        assert len(stage.texts()) == 2

    run(check())


def test_a_second_try_with_other_content_hears_of_the_conflict_once_the_first_stands() -> None:
    async def check() -> None:
        stage = Stage()
        await stage.send("warm")
        first, second = await asyncio.gather(
            stage.send("a"), stage.send("a", "other"), return_exceptions=True
        )
        assert first == Appended(3, is_repeat=False)
        assert isinstance(second, TidingsError)
        assert second.code is Code.KEY_CONFLICT

    run(check())


def test_who_is_not_a_member_is_refused_and_a_leave_that_passes_is_noticed() -> None:
    async def check() -> None:
        stage = Stage()
        await stage.send("a", sender=BEN)
        stage.members.members.discard(BEN)
        stage.log.apply(CHAT, [entry(3, Kind.LEAVE, sender=BEN, ordinal=1)])
        assert await refusal(stage.send("b", sender=BEN)) is Code.NOT_A_MEMBER
        assert len(stage.texts()) == 2

    run(check())


def test_who_was_removed_after_his_message_got_in_still_hears_so() -> None:
    async def check() -> None:
        stage = Stage()
        stage.log.failures = ["lost"]
        assert await refusal(stage.send("a", sender=BEN)) is Code.OUTCOME_UNKNOWN
        stage.members.members.discard(BEN)
        stage.log.apply(CHAT, [entry(3, Kind.LEAVE, sender=BEN, ordinal=1)])
        assert await stage.send("a", sender=BEN) == Appended(2, is_repeat=True)

    run(check())


def test_the_same_holds_for_a_sender_without_a_position() -> None:
    async def check() -> None:
        stage = Stage()
        stage.log.failures = ["lost"]
        assert await refusal(stage.send("a", sender=BEN, after=None)) is Code.OUTCOME_UNKNOWN
        stage.members.members.discard(BEN)
        stage.log.apply(CHAT, [entry(3, Kind.LEAVE, sender=BEN, ordinal=1)])
        assert await stage.send("a", sender=BEN, after=None, via=stage.process()) == Appended(
            2, is_repeat=True
        )
        assert await refusal(stage.send("b", sender=BEN, after=None)) is Code.NOT_A_MEMBER

    run(check())


def test_a_sender_without_a_position_is_found_by_his_row() -> None:
    async def check() -> None:
        stage = Stage()
        first = await stage.send("a", after=None)
        other = stage.process()
        for n in range(3):
            await stage.send(f"b{n}")
        assert await stage.send("a", after=None, via=other) == Appended(first.sequence, is_repeat=True)
        assert await refusal(stage.send("a", "other", after=None, via=stage.process())) is Code.KEY_CONFLICT

    run(check())


@pytest.mark.parametrize("failure", ["lost", "unapplied"])
def test_an_unknown_outcome_is_settled_by_the_next_try(failure: str) -> None:
    async def check() -> None:
        stage = Stage()
        stage.log.failures = [failure]
        assert await refusal(stage.send("a")) is Code.OUTCOME_UNKNOWN
        await stage.send("b", sender=BEN)
        await stage.send("a")
        assert len(stage.texts()) == 2

    run(check())


def test_after_above_the_head_is_refused_only_once_the_view_is_fresh() -> None:
    async def check() -> None:
        stage = Stage()
        await stage.send("a")
        ahead = stage.process()
        for n in range(4):
            await stage.send(f"b{n}", via=ahead)
        assert (await stage.send("c", after=6)).sequence == 7
        assert await refusal(stage.send("d", after=99)) is Code.AFTER_ABOVE_HEAD

    run(check())


def test_too_far_back_means_catch_up_first() -> None:
    async def check() -> None:
        stage = Stage()
        log = stage.log.entries[CHAT]
        log.extend(entry(n, Kind.RENAME) for n in range(2, MAX_BACK + 3))
        assert await refusal(stage.send("a", after=1)) is Code.CATCH_UP_FIRST
        assert (await stage.send("a", after=2)).sequence == MAX_BACK + 3

    run(check())


def test_a_chat_that_is_not_there_is_said_to_be_so() -> None:
    async def check() -> None:
        stage = Stage()
        nowhere = ChatKey(TenantId("acme"), ChatId("nowhere"))
        assert await refusal(stage.appends.append(nowhere, proposal("a", "hi"))) is Code.CHAT_NOT_FOUND

    run(check())


def test_a_cancelled_sender_leaves_the_lane_to_the_others() -> None:
    async def check() -> None:
        stage = Stage()
        await stage.send("warm")
        stage.log.gate = asyncio.Event()
        worker = asyncio.ensure_future(stage.send("a"))
        await until(lambda: stage.log.calls[-1] == "append 1")
        waiting = asyncio.ensure_future(stage.send("b"))
        gone = asyncio.ensure_future(stage.send("c"))
        await asyncio.sleep(0)
        worker.cancel()
        gone.cancel()
        await asyncio.sleep(0)
        stage.log.gate.set()
        assert (await waiting).sequence == 3
        assert [t.partition(b":")[2] for t in stage.texts()] == [b"hi", b"hi"]

    run(check())


def test_a_sender_who_goes_away_while_his_message_is_under_way_disturbs_nobody() -> None:
    async def check() -> None:
        stage = Stage()
        await stage.send("warm")
        stage.log.gate = asyncio.Event()
        first = asyncio.ensure_future(stage.send("a"))
        await until(lambda: stage.log.calls[-1] == "append 1")
        mates = [asyncio.ensure_future(stage.send(f"m{n}")) for n in range(3)]
        await asyncio.sleep(0)
        stage.log.gate.set()
        stage.log.gate.clear()
        await first
        await until(lambda: stage.log.calls[-1] == "append 3")
        mates[1].cancel()
        await asyncio.sleep(0)
        stage.log.gate.set()
        assert [(await mates[0]).sequence, (await mates[2]).sequence] == [4, 6]
        assert (await stage.send("m1")).sequence == 5

    run(check())


def test_an_overloaded_log_answers_those_who_tried_and_the_rest_go_on() -> None:
    async def check() -> None:
        stage = Stage()
        await stage.send("warm")
        stage.log.failures = ["overloaded"]
        assert await refusal(stage.send("a")) is Code.OVERLOADED
        assert (await stage.send("a")).sequence == 3

    run(check())


def test_a_bug_in_the_world_answers_everybody_who_waits() -> None:
    async def check() -> None:
        stage = Stage()
        await stage.send("warm")
        stage.log.gate = asyncio.Event()
        sends = [asyncio.ensure_future(stage.send(f"k{n}")) for n in range(3)]
        await until(lambda: stage.log.calls[-1] == "append 1")
        stage.log.apply = None  # type: ignore[assignment, method-assign]
        stage.log.gate.set()
        answers = await asyncio.gather(*sends, return_exceptions=True)
        assert all(isinstance(answer, Exception) for answer in answers)

    run(check())


def test_what_passes_through_the_process_keeps_the_view_warm() -> None:
    async def check() -> None:
        stage = Stage()
        await stage.send("a")
        await stage.send("b", via=stage.process())
        for one in stage.log.entries[CHAT]:
            stage.appends.observe(CHAT, one)
        stage.log.calls.clear()
        assert (await stage.send("c")).sequence == 4
        assert stage.log.calls == ["append 1"]

    run(check())


def test_idle_lanes_are_forgotten_and_busy_ones_are_not() -> None:
    async def check() -> None:
        stage = Stage()
        appends: Appends[bool] = Appends(stage.appends._world, lanes_kept=2)
        for n in range(5):
            chat = ChatKey(TenantId("acme"), ChatId(f"c{n}"))
            stage.log.entries[chat] = [entry(1, Kind.CREATE)]
            await appends.append(chat, proposal("a", "hi"))
        assert len(appends._lanes) == 2
        assert list(appends._lanes)[-1].chat == "c4"

    run(check())

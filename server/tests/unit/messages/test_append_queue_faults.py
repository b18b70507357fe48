"""The append queue with lost responses, cancelled senders and a log that refuses."""

import asyncio
from collections.abc import Sequence

import pytest
from fixtures.append_queue import BEN, CHAT, AppendQueueEnv, entry, proposal, refusal, until

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import Appended, Entry, EntryKind
from tidings.messages.ports import AppendOutcome
from tidings.messages.sender import Appender


async def test_a_sender_removed_after_the_commit_still_gets_the_ack() -> None:
    env = AppendQueueEnv()
    env.log.failures = ["lost"]
    assert await refusal(env.send("a", sender=BEN)) is Code.OUTCOME_UNKNOWN
    env.members.members.discard(BEN)
    env.log.apply(CHAT, [entry(3, EntryKind.LEAVE, sender=BEN, ordinal=1)])
    assert await env.send("a", sender=BEN) == Appended(2, is_repeat=True)


async def test_the_same_holds_for_a_sender_without_a_position() -> None:
    env = AppendQueueEnv()
    env.log.failures = ["lost"]
    assert await refusal(env.send("a", sender=BEN, after=None)) is Code.OUTCOME_UNKNOWN
    env.members.members.discard(BEN)
    env.log.apply(CHAT, [entry(3, EntryKind.LEAVE, sender=BEN, ordinal=1)])
    assert await env.send("a", sender=BEN, after=None, via=env.process()) == Appended(2, is_repeat=True)
    assert await refusal(env.send("b", sender=BEN, after=None)) is Code.NOT_A_MEMBER


@pytest.mark.parametrize("failure", ["lost", "unapplied"])
async def test_an_unknown_outcome_is_settled_by_the_next_try(failure: str) -> None:
    env = AppendQueueEnv()
    env.log.failures = [failure]
    assert await refusal(env.send("a")) is Code.OUTCOME_UNKNOWN
    await env.send("b", sender=BEN)
    await env.send("a")
    assert len(env.texts()) == 2


async def test_a_cancelled_sender_hands_its_append_queue_to_the_others() -> None:
    env = AppendQueueEnv()
    await env.send("warm")
    env.log.gate = asyncio.Event()
    worker = asyncio.ensure_future(env.send("a"))
    await until(lambda: env.log.calls[-1] == "append 1")
    waiting = asyncio.ensure_future(env.send("b"))
    gone = asyncio.ensure_future(env.send("c"))
    await asyncio.sleep(0)
    worker.cancel()
    gone.cancel()
    await asyncio.sleep(0)
    env.log.gate.set()
    assert (await waiting).sequence == 3
    assert [t.partition(b":")[2] for t in env.texts()] == [b"hi", b"hi"]


async def test_a_cancelled_send_does_not_affect_others() -> None:
    env = AppendQueueEnv()
    await env.send("warm")
    env.log.gate = asyncio.Event()
    first = asyncio.ensure_future(env.send("a"))
    await until(lambda: env.log.calls[-1] == "append 1")
    mates = [asyncio.ensure_future(env.send(f"m{n}")) for n in range(3)]
    await asyncio.sleep(0)
    env.log.gate.set()
    env.log.gate.clear()
    await first
    await until(lambda: env.log.calls[-1] == "append 3")
    mates[1].cancel()
    await asyncio.sleep(0)
    env.log.gate.set()
    assert [(await mates[0]).sequence, (await mates[2]).sequence] == [4, 6]
    assert (await env.send("m1")).sequence == 5


async def test_an_overloaded_append_fails_and_a_retry_succeeds() -> None:
    env = AppendQueueEnv()
    await env.send("warm")
    env.log.failures = ["overloaded"]
    assert await refusal(env.send("a")) is Code.OVERLOADED
    assert (await env.send("a")).sequence == 3


async def test_an_unexpected_error_fails_all_waiting_sends() -> None:
    env = AppendQueueEnv()
    await env.send("warm")
    env.log.gate = asyncio.Event()
    sends = [asyncio.ensure_future(env.send(f"k{n}")) for n in range(3)]
    await until(lambda: env.log.calls[-1] == "append 1")
    env.log.apply = None  # type: ignore[assignment, method-assign]
    env.log.gate.set()
    answers = await asyncio.gather(*sends, return_exceptions=True)
    assert all(isinstance(answer, Exception) for answer in answers)


async def test_observed_entries_keep_the_view_current() -> None:
    env = AppendQueueEnv()
    await env.send("a")
    await env.send("b", via=env.process())
    for one in env.log.entries[CHAT]:
        env.appends.observe(CHAT, one)
    env.log.calls.clear()
    assert (await env.send("c")).sequence == 4
    assert env.log.calls == ["append 1"]


async def test_idle_append_queues_are_deleted_and_busy_ones_are_not() -> None:
    env = AppendQueueEnv()
    appends: Appender[bool] = Appender(env.appends._deps, max_idle=2)
    for n in range(5):
        chat = ChatKey(TenantId("acme"), ChatId(f"c{n}"))
        env.log.entries[chat] = [entry(1, EntryKind.CREATE)]
        await appends.append(chat, proposal("a", "hi"))
    assert len(appends._queues) == 2
    assert list(appends._queues)[-1].chat == "c4"


async def test_no_send_is_refused_before_the_log_is_read_up_to_the_head() -> None:
    """Another process appended the message, then its sender was removed: this view has neither entry."""
    env = AppendQueueEnv()
    await env.send("warm")
    other = env.process()
    first = await env.send("a", sender=BEN, via=other)
    env.members.members.discard(BEN)
    env.log.apply(CHAT, [entry(4, EntryKind.LEAVE, sender=BEN, ordinal=2)])
    assert await env.send("a", sender=BEN) == Appended(first.sequence, is_repeat=True)


async def test_a_refusal_of_a_sender_without_a_position_holds_for_every_try() -> None:
    env = AppendQueueEnv()
    env.members.members.discard(BEN)
    assert await refusal(env.send("a", sender=BEN, after=None)) is Code.NOT_A_MEMBER
    env.members.members.add(BEN)
    env.log.apply(CHAT, [entry(2, EntryKind.JOIN, sender=BEN)])
    assert await refusal(env.send("a", sender=BEN, after=None, via=env.process())) is Code.NOT_A_MEMBER
    assert (await env.send("b", sender=BEN, after=None)).sequence == 3


async def test_a_change_that_its_row_refuses_is_looked_for_in_the_log_first() -> None:
    """The row is already changed, because an earlier attempt of the same change is in the log above the view."""
    env = AppendQueueEnv()
    await env.send("warm")
    first = await env.send("redact", via=env.process())

    def beside_at(sequence: int) -> object:
        raise TidingsError(Code.NO_CHANGE, f"asked for {sequence}")

    again = env.appends.append(CHAT, proposal("redact", "hi"), beside_at)
    assert await again == Appended(first.sequence, is_repeat=True)
    other = env.appends.append(CHAT, proposal("other", "hi"), beside_at)
    assert await refusal(other) is Code.NO_CHANGE


@pytest.mark.parametrize("code", list(Code))
async def test_a_change_that_was_refused_is_refused_again_by_the_same_code(code: Code) -> None:
    env = AppendQueueEnv()

    def beside_at(sequence: int) -> object:
        raise TidingsError(code, f"asked for {sequence}")

    async def tried() -> Code:
        asked = proposal("redact", "hi", after=None)
        return await refusal(env.process().append(CHAT, asked, beside_at))

    assert (await tried(), await tried()) == (code, code)


async def test_a_send_with_an_old_after_in_a_busy_chat_reads_its_keys_once_and_succeeds() -> None:
    env = AppendQueueEnv()
    log = env.log.entries[CHAT]
    log.extend(entry(n, EntryKind.RENAME) for n in range(2, 900))
    rivals = [f"r{n}" for n in range(20)]
    honest = env.log.apply

    def beaten(chat: ChatKey, entries: Sequence[Entry], *, is_keyed: bool = False) -> AppendOutcome:
        if rivals:
            log.append(entry(len(log) + 1, EntryKind.RENAME, rivals.pop()))
        return honest(chat, entries, is_keyed=is_keyed)

    env.log.apply = beaten  # type: ignore[method-assign]
    assert (await env.send("a", after=1)).sequence == 920
    assert env.log.calls.count("keys") == 1

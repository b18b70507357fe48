"""Sends whose `after` is below the view: which senders wait for their reads, their cost, and the cache."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from fixtures.append_queue import BEN, CHAT, AppendQueueEnv, entry, proposal, refusal, run, until
from fixtures.memory_log import MemoryLog

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Appended, EntryKind, IdempotencyKey, KeyRecord
from tidings.messages.past_keys import PAST_KEYS_TTL_S, PastKeys
from tidings.messages.rules import MAX_KEY_LOOKBACK
from tidings.messages.sender import Appender


def _long(stage: AppendQueueEnv, head: int = 900) -> None:
    stage.log.entries[CHAT].extend(entry(n, EntryKind.RENAME) for n in range(2, head + 1))


def test_a_send_with_an_old_after_does_not_delay_others() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        _long(stage)
        stage.log.past_gate = asyncio.Event()
        far_back = asyncio.ensure_future(stage.send("old", after=1))
        await until(lambda: "keys" in stage.log.calls)
        for n in range(3):
            assert (await stage.send(f"new{n}", sender=BEN, after=899)).sequence == 901 + n
        assert not far_back.done()
        stage.log.past_gate.set()
        assert (await far_back).sequence == 904

    run(check())


def test_a_key_far_back_is_found_and_its_repeat_is_none() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        first = await stage.send("a")
        stage.log.entries[CHAT].extend(entry(n, EntryKind.RENAME) for n in range(3, 901))
        for process in (stage.appends, stage.process()):
            assert await stage.send("a", via=process) == Appended(first.sequence, is_repeat=True)
            assert await refusal(stage.send("a", "other", via=process)) is Code.IDEMPOTENCY_CONFLICT
        assert len(stage.log.entries[CHAT]) == 900

    run(check())


def test_many_sends_of_a_user_from_far_back_cost_one_read_at_a_time_and_of_each_entry() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        _long(stage)
        read: list[tuple[int, int]] = []
        at_once, most = 0, 0
        keys = stage.log.keys

        async def counted(
            chat: ChatKey, after: int, up_to: int
        ) -> Sequence[tuple[IdempotencyKey, KeyRecord]]:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            read.append((after, up_to))
            found = await keys(chat, after, up_to)
            at_once -= 1
            return found

        stage.log.keys = counted  # type: ignore[method-assign]
        sent = await asyncio.gather(*(stage.send(f"m{n}") for n in range(30)))
        assert sorted(each.sequence for each in sent) == list(range(901, 931))
        assert most == 1
        assert sum(up_to - after for after, up_to in read) <= 930

    run(check())


def test_reads_of_the_past_are_bounded_for_each_user() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        chats = [ChatKey(TenantId("acme"), ChatId(f"c{n}")) for n in range(12)]
        for chat in chats:
            stage.log.entries[chat] = [entry(n, EntryKind.RENAME) for n in range(1, 1001)]
        codes: list[Code | None] = []
        for chat in chats:
            try:
                await stage.appends.append(chat, proposal("a", "hi", after=1))
            except TidingsError as error:
                codes.append(error.code)
            else:
                codes.append(None)
        assert codes == [None] * 10 + [Code.RATE_LIMITED] * 2
        other = await stage.appends.append(chats[-1], proposal("b", "hi", sender=BEN, after=1))
        assert other.sequence == 1001

    run(check())


def test_no_past_keys_are_read_for_a_non_member() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        _long(stage)
        stranger = proposal("a", "hi", sender=UserId("stranger"), after=1)
        hidden = replace(stranger, may=lambda is_member, _: None if is_member else Code.CHAT_NOT_FOUND)
        assert await refusal(stage.appends.append(CHAT, hidden)) is Code.CHAT_NOT_FOUND
        assert "keys" not in stage.log.calls

    run(check())


def _order(stage: AppendQueueEnv) -> list[str]:
    return [str(each.client_key) for each in stage.log.entries[CHAT] if each.kind is EntryKind.MESSAGE]


async def _reading(stage: AppendQueueEnv) -> list[asyncio.Future[Appended]]:
    """Start a send of Anna's that waits for its past, and two later ones that do not need theirs."""
    _long(stage)
    stage.log.past_gate = asyncio.Event()
    old = asyncio.ensure_future(stage.send("old", after=1))
    await until(lambda: "keys" in stage.log.calls)
    later = [asyncio.ensure_future(stage.send(f"new{n}", after=899)) for n in range(2)]
    assert (await stage.send("of ben", sender=BEN, after=899)).sequence == 901
    return [old, *later]


def test_a_later_send_of_the_same_user_does_not_overtake_one_whose_past_is_read() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        sends = await _reading(stage)
        assert stage.log.past_gate is not None
        stage.log.past_gate.set()
        assert [each.sequence for each in await asyncio.gather(*sends)] == [902, 903, 904]
        assert _order(stage) == ["of ben", "old", "new0", "new1"]

    run(check())


def test_sends_that_wait_together_keep_their_order_when_the_first_needs_its_past() -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        _long(stage)
        stage.log.gate = asyncio.Event()
        first = asyncio.ensure_future(stage.send("first", sender=BEN, after=899))
        await until(lambda: "append 1" in stage.log.calls)
        afters = {"a": 1, "b": 899, "c": 2, "d": 899}
        sends = [asyncio.ensure_future(stage.send(key, after=after)) for key, after in afters.items()]
        await asyncio.sleep(0)
        stage.log.gate.set()
        await asyncio.gather(first, *sends)
        assert _order(stage) == ["first", *afters]

    run(check())


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_a_read_of_the_past_that_ends_without_keys_frees_the_sends_behind_it(*, is_cancelled: bool) -> None:
    async def check() -> None:
        stage = AppendQueueEnv()
        if not is_cancelled:

            async def failing(
                chat: ChatKey, after: int, up_to: int
            ) -> Sequence[tuple[IdempotencyKey, KeyRecord]]:
                stage.log.calls.append("keys")
                assert stage.log.past_gate is not None
                await stage.log.past_gate.wait()
                raise TidingsError(Code.OVERLOADED, f"{chat} {after} {up_to}")

            stage.log.keys = failing  # type: ignore[method-assign]
        old, *later = await _reading(stage)
        assert stage.log.past_gate is not None
        if is_cancelled:
            old.cancel()
        else:
            stage.log.past_gate.set()
        assert [each.sequence for each in await asyncio.gather(*later)] == [902, 903]
        (outcome,) = await asyncio.gather(old, return_exceptions=True)
        assert isinstance(outcome, asyncio.CancelledError if is_cancelled else TidingsError)

    run(check())


def test_an_append_queue_is_not_deleted_while_past_keys_are_read_for_it() -> None:
    """A second queue of the chat would not contain the waiting send, so later ones could overtake it."""

    async def check() -> None:
        stage = AppendQueueEnv()
        stage.appends = Appender(stage.world, max_idle=1)
        stage.log.entries |= {_chat(n): [entry(1, EntryKind.CREATE)] for n in range(3)}
        _long(stage)
        stage.log.past_gate = asyncio.Event()
        old = asyncio.ensure_future(stage.send("old", after=1))
        await until(lambda: "keys" in stage.log.calls)
        for n in range(3):
            await stage.appends.append(_chat(n), proposal("a", "hi"))
        new = asyncio.ensure_future(stage.send("new", after=899))
        for _ in range(20):
            await asyncio.sleep(0)
        stage.log.past_gate.set()
        await asyncio.gather(old, new)
        assert _order(stage) == ["old", "new"]

    run(check())


def _chat(n: int) -> ChatKey:
    return ChatKey(TenantId("acme"), ChatId(f"c{n}"))


class _HeldClock(SystemClock):
    at_s = 1_000.0

    def monotonic(self) -> float:
        return self.at_s


def _past(*, max_keys: int = 3_000) -> tuple[PastKeys, MemoryLog, _HeldClock]:
    log, clock = MemoryLog({CHAT: [entry(n, EntryKind.RENAME) for n in range(1, 20_001)]}), _HeldClock()
    return PastKeys(log, clock, max_keys=max_keys), log, clock


def _key(user: str) -> IdempotencyKey:
    return IdempotencyKey(UserId(user), ClientKey("k"))


def test_the_max_keys_for_all_users_together_are_bounded() -> None:
    async def check() -> None:
        past, log, _ = _past()
        for n in range(10):
            await past.find(CHAT, _key(f"u{n}"), 1, 901)
            assert past.cached_count <= 3_000
        log.calls.clear()
        await past.find(CHAT, _key("u9"), 1, 901)
        await past.find(CHAT, _key("u0"), 1, 901)
        assert log.calls == ["keys"], "the latest are kept, the first are forgotten"

    run(check())


def test_the_max_keys_for_one_user_are_those_that_an_after_can_reach() -> None:
    async def check() -> None:
        past, _, clock = _past(max_keys=100_000)
        for head in range(1_001, 20_001, 500):
            clock.at_s += 6
            await past.find(CHAT, _key("anna"), head - MAX_KEY_LOOKBACK, head)
            assert past.cached_count <= MAX_KEY_LOOKBACK
        assert (await past.find(CHAT, entry(19_300, EntryKind.RENAME).key, 19_000, 19_501)).seen is not None

    run(check())


def test_kept_keys_expire() -> None:
    async def check() -> None:
        past, log, clock = _past()
        await past.find(CHAT, _key("anna"), 1, 901)
        clock.at_s += PAST_KEYS_TTL_S - 1
        past.evict_old()
        assert past.cached_count == 900
        clock.at_s += 1
        past.evict_old()
        assert past.cached_count == 0
        await past.find(CHAT, _key("anna"), 1, 901)
        assert log.calls == ["keys", "keys"]

    run(check())


def test_every_append_lets_kept_keys_expire() -> None:
    async def check() -> None:
        stage, clock = AppendQueueEnv(), _HeldClock()
        stage.appends = Appender(stage.world._replace(clock=clock))
        _long(stage)
        await stage.send("a", after=1)
        clock.at_s += PAST_KEYS_TTL_S
        await stage.send("b", sender=BEN, after=900)
        read: list[int] = []
        keys = stage.log.keys

        async def noted(chat: ChatKey, after: int, up_to: int) -> Sequence[tuple[IdempotencyKey, KeyRecord]]:
            read.append(after)
            return await keys(chat, after, up_to)

        stage.log.keys = noted  # type: ignore[method-assign]
        await stage.send("c", after=1)
        assert read == [1], "nothing was left of the first read"

    run(check())


def test_forgotten_keys_do_not_give_a_user_more_reads() -> None:
    async def check() -> None:
        past, *_ = _past(max_keys=1_500)
        for head in range(1_001, 11_001, 1_000):
            await past.find(CHAT, _key("anna"), head - MAX_KEY_LOOKBACK, head)
            await past.find(CHAT, _key(f"ben{head}"), 1, 901)
        with pytest.raises(TidingsError) as caught:
            await past.find(CHAT, _key("anna"), 10_001, 11_001)
        assert caught.value.code is Code.RATE_LIMITED

    run(check())

"""Sends whose `after` is below the view: which senders wait for their reads, their cost, and the cache."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from fixtures.append_queue import BEN, CHAT, AppendQueueEnv, entry, proposal, refusal, until
from fixtures.memory_log import MemoryLog

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Appended, EntryKind, IdempotencyKey, KeyRecord
from tidings.messages.past_keys import PAST_KEYS_TTL_S, PastKeys
from tidings.messages.rules import MAX_KEY_LOOKBACK
from tidings.messages.sender import Appender


def _long(env: AppendQueueEnv, head: int = 900) -> None:
    env.log.entries[CHAT].extend(entry(n, EntryKind.RENAME) for n in range(2, head + 1))


async def test_a_send_with_an_old_after_does_not_delay_others() -> None:
    env = AppendQueueEnv()
    _long(env)
    env.log.past_gate = asyncio.Event()
    far_back = asyncio.ensure_future(env.send("old", after=1))
    await until(lambda: "keys" in env.log.calls)
    for n in range(3):
        assert (await env.send(f"new{n}", sender=BEN, after=899)).sequence == 901 + n
    assert not far_back.done()
    env.log.past_gate.set()
    assert (await far_back).sequence == 904


async def test_a_key_far_back_is_found_and_its_repeat_is_none() -> None:
    env = AppendQueueEnv()
    first = await env.send("a")
    env.log.entries[CHAT].extend(entry(n, EntryKind.RENAME) for n in range(3, 901))
    for process in (env.appends, env.process()):
        assert await env.send("a", via=process) == Appended(first.sequence, is_repeat=True)
        assert await refusal(env.send("a", "other", via=process)) is Code.IDEMPOTENCY_CONFLICT
    assert len(env.log.entries[CHAT]) == 900


async def test_many_sends_of_a_user_from_far_back_cost_one_read_at_a_time_and_of_each_entry() -> None:
    env = AppendQueueEnv()
    _long(env)
    read: list[tuple[int, int]] = []
    at_once, most = 0, 0
    keys = env.log.keys

    async def counted(chat: ChatKey, after: int, up_to: int) -> Sequence[tuple[IdempotencyKey, KeyRecord]]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        read.append((after, up_to))
        found = await keys(chat, after, up_to)
        at_once -= 1
        return found

    env.log.keys = counted  # type: ignore[method-assign]
    sent = await asyncio.gather(*(env.send(f"m{n}") for n in range(30)))
    assert sorted(each.sequence for each in sent) == list(range(901, 931))
    assert most == 1
    assert sum(up_to - after for after, up_to in read) <= 930


async def test_reads_of_the_past_are_bounded_for_each_user() -> None:
    env = AppendQueueEnv()
    chats = [ChatKey(TenantId("acme"), ChatId(f"c{n}")) for n in range(12)]
    for chat in chats:
        env.log.entries[chat] = [entry(n, EntryKind.RENAME) for n in range(1, 1001)]
    codes: list[Code | None] = []
    for chat in chats:
        try:
            await env.appends.append(chat, proposal("a", "hi", after=1))
        except TidingsError as error:
            codes.append(error.code)
        else:
            codes.append(None)
    assert codes == [None] * 10 + [Code.RATE_LIMITED] * 2
    other = await env.appends.append(chats[-1], proposal("b", "hi", sender=BEN, after=1))
    assert other.sequence == 1001


async def test_no_past_keys_are_read_for_a_non_member() -> None:
    env = AppendQueueEnv()
    _long(env)
    by_non_member = proposal("a", "hi", sender=UserId("stranger"), after=1)
    hidden = replace(by_non_member, may=lambda is_member, _: None if is_member else Code.CHAT_NOT_FOUND)
    assert await refusal(env.appends.append(CHAT, hidden)) is Code.CHAT_NOT_FOUND
    assert "keys" not in env.log.calls


def _order(env: AppendQueueEnv) -> list[str]:
    return [str(each.client_key) for each in env.log.entries[CHAT] if each.kind is EntryKind.MESSAGE]


async def _reading(env: AppendQueueEnv) -> list[asyncio.Future[Appended]]:
    """Start a send of Anna's that waits for its past, and two later ones that do not need theirs."""
    _long(env)
    env.log.past_gate = asyncio.Event()
    old = asyncio.ensure_future(env.send("old", after=1))
    await until(lambda: "keys" in env.log.calls)
    later = [asyncio.ensure_future(env.send(f"new{n}", after=899)) for n in range(2)]
    assert (await env.send("of ben", sender=BEN, after=899)).sequence == 901
    return [old, *later]


async def test_a_later_send_of_the_same_user_does_not_overtake_one_whose_past_is_read() -> None:
    env = AppendQueueEnv()
    sends = await _reading(env)
    assert env.log.past_gate is not None
    env.log.past_gate.set()
    assert [each.sequence for each in await asyncio.gather(*sends)] == [902, 903, 904]
    assert _order(env) == ["of ben", "old", "new0", "new1"]


async def test_sends_that_wait_together_keep_their_order_when_the_first_needs_its_past() -> None:
    env = AppendQueueEnv()
    _long(env)
    env.log.gate = asyncio.Event()
    first = asyncio.ensure_future(env.send("first", sender=BEN, after=899))
    await until(lambda: "append 1" in env.log.calls)
    afters = {"a": 1, "b": 899, "c": 2, "d": 899}
    sends = [asyncio.ensure_future(env.send(key, after=after)) for key, after in afters.items()]
    await asyncio.sleep(0)
    env.log.gate.set()
    await asyncio.gather(first, *sends)
    assert _order(env) == ["first", *afters]


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_read_of_the_past_that_ends_without_keys_frees_the_sends_behind_it(
    *, is_cancelled: bool
) -> None:
    env = AppendQueueEnv()
    if not is_cancelled:

        async def failing(
            chat: ChatKey, after: int, up_to: int
        ) -> Sequence[tuple[IdempotencyKey, KeyRecord]]:
            env.log.calls.append("keys")
            assert env.log.past_gate is not None
            await env.log.past_gate.wait()
            raise TidingsError(Code.OVERLOADED, f"{chat} {after} {up_to}")

        env.log.keys = failing  # type: ignore[method-assign]
    old, *later = await _reading(env)
    assert env.log.past_gate is not None
    if is_cancelled:
        old.cancel()
    else:
        env.log.past_gate.set()
    assert [each.sequence for each in await asyncio.gather(*later)] == [902, 903]
    (outcome,) = await asyncio.gather(old, return_exceptions=True)
    assert isinstance(outcome, asyncio.CancelledError if is_cancelled else TidingsError)


async def test_an_append_queue_is_not_deleted_while_past_keys_are_read_for_it() -> None:
    """A second queue of the chat would not contain the waiting send, so later ones could overtake it."""
    env = AppendQueueEnv()
    env.appends = Appender(env.deps, max_idle=1)
    env.log.entries |= {_chat(n): [entry(1, EntryKind.CREATE)] for n in range(3)}
    _long(env)
    env.log.past_gate = asyncio.Event()
    old = asyncio.ensure_future(env.send("old", after=1))
    await until(lambda: "keys" in env.log.calls)
    for n in range(3):
        await env.appends.append(_chat(n), proposal("a", "hi"))
    new = asyncio.ensure_future(env.send("new", after=899))
    for _ in range(20):
        await asyncio.sleep(0)
    env.log.past_gate.set()
    await asyncio.gather(old, new)
    assert _order(env) == ["old", "new"]


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


async def test_the_max_keys_for_all_users_together_are_bounded() -> None:
    past, log, _ = _past()
    for n in range(10):
        await past.find(CHAT, _key(f"u{n}"), 1, 901)
        assert past.cached_count <= 3_000
    log.calls.clear()
    await past.find(CHAT, _key("u9"), 1, 901)
    await past.find(CHAT, _key("u0"), 1, 901)
    assert log.calls == ["keys"], "the latest are kept, the first are forgotten"


async def test_the_max_keys_for_one_user_are_those_that_an_after_can_reach() -> None:
    past, _, clock = _past(max_keys=100_000)
    for head in range(1_001, 20_001, 500):
        clock.at_s += 6
        await past.find(CHAT, _key("anna"), head - MAX_KEY_LOOKBACK, head)
        assert past.cached_count <= MAX_KEY_LOOKBACK
    assert (await past.find(CHAT, entry(19_300, EntryKind.RENAME).key, 19_000, 19_501)).seen is not None


async def test_kept_keys_expire() -> None:
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


async def test_every_append_lets_kept_keys_expire() -> None:
    env, clock = AppendQueueEnv(), _HeldClock()
    env.appends = Appender(env.deps._replace(clock=clock))
    _long(env)
    await env.send("a", after=1)
    clock.at_s += PAST_KEYS_TTL_S
    await env.send("b", sender=BEN, after=900)
    read: list[int] = []
    keys = env.log.keys

    async def noted(chat: ChatKey, after: int, up_to: int) -> Sequence[tuple[IdempotencyKey, KeyRecord]]:
        read.append(after)
        return await keys(chat, after, up_to)

    env.log.keys = noted  # type: ignore[method-assign]
    await env.send("c", after=1)
    assert read == [1], "nothing was left of the first read"


async def test_forgotten_keys_do_not_give_a_user_more_reads() -> None:
    past, *_ = _past(max_keys=1_500)
    for head in range(1_001, 11_001, 1_000):
        await past.find(CHAT, _key("anna"), head - MAX_KEY_LOOKBACK, head)
        await past.find(CHAT, _key(f"ben{head}"), 1, 901)
    with pytest.raises(TidingsError) as caught:
        await past.find(CHAT, _key("anna"), 10_001, 11_001)
    assert caught.value.code is Code.RATE_LIMITED

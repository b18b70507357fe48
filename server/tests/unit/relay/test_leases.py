"""Leases: one reader per shard, fair shares, independent of wall clocks."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping

import pytest
from fixtures.relay_env import ManualClock, RelayEnv, drain_relay, tend, turns
from hypothesis import given
from hypothesis import strategies as st

from tidings.kernel.errors import UnavailableError
from tidings.relay.model import Lease, ShardId
from tidings.relay.rules import shards_to_claim


async def test_two_processes_share_and_three_share_again() -> None:
    env = RelayEnv()
    for number in range(9):
        env.streams.open(f"s{number}")
    one, _ = env.relay("one")
    await drain_relay(one, rounds=10)
    assert one.held == 9
    two, _ = env.relay("two")
    await drain_relay(one, two, rounds=10)
    three, _ = env.relay("three")
    await drain_relay(one, two, three, rounds=10)
    assert sorted((one.held, two.held, three.held)) == [3, 3, 3]
    for relay in (one, two, three):
        await relay.stop()


async def test_free_leases_are_taken_at_once_and_held_leases_one_at_a_time() -> None:
    env = RelayEnv()
    for number in range(9):
        env.streams.open(f"s{number}")
    one, _ = env.relay("one")
    await tend(one)
    assert one.held == 9
    two, _ = env.relay("two")
    await tend(two)
    assert two.held == 1
    await one.stop()
    await two.stop()


async def test_an_expired_lease_is_taken_over_at_its_checkpoint() -> None:
    env = RelayEnv()
    env.streams.open("s")
    first = env.streams.put("s", "a", 1)
    env.handle("a", 1)
    second = env.streams.put("s", "a", 2)
    one, _ = env.relay("one")
    await drain_relay(one)
    assert env.checkpoint("s") == first
    two, feed = env.relay("two")
    await tend(two)
    env.clock.at += 14.9
    await tend(two)
    assert (two.held, env.holder("s")) == (0, "one")
    env.clock.at += 0.2
    await tend(two)
    assert (two.held, env.holder("s")) == (1, "two")
    await turns()
    assert feed.handed["s"] == [second]
    await two.stop()
    await one.stop()


async def test_a_wall_clock_that_is_hours_off_changes_nothing() -> None:
    class Wrong(ManualClock):
        def now_ms(self) -> int:
            return super().now_ms() + 7_200_000

    env = RelayEnv()
    env.streams.open("s")
    one, _ = env.relay("one")
    two, _ = env.relay("two", Wrong())
    for _ in range(10):
        await drain_relay(one, two, rounds=1)
    assert env.holder("s") == "one"
    await one.stop()
    await two.stop()


async def test_a_former_holder_cannot_change_the_checkpoint() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    zombie, _ = env.relay("zombie")
    await drain_relay(zombie)
    heir, _ = env.relay("heir")
    await tend(heir)
    env.clock.at += 16
    await tend(heir)
    env.handle("a", 1)
    await zombie.audit.round()
    assert await zombie.leases.renew(ShardId("s"), "900") is False
    assert (env.checkpoint("s"), env.holder("s")) == (None, "heir")
    await tend(zombie)
    assert (zombie.held, zombie.counts.lost) == (0, 1)
    await heir.stop()
    assert env.checkpoint("s") is None


async def test_a_holder_that_cannot_renew_stops_reading_before_another_process_starts() -> None:
    env = RelayEnv()
    env.streams.open("s")
    one, feed = env.relay("one")
    await drain_relay(one)
    env.leases.is_away = True
    env.clock.at += 15
    with pytest.raises(UnavailableError):
        await tend(one)
    assert one.held == 0
    env.leases.is_away = False
    env.streams.put("s", "a", 1)
    await turns()
    assert feed.handed["s"] == []
    await one.stop()


async def test_a_process_takes_its_lease_again_after_an_outage() -> None:
    env = RelayEnv()
    env.streams.open("s")
    one, _ = env.relay("one")
    await drain_relay(one)
    one.leases.drop(ShardId("s"))
    await tend(one)
    assert one.held == 0
    env.clock.at += 16
    await drain_relay(one)
    assert (one.held, env.holder("s")) == (1, "one")
    await one.stop()


async def test_a_released_lease_is_taken_at_once() -> None:
    env = RelayEnv()
    env.streams.open("s")
    number = env.streams.put("s", "a", 1)
    env.handle("a", 1)
    one, _ = env.relay("one")
    two, feed = env.relay("two")
    await drain_relay(one)
    await one.stop()
    assert (env.holder("s"), env.checkpoint("s")) == (None, number)
    await drain_relay(two)
    assert (two.held, feed.handed["s"]) == (1, [])
    await two.stop()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_stealing_ends_with_shares_that_differ_by_one_at_most(owners: list[int]) -> None:
    shards = [ShardId(f"s{number}") for number in range(len(owners))]
    names = [f"p{number}" for number in range(5)]
    leases = {
        shard: Lease(shard=shard, counter=1, holder=names[owner])
        for shard, owner in zip(shards, owners, strict=True)
    }
    for _ in range(200):
        claims = [(me, shards_to_claim(me, shards, leases, ())) for me in names]
        if all(wanted is None for _, wanted in claims):
            break
        me, wanted = next((me, wanted) for me, wanted in claims if wanted is not None)
        assert wanted is not None
        leases[wanted] = Lease(shard=wanted, counter=1, holder=me)
    held = Counter(lease.holder for lease in leases.values())
    counts = [held[name] for name in names]
    assert max(counts) - min(counts) <= 1


async def test_a_round_reads_the_leases_once_and_finished_ones_never_again() -> None:
    env = RelayEnv()
    for number in range(60):
        env.streams.open(f"old{number}")
        env.streams.split(f"old{number}", f"new{number}")
    one, _ = env.relay("one")
    await drain_relay(one, rounds=6)
    assert (one.held, len(env.leases.rows)) == (60, 120)
    asked: list[set[ShardId]] = []
    read = env.leases.read

    async def noted(shards: Collection[ShardId]) -> Mapping[ShardId, Lease]:
        asked.append(set(shards))
        return await read(shards)

    env.leases.read = noted  # type: ignore[method-assign]
    two, _ = env.relay("two")
    env.clock.at += 1
    await tend(one)
    assert asked == [{ShardId(f"new{number}") for number in range(60)}]
    asked.clear()
    await one.stop()
    await tend(two)
    assert two.held == 50
    assert len(asked) == 1
    await two.stop()


async def test_leases_are_renewed_concurrently_even_during_a_slow_claim() -> None:
    env = RelayEnv()
    for number in range(40):
        env.streams.open(f"s{number}")
    one, _ = env.relay("one")
    await tend(one)
    renew, read = env.leases.renew, env.leases.read
    gate, all_there, at_once = asyncio.Event(), asyncio.Event(), 0

    async def slow_read(shards: Collection[ShardId]) -> Mapping[ShardId, Lease]:
        await gate.wait()
        return await read(shards)

    async def counted(lease: Lease, checkpoint: str | None) -> Lease | None:
        nonlocal at_once
        at_once += 1
        if at_once == 40:
            all_there.set()
        await all_there.wait()
        return await renew(lease, checkpoint)

    env.leases.read, env.leases.renew = slow_read, counted  # type: ignore[method-assign]
    before = {shard: lease.counter for shard, lease in env.leases.rows.items()}
    running = asyncio.ensure_future(one.run())
    async with asyncio.timeout(10):
        while any(env.leases.rows[shard].counter == counter for shard, counter in before.items()):  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert not gate.is_set()
    gate.set()
    running.cancel()
    await asyncio.wait([running])
    env.leases.renew = renew  # type: ignore[method-assign]
    await one.stop()

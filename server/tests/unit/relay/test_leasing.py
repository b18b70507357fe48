"""Leases: one reader per shard, fair shares, and nobody's wall clock."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping

import pytest
from fixtures.relay_env import ManualClock, RelayEnv, drain_relay, turns
from hypothesis import given
from hypothesis import strategies as st

from tidings.kernel.errors import UnavailableError
from tidings.relay.model import Lease, ShardId
from tidings.relay.rules import shards_to_claim


async def test_two_processes_share_and_three_share_again() -> None:
    scene = RelayEnv()
    for number in range(9):
        scene.streams.open(f"s{number}")
    one, _ = scene.relay("one")
    await drain_relay(one, rounds=10)
    assert one.held == 9
    two, _ = scene.relay("two")
    await drain_relay(one, two, rounds=10)
    three, _ = scene.relay("three")
    await drain_relay(one, two, three, rounds=10)
    assert sorted((one.held, two.held, three.held)) == [3, 3, 3]
    for relay in (one, two, three):
        await relay.stop()


async def test_what_is_free_is_taken_at_once_and_of_others_one_at_a_time() -> None:
    scene = RelayEnv()
    for number in range(9):
        scene.streams.open(f"s{number}")
    one, _ = scene.relay("one")
    await one.tend()
    assert one.held == 9
    two, _ = scene.relay("two")
    await two.tend()
    assert two.held == 1
    await one.stop()
    await two.stop()


async def test_a_lease_whose_counter_stands_still_is_taken_over_from_its_checkpoint() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    first = scene.streams.put("s", "a", 1)
    scene.handle("a", 1)
    second = scene.streams.put("s", "a", 2)
    one, _ = scene.relay("one")
    await drain_relay(one)
    assert scene.checkpoint("s") == first
    two, feed = scene.relay("two")
    await two.tend()
    scene.clock.at += 14.9
    await two.tend()
    assert (two.held, scene.holder("s")) == (0, "one")
    scene.clock.at += 0.2
    await two.tend()
    assert (two.held, scene.holder("s")) == (1, "two")
    await turns()
    assert feed.handed["s"] == [second]
    await two.stop()
    await one.stop()


async def test_a_wall_clock_that_is_hours_off_changes_nothing() -> None:
    class Wrong(ManualClock):
        def now_ms(self) -> int:
            return super().now_ms() + 7_200_000

    scene = RelayEnv()
    scene.streams.open("s")
    one, _ = scene.relay("one")
    two, _ = scene.relay("two", Wrong())
    for _ in range(10):
        await drain_relay(one, two, rounds=1)
    assert scene.holder("s") == "one"
    await one.stop()
    await two.stop()


async def test_a_zombie_can_not_move_the_checkpoint_of_who_took_over() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    zombie, _ = scene.relay("zombie")
    await drain_relay(zombie)
    heir, _ = scene.relay("heir")
    await heir.tend()
    scene.clock.at += 16
    await heir.tend()
    scene.handle("a", 1)
    await zombie.audit.round()
    assert await zombie.leases.renew(ShardId("s"), "900") is False
    assert (scene.checkpoint("s"), scene.holder("s")) == (None, "heir")
    await zombie.tend()
    assert (zombie.held, zombie.counts.lost) == (0, 1)
    await heir.stop()
    assert scene.checkpoint("s") is None


async def test_who_can_not_renew_stops_reading_before_anybody_else_begins() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    one, feed = scene.relay("one")
    await drain_relay(one)
    scene.leases.is_away = True
    scene.clock.at += 15
    with pytest.raises(UnavailableError):
        await one.tend()
    assert one.held == 0
    scene.leases.is_away = False
    scene.streams.put("s", "a", 1)
    await turns()
    assert feed.handed["s"] == []
    await one.stop()


async def test_who_lost_the_lease_by_an_outage_gets_it_back_by_himself() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    one, _ = scene.relay("one")
    await drain_relay(one)
    one.leases.drop(ShardId("s"))
    await one.tend()
    assert one.held == 0
    scene.clock.at += 16
    await drain_relay(one)
    assert (one.held, scene.holder("s")) == (1, "one")
    await one.stop()


async def test_what_is_released_is_taken_at_once() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    number = scene.streams.put("s", "a", 1)
    scene.handle("a", 1)
    one, _ = scene.relay("one")
    two, feed = scene.relay("two")
    await drain_relay(one)
    await one.stop()
    assert (scene.holder("s"), scene.checkpoint("s")) == (None, number)
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


async def test_a_round_reads_the_leases_once_and_never_again_those_that_are_finished() -> None:
    scene = RelayEnv()
    for number in range(60):
        scene.streams.open(f"old{number}")
        scene.streams.split(f"old{number}", f"new{number}")
    one, _ = scene.relay("one")
    await drain_relay(one, rounds=6)
    assert (one.held, len(scene.leases.rows)) == (60, 120)
    asked: list[set[ShardId]] = []
    read = scene.leases.read

    async def noted(shards: Collection[ShardId]) -> Mapping[ShardId, Lease]:
        asked.append(set(shards))
        return await read(shards)

    scene.leases.read = noted  # type: ignore[method-assign]
    two, _ = scene.relay("two")
    scene.clock.at += 1
    await one.tend()
    assert asked == [{ShardId(f"new{number}") for number in range(60)}]
    asked.clear()
    await one.stop()
    await two.tend()
    assert two.held == 50
    assert len(asked) == 1
    await two.stop()


async def test_leases_are_renewed_side_by_side_also_while_a_claim_takes_long() -> None:
    scene = RelayEnv()
    for number in range(40):
        scene.streams.open(f"s{number}")
    one, _ = scene.relay("one")
    await one.tend()
    renew, read = scene.leases.renew, scene.leases.read
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

    scene.leases.read, scene.leases.renew = slow_read, counted  # type: ignore[method-assign]
    before = {shard: lease.counter for shard, lease in scene.leases.rows.items()}
    running = asyncio.ensure_future(one.run())
    async with asyncio.timeout(10):
        while any(scene.leases.rows[shard].counter == counter for shard, counter in before.items()):  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert not gate.is_set()
    gate.set()
    running.cancel()
    await asyncio.wait([running])
    scene.leases.renew = renew  # type: ignore[method-assign]
    await one.stop()

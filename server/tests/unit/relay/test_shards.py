"""Shards: parents before children, each record once and in order, whatever the stream does meanwhile."""

import asyncio

from fixtures.relay_env import RelayEnv, drain_relay, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.platform.dynamo.streams import ChangeType
from tidings.relay.model import END, RecordPage, ShardId
from tidings.relay.shards import ReadPolicy, ShardReader
from tidings.relay.store.stream import DynamoChangeStream


async def test_all_pages_of_shards_are_found_and_read() -> None:
    scene = RelayEnv()
    scene.streams.page_shards = 2
    for number in range(5):
        scene.streams.open(f"s{number}")
        scene.streams.put(f"s{number}", f"c{number}", 1)
        scene.handle(f"c{number}", 1)
    relay, feed = scene.relay()
    await drain_relay(relay, rounds=6)
    assert {shard: len(numbers) for shard, numbers in feed.handed.items()} == {f"s{n}": 1 for n in range(5)}
    await relay.stop()


async def test_a_child_waits_until_its_parent_is_read_and_handled() -> None:
    scene = RelayEnv()
    scene.streams.open("parent")
    first = scene.streams.put("parent", "a", 1)
    scene.streams.split("parent", "left", "right")
    scene.streams.put("left", "a", 2)
    relay, feed = scene.relay()
    await drain_relay(relay)
    assert feed.order == [("parent", first)]
    assert scene.checkpoint("parent") is None
    scene.handle("a", 2)
    scene.clock.at += 2
    await drain_relay(relay)
    assert scene.checkpoint("parent") == END
    assert len(feed.handed["left"]) == 1
    assert relay.held == 2
    await relay.stop()


async def test_the_grandchildren_of_a_forgotten_shard_are_begun() -> None:
    scene = RelayEnv()
    scene.streams.open("old")
    scene.streams.split("old", "young")
    scene.streams.put("young", "a", 1)
    relay, feed = scene.relay()
    await drain_relay(relay)
    assert scene.checkpoint("old") == END
    scene.streams.forget("old")
    await drain_relay(relay)
    assert len(feed.handed["young"]) == 1
    assert scene.told.gaps == []
    await relay.stop()


async def test_a_parent_that_left_the_stream_before_it_was_finished_is_told() -> None:
    scene = RelayEnv()
    scene.streams.open("old")
    scene.streams.put("old", "a", 1)
    relay, _ = scene.relay()
    await drain_relay(relay)
    await relay.stop()
    scene.streams.split("old", "young")
    scene.streams.put("young", "a", 2)
    scene.streams.forget("old")
    after, feed = scene.relay("two")
    await drain_relay(after)
    assert len(feed.handed["young"]) == 1
    assert scene.told.gaps == ["young"]
    assert after.counts.trimmed == 1
    await after.stop()


async def test_a_shard_that_vanishes_while_it_is_read_is_told_and_let_go() -> None:
    scene = RelayEnv()
    scene.streams.open("old")
    scene.streams.put("old", "a", 1)
    relay, feed = scene.relay()
    await drain_relay(relay)
    scene.streams.split("old", "young")
    scene.streams.put("young", "b", 1)
    scene.streams.forget("old")
    await drain_relay(relay)
    assert len(feed.handed["young"]) == 1
    assert relay.held == 1
    assert "old" in scene.told.gaps
    await relay.stop()


async def test_an_expired_iterator_is_replaced_where_reading_stood() -> None:
    scene = RelayEnv()
    scene.streams.page_records = 1
    scene.streams.open("s")
    numbers = [scene.streams.put("s", "a", n) for n in range(1, 6)]
    relay, feed = scene.relay()
    await relay.tend()
    while not feed.handed["s"]:
        await turns(1)
    scene.streams.expire_iterators()
    await turns()
    assert feed.handed["s"] == numbers
    await relay.stop()


async def test_trimmed_records_are_told_and_reading_goes_on_at_the_oldest() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    scene.handle("a", 1)
    relay, _ = scene.relay()
    await drain_relay(relay)
    await relay.stop()
    rest = [scene.streams.put("s", "a", n) for n in range(2, 7)]
    scene.streams.trim("s", 3)
    after, feed = scene.relay("two")
    await drain_relay(after)
    assert feed.handed["s"] == rest[2:]
    assert (scene.told.gaps, after.counts.trimmed) == (["s"], 1)
    await after.stop()


async def test_an_iterator_at_the_end_that_is_called_trimmed_alarms_nobody() -> None:
    """As DynamoDB Local does, of a shard that was empty when its first record came."""
    scene = RelayEnv()
    scene.streams.open("s")
    relay, feed = scene.relay()
    await drain_relay(relay)
    number = scene.streams.put("s", "a", 1)
    scene.streams.trimmed_by_mistake = 1
    await drain_relay(relay)
    assert feed.handed["s"] == [number]
    assert (scene.told.gaps, relay.counts.trimmed) == ([], 0)
    await relay.stop()


async def test_records_that_went_while_an_iterator_was_over_are_told() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    first = scene.streams.put("s", "a", 1)
    relay, feed = scene.relay()
    await drain_relay(relay)
    rest = [scene.streams.put("s", "a", n) for n in range(2, 5)]
    scene.streams.trim("s", 2)
    scene.streams.expire_iterators()
    await drain_relay(relay)
    assert feed.handed["s"] == [first, *rest[1:]]
    assert scene.told.gaps == ["s"]
    await relay.stop()


async def test_throttles_and_empty_pages_lose_nothing() -> None:
    scene = RelayEnv()
    scene.streams.empty_before = 3
    scene.streams.open("s")
    number = scene.streams.put("s", "a", 1)
    scene.streams.split("s", "t")
    relay, feed = scene.relay()
    await relay.tend()
    scene.streams.throttles = 5
    await turns(60)
    assert feed.handed["s"] == [number]
    await relay.stop()


async def test_only_new_entries_are_audited_and_only_removals_by_time_are_expiries() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    scene.streams.add("s", ChangeType.MODIFY, "acme#b", 1)
    scene.streams.add("s", ChangeType.INSERT, "acme#c#ephemeral", 1)
    scene.streams.add("s", ChangeType.REMOVE, "acme#d#ephemeral", 1)
    scene.streams.add("s", ChangeType.REMOVE, "acme#e#ephemeral", 7, is_expiry=True)
    relay, _ = scene.relay()
    await drain_relay(relay)
    assert relay.waiting == 1
    assert [(gone.chat.chat, gone.sequence) for gone in scene.kafka.gone] == [("e", 7)]
    await relay.stop()


async def test_no_checkpoint_passes_an_expiry_that_was_not_told() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    first = scene.streams.put("s", "a", 1)
    scene.handle("a", 1)
    scene.streams.page_records = 1
    last = scene.streams.add("s", ChangeType.REMOVE, "acme#e#ephemeral", 7, is_expiry=True)
    scene.kafka.is_away = True
    relay, _ = scene.relay()
    await drain_relay(relay)
    assert scene.checkpoint("s") == first
    scene.kafka.is_away = False
    while relay.counts.expired == 0:
        await turns(1)
    await drain_relay(relay)
    assert scene.checkpoint("s") == last
    await relay.stop()


steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "split", "merge", "expire", "throttle", "settle", "restart"]),
        st.integers(0, 9),
    ),
    min_size=5,
    max_size=40,
)


@settings(max_examples=40, deadline=None)
@given(steps, st.integers(1, 4), st.integers(1, 3), st.integers(0, 2))
def test_every_record_is_handed_once_in_order_and_after_its_parents(
    drawn: list[tuple[str, int]], page_records: int, page_shards: int, empty: int
) -> None:
    asyncio.run(_any_tree(drawn, page_records, page_shards, empty))


async def _any_tree(drawn: list[tuple[str, int]], page_records: int, page_shards: int, empty: int) -> None:
    scene = RelayEnv()
    streams = scene.streams
    streams.page_records, streams.page_shards, streams.empty_before = page_records, page_shards, empty
    streams.open("s0")
    relay, feed = scene.relay("r0")
    made: dict[str, list[str]] = {"s0": []}
    epoch = 0
    for what, number in drawn:
        open_ = [name for name, shard in streams.shards.items() if not shard.is_closed]
        shard = open_[number % len(open_)]
        if what == "put":
            made[shard].append(streams.put(shard, f"c{shard}", len(made[shard]) + 1))
            scene.handle(f"c{shard}", 10_000)
        elif what in {"split", "merge"}:
            children = [f"{shard}{letter}" for letter in ("ab" if what == "split" else "a")]
            streams.split(shard, *children)
            made |= {child: [] for child in children}
        elif what == "expire":
            streams.expire_iterators()
        elif what == "throttle":
            streams.throttles = number % 3
        elif what == "restart":
            streams.throttles = 0
            await drain_relay(relay, rounds=4 + 2 * len(streams.shards))
            await relay.stop()
            epoch += 1
            order, handed = feed.order, feed.handed
            relay, feed = scene.relay(f"r{epoch}")
            feed.order, feed.handed = order, handed
    streams.throttles = 0
    wanted = {shard: numbers for shard, numbers in made.items() if numbers}
    for _ in range(60):
        scene.clock.at += 2
        await drain_relay(relay, rounds=1)
        if {shard: numbers for shard, numbers in feed.handed.items() if numbers} == wanted:
            break
    assert {shard: numbers for shard, numbers in feed.handed.items() if numbers} == wanted
    _parents_first(feed.order, {name: shard.parent for name, shard in streams.shards.items()}, made)
    assert scene.told.gaps == []
    await relay.stop()


def _parents_first(
    order: list[tuple[str, str]], parents: dict[str, str | None], made: dict[str, list[str]]
) -> None:
    done: dict[str, int] = dict.fromkeys(made, 0)
    for shard, _ in order:
        parent = parents[shard]
        assert parent is None or done[parent] == len(made[parent])
        done[shard] += 1


async def test_a_quiet_shard_is_read_less_and_less_often_and_a_busy_one_at_once_again() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)

    async def take(page: RecordPage) -> None:
        assert page.records

    feed = DynamoChangeStream(scene.streams)
    await feed.shards()
    reading = ShardReader(
        feed, ShardId("s"), None, take, scene.told.on_trimmed, ReadPolicy(busy_s=0.5, idle_s=5.0)
    )
    assert [await reading.step() for _ in range(7)] == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0, 5.0]
    scene.streams.put("s", "a", 2)
    assert [await reading.step() for _ in range(3)] == [0.5, 1.0, 2.0]

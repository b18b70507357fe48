"""Shards: parents before children, each record once and in order, under all faults of the stream."""

import asyncio

from fixtures.relay_env import RelayEnv, drain_relay, tend, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.platform.dynamo.streams import ChangeType
from tidings.relay.model import END, RecordPage, ShardId
from tidings.relay.shards import ReadPolicy, ShardReader
from tidings.relay.store.stream import DynamoChangeStream


async def test_all_pages_of_shards_are_found_and_read() -> None:
    env = RelayEnv()
    env.streams.page_shards = 2
    for number in range(5):
        env.streams.open(f"s{number}")
        env.streams.put(f"s{number}", f"c{number}", 1)
        env.handle(f"c{number}", 1)
    relay, feed = env.relay()
    await drain_relay(relay, rounds=6)
    assert {shard: len(numbers) for shard, numbers in feed.handed.items()} == {f"s{n}": 1 for n in range(5)}
    await relay.stop()


async def test_a_child_waits_until_its_parent_is_read_and_processed() -> None:
    env = RelayEnv()
    env.streams.open("parent")
    first = env.streams.put("parent", "a", 1)
    env.streams.split("parent", "left", "right")
    env.streams.put("left", "a", 2)
    relay, feed = env.relay()
    await drain_relay(relay)
    assert feed.order == [("parent", first)]
    assert env.checkpoint("parent") is None
    env.handle("a", 2)
    env.clock.at += 2
    await drain_relay(relay)
    assert env.checkpoint("parent") == END
    assert len(feed.handed["left"]) == 1
    assert relay.held == 2
    await relay.stop()


async def test_the_grandchildren_of_a_shard_that_left_the_stream_are_read() -> None:
    env = RelayEnv()
    env.streams.open("old")
    env.streams.split("old", "young")
    env.streams.put("young", "a", 1)
    relay, feed = env.relay()
    await drain_relay(relay)
    assert env.checkpoint("old") == END
    env.streams.forget("old")
    await drain_relay(relay)
    assert len(feed.handed["young"]) == 1
    assert env.alerts.gaps == []
    await relay.stop()


async def test_a_parent_that_left_the_stream_unfinished_is_reported() -> None:
    env = RelayEnv()
    env.streams.open("old")
    env.streams.put("old", "a", 1)
    relay, _ = env.relay()
    await drain_relay(relay)
    await relay.stop()
    env.streams.split("old", "young")
    env.streams.put("young", "a", 2)
    env.streams.forget("old")
    after, feed = env.relay("two")
    await drain_relay(after)
    assert len(feed.handed["young"]) == 1
    assert env.alerts.gaps == ["young"]
    assert after.counts.trimmed == 1
    await after.stop()


async def test_a_shard_that_leaves_the_stream_while_it_is_read_is_reported_and_released() -> None:
    env = RelayEnv()
    env.streams.open("old")
    env.streams.put("old", "a", 1)
    relay, feed = env.relay()
    await drain_relay(relay)
    env.streams.split("old", "young")
    env.streams.put("young", "b", 1)
    env.streams.forget("old")
    await drain_relay(relay)
    assert len(feed.handed["young"]) == 1
    assert relay.held == 1
    assert "old" in env.alerts.gaps
    await relay.stop()


async def test_an_expired_iterator_is_replaced_at_the_same_position() -> None:
    env = RelayEnv()
    env.streams.page_records = 1
    env.streams.open("s")
    numbers = [env.streams.put("s", "a", n) for n in range(1, 6)]
    relay, feed = env.relay()
    await tend(relay)
    while not feed.handed["s"]:
        await turns(1)
    env.streams.expire_iterators()
    await turns()
    assert feed.handed["s"] == numbers
    await relay.stop()


async def test_trimmed_records_are_reported_and_reading_continues_at_the_oldest() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    env.handle("a", 1)
    relay, _ = env.relay()
    await drain_relay(relay)
    await relay.stop()
    rest = [env.streams.put("s", "a", n) for n in range(2, 7)]
    env.streams.trim("s", 3)
    after, feed = env.relay("two")
    await drain_relay(after)
    assert feed.handed["s"] == rest[2:]
    assert (env.alerts.gaps, after.counts.trimmed) == (["s"], 1)
    await after.stop()


async def test_a_trimmed_iterator_at_the_end_is_not_reported() -> None:
    """DynamoDB Local returns this error for the first record of an empty shard."""
    env = RelayEnv()
    env.streams.open("s")
    relay, feed = env.relay()
    await drain_relay(relay)
    number = env.streams.put("s", "a", 1)
    env.streams.trimmed_by_mistake = 1
    await drain_relay(relay)
    assert feed.handed["s"] == [number]
    assert (env.alerts.gaps, relay.counts.trimmed) == ([], 0)
    await relay.stop()


async def test_records_trimmed_while_an_iterator_was_expired_are_reported() -> None:
    env = RelayEnv()
    env.streams.open("s")
    first = env.streams.put("s", "a", 1)
    relay, feed = env.relay()
    await drain_relay(relay)
    rest = [env.streams.put("s", "a", n) for n in range(2, 5)]
    env.streams.trim("s", 2)
    env.streams.expire_iterators()
    await drain_relay(relay)
    assert feed.handed["s"] == [first, *rest[1:]]
    assert env.alerts.gaps == ["s"]
    await relay.stop()


async def test_throttles_and_empty_pages_lose_nothing() -> None:
    env = RelayEnv()
    env.streams.empty_before = 3
    env.streams.open("s")
    number = env.streams.put("s", "a", 1)
    env.streams.split("s", "t")
    relay, feed = env.relay()
    await tend(relay)
    env.streams.throttles = 5
    await turns(60)
    assert feed.handed["s"] == [number]
    await relay.stop()


async def test_only_new_entries_are_audited_and_only_ttl_removals_are_expirations() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    env.streams.add("s", ChangeType.MODIFY, "acme#b", 1)
    env.streams.add("s", ChangeType.INSERT, "acme#c#ephemeral", 1)
    env.streams.add("s", ChangeType.REMOVE, "acme#d#ephemeral", 1)
    env.streams.add("s", ChangeType.REMOVE, "acme#e#ephemeral", 7, is_expiry=True)
    relay, _ = env.relay()
    await drain_relay(relay)
    assert relay.waiting == 1
    assert [(gone.chat.chat, gone.sequence) for gone in env.kafka.gone] == [("e", 7)]
    await relay.stop()


async def test_no_checkpoint_passes_an_unpublished_expiration() -> None:
    env = RelayEnv()
    env.streams.open("s")
    first = env.streams.put("s", "a", 1)
    env.handle("a", 1)
    env.streams.page_records = 1
    last = env.streams.add("s", ChangeType.REMOVE, "acme#e#ephemeral", 7, is_expiry=True)
    env.kafka.is_away = True
    relay, _ = env.relay()
    await drain_relay(relay)
    assert env.checkpoint("s") == first
    env.kafka.is_away = False
    while relay.counts.expired == 0:
        await turns(1)
    await drain_relay(relay)
    assert env.checkpoint("s") == last
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
def test_every_record_is_read_once_in_order_and_after_its_parents(
    drawn: list[tuple[str, int]], page_records: int, page_shards: int, empty: int
) -> None:
    asyncio.run(_any_tree(drawn, page_records, page_shards, empty))


async def _any_tree(drawn: list[tuple[str, int]], page_records: int, page_shards: int, empty: int) -> None:
    env = RelayEnv()
    streams = env.streams
    streams.page_records, streams.page_shards, streams.empty_before = page_records, page_shards, empty
    streams.open("s0")
    relay, feed = env.relay("r0")
    made: dict[str, list[str]] = {"s0": []}
    epoch = 0
    for what, number in drawn:
        open_ = [name for name, shard in streams.shards.items() if not shard.is_closed]
        shard = open_[number % len(open_)]
        if what == "put":
            made[shard].append(streams.put(shard, f"c{shard}", len(made[shard]) + 1))
            env.handle(f"c{shard}", 10_000)
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
            relay, feed = env.relay(f"r{epoch}")
            feed.order, feed.handed = order, handed
    streams.throttles = 0
    wanted = {shard: numbers for shard, numbers in made.items() if numbers}
    for _ in range(60):
        env.clock.at += 2
        await drain_relay(relay, rounds=1)
        if {shard: numbers for shard, numbers in feed.handed.items() if numbers} == wanted:
            break
    assert {shard: numbers for shard, numbers in feed.handed.items() if numbers} == wanted
    _parents_first(feed.order, {name: shard.parent for name, shard in streams.shards.items()}, made)
    assert env.alerts.gaps == []
    await relay.stop()


def _parents_first(
    order: list[tuple[str, str]], parents: dict[str, str | None], made: dict[str, list[str]]
) -> None:
    done: dict[str, int] = dict.fromkeys(made, 0)
    for shard, _ in order:
        parent = parents[shard]
        assert parent is None or done[parent] == len(made[parent])
        done[shard] += 1


async def test_an_idle_shard_is_read_less_often_and_a_busy_one_at_once() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)

    async def take(page: RecordPage) -> None:
        assert page.records

    feed = DynamoChangeStream(env.streams)
    await feed.shards()
    reading = ShardReader(
        feed, ShardId("s"), None, take, env.alerts.on_trimmed, ReadPolicy(busy_s=0.5, idle_s=5.0)
    )
    assert [await reading.step() for _ in range(7)] == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0, 5.0]
    env.streams.put("s", "a", 2)
    assert [await reading.step() for _ in range(3)] == [0.5, 1.0, 2.0]

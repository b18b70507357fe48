"""The audit: what is not handled is published again, what lag explains is waited for, and the checkpoint waits."""

from itertools import pairwise

import pytest
from fixtures.relay_env import PATIENCE, RelayEnv, chat_of, drain_relay

from tidings.kernel.fences import OffsetFence, PartitionProgress, is_explained_by_lag
from tidings.platform.dynamo.streams import ChangeType
from tidings.relay.audit import POINTS_PER_CHAT
from tidings.relay.relay import RelayTiming
from tidings.relay.rules import backoff_s, chunk_by_size

A = chat_of("a")


async def later(scene: RelayEnv, relay: object, by_s: float = 6.0) -> None:
    scene.clock.at += by_s
    await drain_relay(relay, rounds=1)  # type: ignore[arg-type]


async def test_a_commit_that_nobody_published_is_published_after_a_while() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    relay, _ = scene.relay()
    await drain_relay(relay)
    assert scene.kafka.log == []
    await later(scene, relay)
    assert scene.kafka.of(A) == [(1,)]
    assert relay.audit.counts.republished == 1
    await relay.stop()


async def test_what_is_marked_is_left_alone() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    last = scene.streams.put("s", "a", 4)
    scene.handle("a", 4)
    relay, _ = scene.relay()
    await drain_relay(relay)
    await later(scene, relay, 60)
    assert scene.kafka.log == []
    assert (relay.waiting, scene.checkpoint("s")) == (0, last)
    await relay.stop()


async def test_a_range_from_the_mark_on_is_published_as_one() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    for sequence in range(5, 10):
        scene.streams.put("s", "a", sequence)
    scene.handle("a", 3)
    relay, _ = scene.relay()
    await drain_relay(relay)
    await later(scene, relay)
    assert scene.kafka.of(A) == [(4, 5, 6, 7, 8, 9)]
    await relay.stop()


async def test_a_chat_without_a_mark_is_published_from_what_was_seen() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    for sequence in (71, 70, 72):  # entries of one transaction come in any order
        scene.streams.put("s", "a", sequence)
    relay, _ = scene.relay()
    await drain_relay(relay)
    await later(scene, relay)
    assert scene.kafka.of(A) == [(70, 71, 72)]
    await relay.stop()


async def test_a_chat_whose_mark_was_lost_gets_one_below_what_nobody_has_handled() -> None:
    """A worker that knows nothing of the chat would mark the next entry, and this one would count as handled with it."""
    scene = RelayEnv()
    scene.streams.open("s")
    for chat, sequence in (("a", 70), ("a", 71), ("b", 1), ("c", 9)):
        scene.streams.put("s", chat, sequence)
    scene.handle("c", 3)
    relay, _ = scene.relay()
    await drain_relay(relay)
    assert scene.marks.at == {A: 69, chat_of("b"): 0, chat_of("c"): 3}
    await relay.stop()


async def test_while_consumers_are_behind_nothing_is_published_again() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    scene.kafka.fill(10)
    scene.kafka.committed = 3
    relay, _ = scene.relay()
    await drain_relay(relay)
    for _ in range(5):
        await later(scene, relay, 30)
    assert scene.kafka.of(A) == []
    scene.kafka.fill(50)  # what comes after the fence is not waited for
    scene.kafka.committed = 10
    await later(scene, relay, 30)
    assert scene.kafka.of(A) == [(1,)]
    await relay.stop()


async def test_what_was_handled_while_it_was_waited_for_is_not_published() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    number = scene.streams.put("s", "a", 1)
    scene.kafka.fill(10)
    relay, _ = scene.relay()
    await drain_relay(relay)
    await later(scene, relay)
    scene.kafka.committed = 10
    scene.handle("a", 1)
    await later(scene, relay, 30)
    assert scene.kafka.of(A) == []
    assert scene.checkpoint("s") == number
    await relay.stop()


async def test_what_is_handled_between_the_reads_of_offsets_and_marks_is_not_published() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    scene.kafka.fill(10)
    relay, _ = scene.relay()
    await drain_relay(relay)
    await later(scene, relay)

    def handle() -> None:
        scene.handle("a", 1)
        scene.kafka.committed = 10

    scene.marks.after_reading = handle
    for _ in range(3):
        await later(scene, relay, 30)
    assert scene.kafka.of(A) == []
    await relay.stop()


async def test_a_lost_log_explains_nothing() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    scene.kafka.fill(10)
    relay, _ = scene.relay()
    await drain_relay(relay)
    await later(scene, relay)
    scene.kafka.lose()
    await later(scene, relay, 30)
    assert scene.kafka.of(A) == [(1,)]
    await relay.stop()


async def test_what_was_published_again_is_waited_for_before_the_next_try() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    relay, _ = scene.relay()
    await drain_relay(relay)
    for _ in range(5):
        await later(scene, relay, 600)
    assert scene.kafka.of(A) == [(1,)]
    scene.kafka.committed = len(scene.kafka.log)
    await later(scene, relay, 600)
    assert scene.kafka.of(A) == [(1,), (1,)]
    await relay.stop()


async def test_tries_come_further_and_further_apart() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    relay, _ = scene.relay()
    await drain_relay(relay)
    tries: list[float] = []
    while len(tries) < 4:
        await later(scene, relay, 1)
        scene.kafka.committed = len(scene.kafka.log)
        if len(scene.kafka.of(A)) > len(tries):
            tries.append(scene.clock.at)
    gaps = [after - before for before, after in pairwise(tries)]
    assert gaps[0] >= 2
    assert gaps[1] >= 5
    assert gaps[2] >= 10
    await relay.stop()


async def test_the_checkpoint_stays_before_the_oldest_that_is_not_handled() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    before = scene.streams.put("s", "b", 1)
    scene.streams.put("s", "a", 1)
    scene.streams.add("s", ChangeType.MODIFY, "acme#b", 1)
    last = scene.streams.put("s", "b", 2)
    scene.handle("b", 2)
    relay, _ = scene.relay()
    await drain_relay(relay)
    assert scene.checkpoint("s") == before
    scene.handle("a", 1)
    scene.clock.at += 2
    await drain_relay(relay)
    assert scene.checkpoint("s") == last
    await relay.stop()


async def test_a_busy_chat_that_is_handled_a_little_late_does_not_hold_the_checkpoint() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    relay, _ = scene.relay()
    for sequence in range(1, 30):
        scene.streams.put("s", "a", sequence)
        scene.handle("a", sequence - 1)
        scene.clock.at += 2
        await drain_relay(relay, rounds=1)
    numbers = [record.sequence_number for record in scene.streams.shards["s"].records]
    assert numbers.index(scene.checkpoint("s") or "") >= 25
    assert scene.kafka.of(A) == []
    await relay.stop()


async def test_while_marks_are_away_nobody_is_judged() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    scene.marks.is_away = True
    relay, _ = scene.relay()
    await relay.tend()
    with pytest.raises(Exception, match="marks"):
        await drain_relay(relay)
    scene.clock.at += 60
    assert (scene.kafka.log, scene.checkpoint("s")) == ([], None)
    await relay.stop()


async def test_while_kafka_is_away_nothing_is_lost_or_given_up() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    scene.kafka.is_away = True
    relay, _ = scene.relay()
    for _ in range(50):
        await later(scene, relay, 3600)
    assert (scene.told.chats, scene.checkpoint("s")) == ([], None)
    scene.kafka.is_away = False
    await later(scene, relay, 11)
    assert scene.kafka.of(A) == [(1,)]
    await relay.stop()


async def test_tries_that_kafka_did_not_take_do_not_count() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    scene.kafka.takes_nothing = True
    relay, _ = scene.relay()
    for _ in range(3 * PATIENCE.max_tries):
        await later(scene, relay, 600)
    assert scene.told.chats == []
    scene.kafka.takes_nothing = False
    await later(scene, relay, 11)
    assert scene.kafka.of(A) == [(1,)]
    await relay.stop()


async def test_a_chat_that_stays_unhandled_is_set_down_and_told() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.streams.put("s", "a", 1)
    last = scene.streams.put("s", "b", 1)
    scene.handle("b", 1)
    relay, _ = scene.relay()
    for _ in range(PATIENCE.max_tries + 3):
        await later(scene, relay, 600)
        scene.kafka.committed = len(scene.kafka.log)
    assert len(scene.kafka.of(A)) == PATIENCE.max_tries
    assert scene.told.chats == [(A, 1, 1)]
    assert scene.checkpoint("s") == last
    await relay.stop()


async def test_the_next_entry_of_a_chat_that_was_set_down_tries_all_of_it_again() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    scene.handle("a", 3)
    scene.streams.put("s", "a", 4)
    relay, _ = scene.relay()
    for _ in range(PATIENCE.max_tries + 3):
        await later(scene, relay, 600)
        scene.kafka.committed = len(scene.kafka.log)
    scene.streams.put("s", "a", 5)
    await later(scene, relay)
    await later(scene, relay)
    assert scene.kafka.of(A)[-1] == (4, 5)
    await relay.stop()


async def test_a_stuck_busy_chat_takes_bounded_room_and_is_published_whole() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    for sequence in range(1, 401):
        scene.streams.put("s", "a", sequence)
    relay, _ = scene.relay()
    await drain_relay(relay)
    assert relay.waiting == POINTS_PER_CHAT
    await later(scene, relay)
    assert scene.kafka.of(A) == [tuple(range(1, 401))]
    await relay.stop()


async def test_a_shard_is_read_no_further_while_too_much_waits() -> None:
    scene = RelayEnv(times=RelayTiming(lease_s=15, discover_every_s=0, round_s=0.001, max_waiting=10))
    scene.streams.page_records = 5
    scene.streams.open("s")
    for number in range(40):
        scene.streams.put("s", f"c{number}", 1)
    relay, feed = scene.relay()
    await drain_relay(relay, rounds=5)
    assert len(feed.handed["s"]) == 10
    for number in range(40):
        scene.handle(f"c{number}", 1)
    while len(feed.handed["s"]) < 40:
        await later(scene, relay, 2)
    await relay.stop()


def test_lag_explains_what_lies_below_the_fence_and_nothing_else() -> None:
    assert is_explained_by_lag(OffsetFence(0, 10), PartitionProgress(0, 20, 9))
    assert not is_explained_by_lag(OffsetFence(0, 10), PartitionProgress(0, 20, 10))
    assert not is_explained_by_lag(OffsetFence(0, 10), PartitionProgress(0, 5, 3))
    assert not is_explained_by_lag(OffsetFence(0, 10), PartitionProgress(1, 20, 9))


def test_waits_grow_and_end_somewhere() -> None:
    assert [backoff_s(5, 60, tries) for tries in (0, 1, 3, 4, 5000)] == [5, 10, 40, 60, 60]


def test_a_record_of_the_topic_is_bounded_in_entries_and_bytes() -> None:
    assert chunk_by_size([("a", 4), ("b", 4), ("c", 4)], 2, 100) == [["a", "b"], ["c"]]
    assert chunk_by_size([("a", 60), ("b", 60), ("c", 400)], 9, 100) == [["a"], ["b"], ["c"]]
    assert chunk_by_size([], 9, 100) == []

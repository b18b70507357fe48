"""The audit republishes lost entries, waits for entries that consumer lag explains, and holds back the checkpoint."""

from itertools import pairwise

import pytest
from fixtures.relay_env import PATIENCE, RelayEnv, chat_of, drain_relay, tend

from tidings.platform.dynamo.streams import ChangeType
from tidings.relay.audit import POINTS_PER_CHAT
from tidings.relay.relay import RelayTiming

A = chat_of("a")


async def later(env: RelayEnv, relay: object, by_s: float = 6.0) -> None:
    env.clock.at += by_s
    await drain_relay(relay, rounds=1)  # type: ignore[arg-type]


async def test_a_commit_that_was_not_published_is_published_after_the_delay() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    relay, _ = env.relay()
    await drain_relay(relay)
    assert env.kafka.log == []
    await later(env, relay)
    assert env.kafka.of(A) == [(1,)]
    assert relay.audit.counts.republished == 1
    await relay.stop()


async def test_entries_below_the_checkpoint_are_not_republished() -> None:
    env = RelayEnv()
    env.streams.open("s")
    last = env.streams.put("s", "a", 4)
    env.handle("a", 4)
    relay, _ = env.relay()
    await drain_relay(relay)
    await later(env, relay, 60)
    assert env.kafka.log == []
    assert (relay.waiting, env.checkpoint("s")) == (0, last)
    await relay.stop()


async def test_all_entries_after_the_checkpoint_are_published_together() -> None:
    env = RelayEnv()
    env.streams.open("s")
    for sequence in range(5, 10):
        env.streams.put("s", "a", sequence)
    env.handle("a", 3)
    relay, _ = env.relay()
    await drain_relay(relay)
    await later(env, relay)
    assert env.kafka.of(A) == [(4, 5, 6, 7, 8, 9)]
    await relay.stop()


async def test_a_chat_without_a_checkpoint_is_published_from_the_first_seen_entry() -> None:
    env = RelayEnv()
    env.streams.open("s")
    for sequence in (71, 70, 72):  # entries of one transaction are in any order
        env.streams.put("s", "a", sequence)
    relay, _ = env.relay()
    await drain_relay(relay)
    await later(env, relay)
    assert env.kafka.of(A) == [(70, 71, 72)]
    await relay.stop()


async def test_a_lost_checkpoint_is_created_below_the_first_unprocessed_entry() -> None:
    """Otherwise a worker without a checkpoint processes the next entry, and its checkpoint also covers this one."""
    env = RelayEnv()
    env.streams.open("s")
    for chat, sequence in (("a", 70), ("a", 71), ("b", 1), ("c", 9)):
        env.streams.put("s", chat, sequence)
    env.handle("c", 3)
    relay, _ = env.relay()
    await drain_relay(relay)
    assert env.marks.at == {A: 69, chat_of("b"): 0, chat_of("c"): 3}
    await relay.stop()


async def test_nothing_is_republished_while_consumers_lag() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    env.kafka.fill(10)
    env.kafka.committed = 3
    relay, _ = env.relay()
    await drain_relay(relay)
    for _ in range(5):
        await later(env, relay, 30)
    assert env.kafka.of(A) == []
    env.kafka.fill(50)  # the audit does not wait for events after the fence
    env.kafka.committed = 10
    await later(env, relay, 30)
    assert env.kafka.of(A) == [(1,)]
    await relay.stop()


async def test_entries_that_consumers_processed_in_the_meantime_are_not_republished() -> None:
    env = RelayEnv()
    env.streams.open("s")
    number = env.streams.put("s", "a", 1)
    env.kafka.fill(10)
    relay, _ = env.relay()
    await drain_relay(relay)
    await later(env, relay)
    env.kafka.committed = 10
    env.handle("a", 1)
    await later(env, relay, 30)
    assert env.kafka.of(A) == []
    assert env.checkpoint("s") == number
    await relay.stop()


async def test_entries_processed_between_the_reads_of_offsets_and_checkpoints_are_not_republished() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    env.kafka.fill(10)
    relay, _ = env.relay()
    await drain_relay(relay)
    await later(env, relay)

    def handle() -> None:
        env.handle("a", 1)
        env.kafka.committed = 10

    env.marks.after_reading = handle
    for _ in range(3):
        await later(env, relay, 30)
    assert env.kafka.of(A) == []
    await relay.stop()


async def test_entries_are_republished_after_kafka_lost_its_log() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    env.kafka.fill(10)
    relay, _ = env.relay()
    await drain_relay(relay)
    await later(env, relay)
    env.kafka.lose()
    await later(env, relay, 30)
    assert env.kafka.of(A) == [(1,)]
    await relay.stop()


async def test_a_republished_entry_is_republished_again_only_after_consumers_passed_it() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    relay, _ = env.relay()
    await drain_relay(relay)
    for _ in range(5):
        await later(env, relay, 600)
    assert env.kafka.of(A) == [(1,)]
    env.kafka.committed = len(env.kafka.log)
    await later(env, relay, 600)
    assert env.kafka.of(A) == [(1,), (1,)]
    await relay.stop()


async def test_the_time_between_tries_grows() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    relay, _ = env.relay()
    await drain_relay(relay)
    tries: list[float] = []
    while len(tries) < 4:
        await later(env, relay, 1)
        env.kafka.committed = len(env.kafka.log)
        if len(env.kafka.of(A)) > len(tries):
            tries.append(env.clock.at)
    gaps = [after - before for before, after in pairwise(tries)]
    assert gaps[0] >= 2
    assert gaps[1] >= 5
    assert gaps[2] >= 10
    await relay.stop()


async def test_the_checkpoint_stays_before_the_oldest_unprocessed_entry() -> None:
    env = RelayEnv()
    env.streams.open("s")
    before = env.streams.put("s", "b", 1)
    env.streams.put("s", "a", 1)
    env.streams.add("s", ChangeType.MODIFY, "acme#b", 1)
    last = env.streams.put("s", "b", 2)
    env.handle("b", 2)
    relay, _ = env.relay()
    await drain_relay(relay)
    assert env.checkpoint("s") == before
    env.handle("a", 1)
    env.clock.at += 2
    await drain_relay(relay)
    assert env.checkpoint("s") == last
    await relay.stop()


async def test_a_busy_chat_with_little_lag_does_not_hold_back_the_checkpoint() -> None:
    env = RelayEnv()
    env.streams.open("s")
    relay, _ = env.relay()
    for sequence in range(1, 30):
        env.streams.put("s", "a", sequence)
        env.handle("a", sequence - 1)
        env.clock.at += 2
        await drain_relay(relay, rounds=1)
    numbers = [record.sequence_number for record in env.streams.shards["s"].records]
    assert numbers.index(env.checkpoint("s") or "") >= 25
    assert env.kafka.of(A) == []
    await relay.stop()


async def test_nothing_is_republished_while_checkpoints_are_unavailable() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    env.marks.is_away = True
    relay, _ = env.relay()
    await tend(relay)
    with pytest.raises(Exception, match="marks"):
        await drain_relay(relay)
    env.clock.at += 60
    assert (env.kafka.log, env.checkpoint("s")) == ([], None)
    await relay.stop()


async def test_chats_of_available_shards_are_republished_while_other_shards_are_unavailable() -> None:
    env = RelayEnv()
    env.streams.open("s")
    for name in ("a", "b", "c"):
        env.streams.put("s", name, 1)
    env.handle("c", 1)
    env.marks.unknown = {chat_of("b")}
    relay, _ = env.relay()
    await drain_relay(relay)
    await later(env, relay)
    assert env.kafka.of(A) == [(1,)]
    assert env.kafka.of(chat_of("b")) == [], "it may have been processed"
    assert relay.waiting == 2
    env.marks.unknown, env.kafka.committed = set(), len(env.kafka.log)
    await later(env, relay, 12)
    assert env.kafka.of(chat_of("b")) == [(1,)]
    await relay.stop()


async def test_no_entry_is_lost_or_given_up_while_kafka_is_unavailable() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    env.kafka.is_away = True
    relay, _ = env.relay()
    for _ in range(50):
        await later(env, relay, 3600)
    assert (env.alerts.chats, env.checkpoint("s")) == ([], None)
    env.kafka.is_away = False
    await later(env, relay, 11)
    assert env.kafka.of(A) == [(1,)]
    await relay.stop()


async def test_a_publish_that_fails_does_not_count_as_a_try() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    env.kafka.takes_nothing = True
    relay, _ = env.relay()
    for _ in range(3 * PATIENCE.max_tries):
        await later(env, relay, 600)
    assert env.alerts.chats == []
    env.kafka.takes_nothing = False
    await later(env, relay, 11)
    assert env.kafka.of(A) == [(1,)]
    await relay.stop()


async def test_a_chat_that_stays_unprocessed_is_given_up_and_reported() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.streams.put("s", "a", 1)
    last = env.streams.put("s", "b", 1)
    env.handle("b", 1)
    relay, _ = env.relay()
    for _ in range(PATIENCE.max_tries + 3):
        await later(env, relay, 600)
        env.kafka.committed = len(env.kafka.log)
    assert len(env.kafka.of(A)) == PATIENCE.max_tries
    assert env.alerts.chats == [(A, 1, 1)]
    assert env.checkpoint("s") == last
    await relay.stop()


async def test_the_next_entry_of_a_given_up_chat_republishes_all_of_it() -> None:
    env = RelayEnv()
    env.streams.open("s")
    env.handle("a", 3)
    env.streams.put("s", "a", 4)
    relay, _ = env.relay()
    for _ in range(PATIENCE.max_tries + 3):
        await later(env, relay, 600)
        env.kafka.committed = len(env.kafka.log)
    env.streams.put("s", "a", 5)
    await later(env, relay)
    await later(env, relay)
    assert env.kafka.of(A)[-1] == (4, 5)
    await relay.stop()


async def test_a_stuck_busy_chat_has_a_bounded_backlog_and_is_republished_completely() -> None:
    env = RelayEnv()
    env.streams.open("s")
    for sequence in range(1, 401):
        env.streams.put("s", "a", sequence)
    relay, _ = env.relay()
    await drain_relay(relay)
    assert relay.waiting == POINTS_PER_CHAT
    await later(env, relay)
    assert env.kafka.of(A) == [tuple(range(1, 401))]
    await relay.stop()


async def test_reading_pauses_while_the_backlog_is_too_large() -> None:
    env = RelayEnv(times=RelayTiming(lease_s=15, discover_every_s=0, round_s=0.001, max_waiting=10))
    env.streams.page_records = 5
    env.streams.open("s")
    for number in range(40):
        env.streams.put("s", f"c{number}", 1)
    relay, feed = env.relay()
    await drain_relay(relay, rounds=5)
    assert len(feed.handed["s"]) == 10
    for number in range(40):
        env.handle(f"c{number}", 1)
    while len(feed.handed["s"]) < 40:
        await later(env, relay, 2)
    await relay.stop()

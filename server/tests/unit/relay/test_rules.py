"""Rules of the relay: gaps in the stream, lag of consumers, backoff, and the size of a record."""

from tidings.kernel.fences import OffsetFence, PartitionProgress, is_explained_by_lag
from tidings.relay.model import Lease, ShardId, StreamShard
from tidings.relay.rules import backoff_s, chunk_by_size, has_gap

PARENT, CHILD = ShardId("parent"), ShardId("child")
ORPHAN = StreamShard(CHILD, PARENT)
OTHER = Lease(shard=ShardId("other"), counter=1)


def test_a_parent_that_left_the_stream_unfinished_is_a_gap() -> None:
    held = Lease(shard=PARENT, counter=1)
    assert has_gap(ORPHAN, [ORPHAN], {PARENT: held})


def test_a_parent_without_a_lease_is_a_gap_if_a_relay_ran_before() -> None:
    assert has_gap(ORPHAN, [ORPHAN], {OTHER.shard: OTHER})


def test_the_first_relay_of_an_installation_has_no_gap() -> None:
    assert not has_gap(ORPHAN, [ORPHAN], {})


def test_the_second_shard_of_the_first_relay_has_no_gap() -> None:
    """The relay then has a lease, of a shard that is still listed."""
    assert not has_gap(
        ORPHAN, [StreamShard(OTHER.shard, ShardId("another parent")), ORPHAN], {OTHER.shard: OTHER}
    )


def test_a_parent_that_is_listed_or_finished_is_no_gap() -> None:
    assert not has_gap(ORPHAN, [StreamShard(PARENT, None), ORPHAN], {OTHER.shard: OTHER})


def test_lag_explains_only_events_below_the_fence() -> None:
    assert is_explained_by_lag(OffsetFence(0, 10), PartitionProgress(0, 20, 9))
    assert not is_explained_by_lag(OffsetFence(0, 10), PartitionProgress(0, 20, 10))
    assert not is_explained_by_lag(OffsetFence(0, 10), PartitionProgress(0, 5, 3))
    assert not is_explained_by_lag(OffsetFence(0, 10), PartitionProgress(1, 20, 9))


def test_backoff_grows_up_to_its_maximum() -> None:
    assert [backoff_s(5, 60, tries) for tries in (0, 1, 3, 4, 5000)] == [5, 10, 40, 60, 60]


def test_a_record_of_the_topic_is_bounded_in_entries_and_bytes() -> None:
    assert chunk_by_size([("a", 4), ("b", 4), ("c", 4)], 2, 100) == [["a", "b"], ["c"]]
    assert chunk_by_size([("a", 60), ("b", 60), ("c", 400)], 9, 100) == [["a"], ["b"], ["c"]]
    assert chunk_by_size([], 9, 100) == []

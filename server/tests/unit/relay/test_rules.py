"""Detect commits that left the stream before a relay read them."""

from tidings.relay.model import Lease, ShardId, StreamShard
from tidings.relay.rules import has_gap

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

"""When commits have left the stream unread, and when there was nobody yet to read them."""

from tidings.relay.model import Lease, ShardId, StreamShard
from tidings.relay.rules import has_gap

PARENT, CHILD = ShardId("parent"), ShardId("child")
ORPHAN = StreamShard(CHILD, PARENT)
OTHER = Lease(shard=ShardId("other"), counter=1)


def test_a_parent_that_vanished_unfinished_is_a_gap() -> None:
    held = Lease(shard=PARENT, counter=1)
    assert has_gap(ORPHAN, [ORPHAN], {PARENT: held})


def test_so_is_one_that_nobody_held_though_there_were_relays_before_it() -> None:
    assert has_gap(ORPHAN, [ORPHAN], {OTHER.shard: OTHER})


def test_the_first_relay_of_all_misses_nothing() -> None:
    assert not has_gap(ORPHAN, [ORPHAN], {})


def test_nor_does_it_with_the_second_shard_that_it_begins() -> None:
    """By then it has a lease of its own, of a shard that is there."""
    assert not has_gap(
        ORPHAN, [StreamShard(OTHER.shard, ShardId("another parent")), ORPHAN], {OTHER.shard: OTHER}
    )


def test_a_parent_that_is_there_or_was_finished_is_none() -> None:
    assert not has_gap(ORPHAN, [StreamShard(PARENT, None), ORPHAN], {OTHER.shard: OTHER})

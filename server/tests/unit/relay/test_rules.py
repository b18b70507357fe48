"""When commits have left the stream unread, and when there was nobody yet to read them."""

from tidings.relay.model import Lease, Shard, ShardId
from tidings.relay.rules import has_gap

PARENT, CHILD = ShardId("parent"), ShardId("child")
ORPHAN = Shard(CHILD, PARENT)
OTHER = Lease(shard=ShardId("other"), counter=1)


def test_a_parent_that_vanished_unfinished_is_a_gap() -> None:
    assert has_gap(ORPHAN, [ORPHAN], {OTHER.shard: OTHER})


def test_the_first_relay_of_all_misses_nothing() -> None:
    assert not has_gap(ORPHAN, [ORPHAN], {})


def test_a_parent_that_is_there_or_was_finished_is_none() -> None:
    assert not has_gap(ORPHAN, [Shard(PARENT, None), ORPHAN], {OTHER.shard: OTHER})

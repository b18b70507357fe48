"""Ids that sort by time."""

from tidings.kernel.ids import new_ulid, new_ulid_after


def test_a_later_ulid_sorts_after_the_earlier_one_within_the_same_millisecond() -> None:
    earlier = new_ulid()
    for _ in range(1_000):
        later = new_ulid_after(earlier)
        assert later > earlier
        earlier = later

"""Timers: each is returned once, never early, and costs nothing while it waits."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from tidings.gateway.timer_wheel import TimerEntry, TimerWheel

TURN_S = 0.25


class Item(TimerEntry):
    """An item with a timer."""


def test_due_items_are_returned_once_and_the_earliest_first() -> None:
    timers, late, early = TimerWheel[Item](TURN_S), Item(), Item()
    timers.set(late, 2.0)
    timers.set(early, 1.0)
    assert timers.due(0.99) == []
    assert timers.due(2.0) == [early, late]
    assert timers.due(99.0) == []


def test_a_returned_item_can_be_scheduled_again_or_cancelled() -> None:
    timers, item = TimerWheel[Item](TURN_S), Item()
    timers.set(item, 1.0)
    assert timers.due(1.0) == [item]
    timers.cancel(item)
    timers.set(item, 1.0)
    assert timers.due(1.0) == [item]


def test_a_new_time_replaces_the_old_and_a_cancelled_one_is_forgotten() -> None:
    timers, moved, gone, never = TimerWheel[Item](TURN_S), Item(), Item(), Item()
    timers.set(moved, 5.0)
    timers.set(moved, 1.0)
    timers.set(gone, 1.0)
    timers.cancel(gone)
    timers.cancel(gone)
    timers.set(never, 1.0)
    timers.set(never, inf)
    assert len(timers) == 1
    assert timers.due(9.0) == [moved]


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), max_size=30))
def test_no_item_is_early_or_later_than_one_turn(times: list[tuple[float, float]]) -> None:
    timers = TimerWheel[Item](TURN_S)
    wanted = {Item(): at for _, at in times}
    for item, (before, at) in zip(wanted, times, strict=True):
        timers.set(item, before)
        timers.set(item, at)
    found: dict[Item, float] = {}
    for turn in range(round(101 / TURN_S)):
        found |= dict.fromkeys(timers.due(turn * TURN_S), turn * TURN_S)
    assert found.keys() == wanted.keys()
    assert all(0 <= found[item] - at <= 2 * TURN_S for item, at in wanted.items())

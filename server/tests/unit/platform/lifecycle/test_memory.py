"""Memory is given back when most of what took it has gone, and not each time that one goes."""

import gc

from tidings.platform.lifecycle.memory import GiveBack, settle


def test_it_is_given_back_once_after_a_crowd_has_left() -> None:
    memory = GiveBack()
    for count in (0, 5_000, 4_000, 2_600):
        memory.look(count)
    assert memory.times == 0
    memory.look(2_400)
    memory.look(2_300)
    assert memory.times == 1


def test_a_few_that_leave_are_not_worth_it() -> None:
    memory = GiveBack()
    memory.look(900)
    memory.look(0)
    assert memory.times == 0


def test_what_stands_after_the_start_is_not_searched_again() -> None:
    before = gc.get_threshold()
    try:
        settle()
        assert gc.get_freeze_count() > 1_000
        assert gc.get_threshold()[0] > before[0]
        assert gc.get_threshold()[1:] == before[1:]
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)

"""Memory is given back when most of what took it has gone, and not each time that one goes."""

from tidings.platform.lifecycle.memory import GiveBack


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

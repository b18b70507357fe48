"""The explorer, on state machines with known results."""

import pytest
from model.explore import Label, TooManyStatesError, explore, goes_round, reaches


class Increments:
    """Two threads each read a shared counter and write it back plus one: the classic lost update.

    A state is the counter and, for each thread, the value that it has read, or its phase: before its read, or done.
    """

    BEFORE, DONE = -1, -2

    def __init__(self, *, is_atomic: bool = False) -> None:
        self.is_atomic = is_atomic

    def initial(self) -> list[tuple[int, int, int]]:
        return [(0, self.BEFORE, self.BEFORE)]

    def steps(self, state: tuple[int, int, int]) -> list[tuple[Label, tuple[int, int, int]]]:
        counter, *threads = state
        found: list[tuple[Label, tuple[int, int, int]]] = []
        for number, at in enumerate(threads):
            after = threads.copy()
            if at == self.BEFORE:
                after[number] = self.DONE if self.is_atomic else counter
                raised = counter + self.is_atomic
                found.append((("thread", number, "reads"), (raised, after[0], after[1])))
            elif at != self.DONE:
                after[number] = self.DONE
                found.append((("thread", number, "writes", at + 1), (at + 1, after[0], after[1])))
        return found

    def broken(self, state: tuple[int, int, int]) -> str | None:
        return "never above two" if state[0] > 2 else None

    def broken_by_step(self, before: tuple[int, int, int], after: tuple[int, int, int]) -> str | None:
        return "never falls" if after[0] < before[0] else None

    def broken_at_end(self, state: tuple[int, int, int]) -> str | None:
        return None if state[0] == 2 else "both count"

    def show(self, state: tuple[int, int, int]) -> str:
        return f"counter {state[0]}"


class Walk:
    """A square of side n, from one corner to the opposite one: (n + 1)² states, n steps right and n up."""

    def __init__(self, side: int, *, pit: tuple[int, int] | None = None) -> None:
        self.side = side
        self.pit = pit

    def initial(self) -> list[tuple[int, int]]:
        return [(0, 0)]

    def steps(self, state: tuple[int, int]) -> list[tuple[Label, tuple[int, int]]]:
        x, y = state
        moves = [(("right",), (x + 1, y)), (("up",), (x, y + 1))]
        return [(label, to) for label, to in moves if max(to) <= self.side]

    def broken(self, state: tuple[int, int]) -> str | None:
        return "the pit" if state == self.pit else None

    def broken_by_step(self, before: tuple[int, int], after: tuple[int, int]) -> str | None:
        return "up first" if self.pit == (-1, -1) and before == (0, 1) and after == (1, 1) else None

    def broken_at_end(self, state: tuple[int, int]) -> str | None:
        return None if state == (self.side, self.side) else "ends elsewhere"

    def show(self, state: tuple[int, int]) -> str:
        return f"at {state}"


def test_a_lost_update_is_found_with_its_shortest_trace() -> None:
    breach = explore(Increments()).breach
    assert breach is not None
    assert breach.invariant == "both count"
    assert breach.length == 4
    assert str(breach).splitlines()[:4] == [
        "broken: both count",
        "  0. counter 0",
        "  1. thread 0 reads",
        "  2. thread 1 reads",
    ]


def test_without_the_lost_update_the_same_machine_holds() -> None:
    explored = explore(Increments(is_atomic=True))
    assert explored.breach is None
    assert (explored.states, explored.ends) == (4, 1)


@pytest.mark.parametrize("side", [0, 1, 7, 30])
def test_every_state_and_every_step_is_counted_once(side: int) -> None:
    explored = explore(Walk(side))
    assert explored.breach is None
    assert explored.states == (side + 1) ** 2
    assert explored.steps == 2 * side * (side + 1)
    assert explored.ends == 1


def test_the_nearest_violation_is_found() -> None:
    breach = explore(Walk(30, pit=(2, 3))).breach
    assert breach is not None
    assert breach.length == 5


def test_a_step_to_a_known_state_is_checked() -> None:
    # (1, 1) is reached first by going right, so only the second path breaks the rule.
    breach = explore(Walk(3, pit=(-1, -1))).breach
    assert breach is not None
    assert breach.invariant == "up first"
    assert [line.split("\n")[0] for line in breach.trace] == ["  0. at (0, 0)", "  1. up", "  2. right"]


def test_a_broken_initial_state_is_a_violation_without_steps() -> None:
    breach = explore(Walk(3, pit=(0, 0))).breach
    assert breach is not None
    assert breach.length == 0


def test_a_trace_is_returned_for_reachable_states_only() -> None:
    way = reaches(Walk(3), lambda state: state == (1, 2))
    assert way is not None
    assert way.length == 3
    assert reaches(Walk(3), lambda state: state == (4, 0)) is None


def test_bounds_that_are_too_wide_are_refused() -> None:
    with pytest.raises(TooManyStatesError):
        explore(Walk(30), max_states=100)


class Cycle(Walk):
    """The same square, with a step from its far corner back to the middle."""

    def steps(self, state: tuple[int, int]) -> list[tuple[Label, tuple[int, int]]]:
        return super().steps(state) or [(("back",), (1, 1))]


def test_an_endless_schedule_is_detected() -> None:
    assert not goes_round(Walk(7))
    assert goes_round(Cycle(7))

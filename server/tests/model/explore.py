"""Search all states of a model breadth-first: every schedule within its bounds, the shortest violation first.

A model is a small state machine over hashable states. Models do not depend on this file, and this file does not
depend on chats.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

type Label = tuple[str | int, ...]
"""Parts of a step's description; joined only when a trace is printed."""


class Model[S: Hashable](Protocol):
    """A model that can be explored.

    The three rules return the name of the broken invariant, or None. `broken_by_step` is called for every step,
    including steps to known states. `broken_at_end` is called for states without a next step.
    """

    def initial(self) -> Iterable[S]: ...
    def steps(self, state: S) -> Iterable[tuple[Label, S]]: ...
    def broken(self, state: S) -> str | None: ...
    def broken_by_step(self, before: S, after: S) -> str | None: ...
    def broken_at_end(self, state: S) -> str | None: ...
    def show(self, state: S) -> str: ...


@dataclass(frozen=True)
class Breach:
    """A broken invariant and a shortest trace to it."""

    invariant: str
    trace: tuple[str, ...]

    @property
    def length(self) -> int:
        """Return the number of steps from the start."""
        return len(self.trace) - 1

    def __str__(self) -> str:
        return "\n".join([f"broken: {self.invariant}", *self.trace])


@dataclass(frozen=True)
class Explored:
    """How many states and steps were explored, and what was found."""

    states: int
    steps: int
    ends: int
    breach: Breach | None


class TooManyStatesError(Exception):
    """The model has more states than the caller allows."""


def explore[S: Hashable](model: Model[S], *, max_states: int = 20_000_000) -> Explored:
    """Explore every reachable state, or stop at the first violation in breadth-first order."""
    return _Search(model, max_states).run()


def reaches[S: Hashable](model: Model[S], wanted: Callable[[S], bool]) -> Breach | None:
    """Return the shortest trace to a wanted state.

    It shows that a model reaches the states that its rules are about.
    """
    return explore(_Wanting(model, wanted)).breach


def goes_round[S: Hashable](model: Model[S]) -> bool:
    """Return whether a schedule returns to an earlier state. If none does, every schedule ends."""
    ways_in = dict.fromkeys(model.initial(), 0)
    found = list(ways_in)
    for state in found:
        for after in {after for _, after in model.steps(state)}:
            if after not in ways_in:
                ways_in[after] = 0
                found.append(after)
            ways_in[after] += 1
    free = [state for state in found if not ways_in[state]]
    for state in free:
        for after in {after for _, after in model.steps(state)}:
            ways_in[after] -= 1
            if not ways_in[after]:
                free.append(after)
    return len(free) < len(found)


class _Search[S: Hashable]:
    """One search. `came_from` is both the set of known states and the path back to the start."""

    def __init__(self, model: Model[S], max_states: int) -> None:
        self.model = model
        self.max_states = max_states
        self.came_from: dict[S, S | None] = {}
        self.steps = self.ends = 0

    def run(self) -> Explored:
        level = list(dict.fromkeys(self.model.initial()))
        self.came_from = dict.fromkeys(level)
        breach = next(self._breaches_at_start(level), None)
        while level and breach is None:
            level, breach = self._next_level(level)
        return Explored(len(self.came_from), self.steps, self.ends, breach)

    def _breaches_at_start(self, level: list[S]) -> Iterator[Breach]:
        for state in level:
            if name := self.model.broken(state):
                yield self._breach(name, state)

    def _next_level(self, level: list[S]) -> tuple[list[S], Breach | None]:
        # The innermost loop: local variables instead of attributes, and as few calls as possible.
        came_from, model, found, count = self.came_from, self.model, list[S](), 0
        for state in level:
            before = count
            for _, after in model.steps(state):
                count += 1
                if name := model.broken_by_step(state, after):
                    return found, self._breach(name, state, after)
                if after in came_from:
                    continue
                came_from[after] = state
                found.append(after)
                if name := model.broken(after):
                    return found, self._breach(name, after)
            if count == before:
                self.ends += 1
                if name := model.broken_at_end(state):
                    return found, self._breach(name, state)
        self.steps += count
        if len(came_from) > self.max_states:
            raise TooManyStatesError(f"more than {self.max_states} states: narrow the bounds of {model}")
        return found, None

    def _breach(self, invariant: str, *last: S) -> Breach:
        """Build the violation. `last` is the wrong state, preceded by its predecessor if a step is wrong."""
        path = list(last)
        while (previous := self.came_from[path[0]]) is not None:
            path.insert(0, previous)
        return Breach(invariant, tuple(self._describe(path)))

    def _describe(self, path: list[S]) -> Iterator[str]:
        shown = self.model.show(path[0])
        yield f"  0. {shown}"
        for number, (before, after) in enumerate(pairwise(path), 1):
            # Labels are not stored during the search; computing them again is cheaper than storing millions.
            label = next(label for label, state in self.model.steps(before) if state == after)
            before_it, shown = shown, self.model.show(after)
            words = " ".join(str(word) for word in label if word != "")
            yield f"{number:3}. {words}" + (f"\n     {shown}" if shown != before_it else "")


class _Wanting[S: Hashable]:
    """The same model with one rule: a wanted state is never reached."""

    def __init__(self, model: Model[S], wanted: Callable[[S], bool]) -> None:
        self.initial, self.steps, self.show = model.initial, model.steps, model.show
        self.wanted = wanted

    def broken(self, state: S) -> str | None:
        return "reached" if self.wanted(state) else None

    def broken_by_step(self, before: S, after: S) -> None:
        """No rule."""

    def broken_at_end(self, state: S) -> None:
        """No rule."""

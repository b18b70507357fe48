"""Breadth-first search over all states of a model: every schedule within its bounds, the shortest breach first.

A model is a small machine over hashable states. It knows nothing of this file; this file knows nothing of chats.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

type Label = tuple[str | int, ...]
"""What happened, as words; they are joined only when somebody reads a trace."""


class Model[S: Hashable](Protocol):
    """What can be explored.

    The three rules return the name of the invariant that is broken, or None. `broken_by_step` sees every
    step, also those that lead to a known state; `broken_at_end` sees the states in which nothing can
    happen any more.
    """

    def initial(self) -> Iterable[S]: ...
    def steps(self, state: S) -> Iterable[tuple[Label, S]]: ...
    def broken(self, state: S) -> str | None: ...
    def broken_by_step(self, before: S, after: S) -> str | None: ...
    def broken_at_end(self, state: S) -> str | None: ...
    def show(self, state: S) -> str: ...


@dataclass(frozen=True)
class Breach:
    """An invariant that does not hold, and a shortest way to see it."""

    invariant: str
    trace: tuple[str, ...]

    @property
    def length(self) -> int:
        """How many steps from the start."""
        return len(self.trace) - 1

    def __str__(self) -> str:
        return "\n".join([f"broken: {self.invariant}", *self.trace])


@dataclass(frozen=True)
class Explored:
    """How much was looked at, and what was found."""

    states: int
    steps: int
    ends: int
    breach: Breach | None


class TooManyStatesError(Exception):
    """The bounds of a model are wider than whoever ran it meant."""


def explore[S: Hashable](model: Model[S], *, max_states: int = 20_000_000) -> Explored:
    """Every state that can be reached, or the first breach in breadth-first order."""
    return _Search(model, max_states).run()


def reaches[S: Hashable](model: Model[S], wanted: Callable[[S], bool]) -> Breach | None:
    """The shortest way to a state: shows that a model can get where its rules are put to the test."""
    return explore(_Wanting(model, wanted)).breach


def goes_round[S: Hashable](model: Model[S]) -> bool:
    """Whether some schedule comes back to where it was; if none does, every schedule comes to an end."""
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
    """One run. `came_from` is both the set of known states and the way back to the start."""

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
        # the inner loop of everything: locals instead of attributes, no call that is not needed
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
        """`last` is the state at fault, after its predecessor where a step is at fault."""
        path = list(last)
        while (previous := self.came_from[path[0]]) is not None:
            path.insert(0, previous)
        return Breach(invariant, tuple(self._told(path)))

    def _told(self, path: list[S]) -> Iterator[str]:
        shown = self.model.show(path[0])
        yield f"  0. {shown}"
        for number, (before, after) in enumerate(pairwise(path), 1):
            # labels are not kept while searching; asking again costs less than remembering millions
            label = next(label for label, state in self.model.steps(before) if state == after)
            before_it, shown = shown, self.model.show(after)
            words = " ".join(str(word) for word in label if word != "")
            yield f"{number:3}. {words}" + (f"\n     {shown}" if shown != before_it else "")


class _Wanting[S: Hashable]:
    """The same machine with one rule: never get to what is wanted."""

    def __init__(self, model: Model[S], wanted: Callable[[S], bool]) -> None:
        self.initial, self.steps, self.show = model.initial, model.steps, model.show
        self.wanted = wanted

    def broken(self, state: S) -> str | None:
        return "reached" if self.wanted(state) else None

    def broken_by_step(self, before: S, after: S) -> None:
        """No rule."""

    def broken_at_end(self, state: S) -> None:
        """No rule."""

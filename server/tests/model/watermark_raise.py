"""Model raising `after`: "No duplicates" of the rules of sending, from "More than 1,000 entries back" on.

One client and its message `m`. Its device receives the log entry by entry. While tries are in flight the client may
raise `after` to its position. Each try carries the `after` of its time, waits for any time and is checked against any
head that a view may have; its put is applied at once, late or never. Other processes append other users' entries and,
in some scenarios, a leave and a return of the sender.

Bounds: the tries of the scenario, the look-back (10,000 in the text, here 1 or 2), the length of the log. A client may
also send an `after` above the head of the chat: its position is from elsewhere.

Abstracted: writers are not distinguished, since a stale view only costs a failed put (`append.py`); a put that is
applied at once is one step. "Catch up first" and "above the head" are not definite: the client may continue to try.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from model.explore import Label
from model.log import (
    CREATE,
    JOIN,
    LEAVE,
    NOTHING,
    REFUSED,
    Cast,
    Entry,
    Kind,
    Log,
    M,
    in_words,
    merge_answers,
)
from model.promises import Promise, fault_of_answer, fault_of_change, fault_of_log

THE_M, THE_LEAVE, THE_JOIN, FIRST_FILLER = 1, 2, 3, 4


class Mutant(StrEnum):
    ABOVE_THE_HEAD = "`after` above the head is accepted"
    SHORT_SIGHT = "with `after` below the bound, only the entries within the bound are checked"
    UNSEEN = "a client raises `after` over entries that it has not received"
    OVER_ITS_KEY = "a client raises `after` over its own key"
    OUT_OF_ITS_INTERVAL = "a client raises `after` beyond the interval of its first try"


@dataclass(frozen=True)
class Scenario:
    tries: int
    look_back: int
    fillers: int
    with_leave: bool


class Try(NamedTuple):
    """A request with its `after`; with a sequence once its put is in flight."""

    after: int
    place: int = 0


class State(NamedTuple):
    """`held` is the client's position; `after` is 0 until its first try."""

    log: Log
    held: int
    after: int
    started: int
    reported: int
    tries: tuple[Try, ...]


type Steps = Iterator[tuple[Label, State]]


class Raising:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        fillers = (Entry(f"x{n}", Kind.MESSAGE, user="w", key=f"x{n}") for n in range(scenario.fillers))
        self.cast = Cast((CREATE, M, LEAVE, JOIN, *fillers))
        self.scenario = scenario
        self.mutant = mutant
        self.fault_of_truth = cache(lambda log: fault_of_log(self.cast, log))
        self.since = cache(lambda log: self.cast.member_since("u", self.cast.numbered(log)))

    def initial(self) -> Iterable[State]:
        return [State((0,), 1, 0, 0, NOTHING, ())]

    def steps(self, state: State) -> Steps:
        yield from self._other_processes(state)
        if state.reported == NOTHING:
            yield from self._client(state)
        for one in dict.fromkeys(state.tries):
            yield from (self._flight if one.place else self._check)(state, one)

    def _other_processes(self, state: State) -> Steps:
        coming = [n for n in range(FIRST_FILLER, len(self.cast.entries)) if n not in state.log][:1]
        if self.scenario.with_leave:
            coming += [n for n in (THE_LEAVE, THE_JOIN) if n not in state.log][:1]
        for number in coming:
            yield (self.cast.name(number), "is appended"), state._replace(log=(*state.log, number))

    def _client(self, state: State) -> Steps:
        if state.held < len(state.log):
            yield from self._receives(state)
        if state.started:
            for after in filter(
                lambda n: self._may_raise_to(state, n), range(state.after + 1, len(state.log) + 1)
            ):
                yield ("the client raises after to", after), state._replace(after=after)
        if state.started < self.scenario.tries:
            # At its first try a client sends its position, or, if it is broken, a sequence above the head.
            afters = (state.after,) if state.started else (state.held, len(state.log) + 1)
            for after in afters:
                tries = tuple(sorted((*state.tries, Try(after))))
                label = ("try", state.started + 1, "leaves with after", after)
                yield label, state._replace(after=after, started=state.started + 1, tries=tries)

    def _receives(self, state: State) -> Steps:
        """A client that receives an entry with its own key has its answer."""
        held = state.held + 1
        is_own = state.log[held - 1] == THE_M and self.mutant is not Mutant.OVER_ITS_KEY
        reported = held if is_own and state.started else state.reported
        yield ("the client receives", held), state._replace(held=held, reported=reported)

    def _may_raise_to(self, state: State, after: int) -> bool:
        """Return whether it has received all entries up to `after` without its key, in the interval of its first try."""
        has_received = after <= state.held or self.mutant is Mutant.UNSEEN
        is_inside = 0 < self.since(state.log[:after]) <= state.after
        return has_received and (is_inside or self.mutant is Mutant.OUT_OF_ITS_INTERVAL)

    def _check(self, state: State, one: Try) -> Steps:
        """Check a try as a writer does, at any head that its view may have reached."""
        head = len(state.log)
        if one.after > head and self.mutant is not Mutant.ABOVE_THE_HEAD:
            yield ("after", one.after, "is above the head: resync first"), _without(state, one)
            return
        for n in range(min(one.after, head), head + 1):
            yield from self._as_of(state, one, n)

    def _as_of(self, state: State, one: Try, n: int) -> Steps:
        label: Label = ("at", n, "the try with after", one.after)
        seen, lowest = state.log[:n], one.after
        if n - one.after > self.scenario.look_back:
            if self.mutant is not Mutant.SHORT_SIGHT:
                yield (*label, "is answered: catch up first"), _without(state, one)
                return
            lowest = n - self.scenario.look_back
        if THE_M in seen[lowest:]:
            answer = seen.index(THE_M) + 1
        else:
            answer = NOTHING if 0 < self.since(seen) <= one.after else REFUSED
        if answer:
            yield (*label, "is answered with", in_words(answer)), _with_answer(_without(state, one), answer)
            yield (*label, "is answered, and the answer lost"), _without(state, one)
        else:
            yield (*label, "is put at", n + 1), _instead(state, one, Try(one.after, n + 1))

    def _flight(self, state: State, one: Try) -> Steps:
        label: Label = ("the put at", one.place)
        if one.place > len(state.log):
            applied = state._replace(log=(*state.log, THE_M))
            yield (*label, "is applied, and the answer lost"), _without(applied, one)
            yield (*label, "is applied and acked"), _with_answer(_without(applied, one), one.place)
        elif state.log[one.place - 1] == THE_M:
            yield (*label, "finds m there"), _with_answer(_without(state, one), one.place)
        else:
            yield (*label, "finds its place taken"), _instead(state, one, Try(one.after))

    def broken(self, state: State) -> str | None:
        reported = state.reported and fault_of_answer(self.cast, state.log, THE_M, state.reported)
        return self.fault_of_truth(state.log) or reported or None

    def broken_by_step(self, before: State, after: State) -> str | None:
        return fault_of_change(before.log, after.log)

    def broken_at_end(self, state: State) -> str | None:
        return Promise.ANSWERED if state.tries else None

    def show(self, state: State) -> str:
        client = f"client holds {state.held}, after {state.after or 'unset'}"
        return " | ".join([self.cast.show(state.log), client, f"m: {in_words(state.reported)}"])


def _without(state: State, one: Try) -> State:
    left = list(state.tries)
    left.remove(one)
    return state._replace(tries=tuple(left))


def _instead(state: State, old: Try, new: Try) -> State:
    left = _without(state, old)
    return left._replace(tries=tuple(sorted((*left.tries, new))))


def _with_answer(state: State, answer: int) -> State:
    return state._replace(reported=merge_answers(state.reported, answer))

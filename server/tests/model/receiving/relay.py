"""Model the relay: an unpublished commit, a lost Kafka log and an empty Redis are the same case.

One chat. Senders commit entries and publish them in any order, or die between the two. A worker takes an event, reads
the entries between it and the checkpoint, handles them, advances the checkpoint and commits the offset. It dies at
any step, or loses its partition and continues. Kafka may lose its log, Redis the checkpoint. The relay reads the
commits in order and publishes entries that no checkpoint covers, unless Kafka has them. It never passes an entry that
no checkpoint covers.

A rule that the text lacks and the model needs (docs/adr/0009): a missing checkpoint says nothing about older entries.
So a checkpoint is an interval: "processed from here to there". Entries between an event and the interval are read and
handled with the event, on either side. Entries that do not touch the interval do not change it.

Bounds: entries and faults of the scenario.

Abstracted: `small.py`, `large.py` and `membership.py` model the handling of an entry; here it is one step. Kafka
keeps events that are not committed yet. The relay reads all commits from the stream, in order.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from model.explore import Label
from model.receiving.promises import Promise

type Mark = tuple[int, int]
"""Processed entries: above the first value and up to the second."""

NO_MARK: Mark = (0, 0)


class Mutant(StrEnum):
    GAP_UNREAD = "the gap before an event is not read"
    MARK_JUMPS = "the gap before an event is not read, and the checkpoint includes the event"
    MARK_HULL = "a checkpoint is extended over unprocessed entries up to the event"
    ABSENT_VOUCHES = "without a checkpoint, every entry below the event counts as processed"
    MARK_FIRST = "the checkpoint is written, then the event is processed"
    COMMIT_FIRST = "the offset is committed before the effect"
    PUBLISHED_IS_ENOUGH = "the relay skips entries that were published once"
    GOES_ON = "the relay republishes and continues without waiting for the checkpoint"
    SKIPS_MARKED = "an event that a checkpoint covers is skipped"
    MARK_GOES_BACK = "a checkpoint is written without its condition"


@dataclass(frozen=True)
class Scenario:
    """`handled`: number of entries that are processed and covered at the start; `relays`: a relay runs."""

    entries: int = 3
    handled: int = 0
    sender_deaths: int = 0
    worker_deaths: int = 0
    rebalances: int = 0
    kafka_losses: int = 0
    wipes: int = 0
    relays: bool = True


class Left(NamedTuple):
    """Faults that may still occur."""

    sender_deaths: int
    worker_deaths: int
    rebalances: int
    kafka_losses: int
    wipes: int


class Work(NamedTuple):
    """An event that a worker handles: `todo` is not handled yet, `span` will be covered by the checkpoint."""

    n: int
    span: Mark = NO_MARK
    todo: tuple[int, ...] = ()
    is_marked: bool = False


class State(NamedTuple):
    """`unsent` are commits that their senders still have to publish.

    `seen` are those that were published once, which only a mutant uses.
    """

    head: int
    unsent: tuple[int, ...]
    seen: frozenset[int]
    events: tuple[int, ...]
    work: Work | None
    zombie: Work | None
    mark: Mark
    done: frozenset[int]
    checked: int
    left: Left


type Steps = Iterator[tuple[Label, State]]


class Relay:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.mutant = mutant

    def initial(self) -> Iterable[State]:
        s = self.scenario
        left = Left(s.sender_deaths, s.worker_deaths, s.rebalances, s.kafka_losses, s.wipes)
        done = frozenset(range(1, s.handled + 1))
        mark = (0, s.handled) if s.handled else NO_MARK
        return [State(s.handled, (), frozenset(), (), None, None, mark, done, s.handled, left)]

    def steps(self, state: State) -> Steps:
        yield from self._senders(state)
        if self.scenario.relays:
            yield from self._relay(state)
        if state.work is None and state.events:
            yield ("the worker takes", state.events[0]), self._taken(state)
        if state.work:
            label, work, after = self._works(state, state.work)
            yield ("the worker", *label), after._replace(work=work)
        if state.zombie:
            label, work, after = self._works(state, state.zombie)
            yield ("the worker that lost its partition", *label), after._replace(zombie=work)
        yield from self._faults(state)

    def _senders(self, state: State) -> Steps:
        n = state.head + 1
        if state.head < self.scenario.entries:
            yield ("entry", n, "commits"), state._replace(head=n, unsent=(*state.unsent, n))
        for one in state.unsent:
            sent = state._replace(unsent=tuple(other for other in state.unsent if other != one))
            yield ("entry", one, "is published"), self._published(sent, one)
            # Without a relay the last entry must be published, because only its event makes a worker find the gap.
            if state.left.sender_deaths and (self.scenario.relays or one < self.scenario.entries):
                left = state.left._replace(sender_deaths=state.left.sender_deaths - 1)
                yield ("the sender of", one, "dies before it publishes"), sent._replace(left=left)

    def _published(self, state: State, n: int) -> State:
        seen = state.seen | {n} if self.mutant is Mutant.PUBLISHED_IS_ENOUGH else state.seen
        return state._replace(events=(*state.events, n), seen=seen)

    def _relay(self, state: State) -> Steps:
        n = state.checked + 1
        if n > state.head:
            return
        is_past = _is_marked(state.mark, n) or (self.mutant is Mutant.PUBLISHED_IS_ENOUGH and n in state.seen)
        if is_past:
            yield ("the relay finds", n, "marked"), state._replace(checked=n)
        elif n not in state.events and (state.work is None or state.work.n != n):
            checked = n if self.mutant is Mutant.GOES_ON else state.checked
            again = self._published(state, n)._replace(checked=checked)
            yield ("the relay publishes", n, "again"), again

    def _taken(self, state: State) -> State:
        n = state.events[0]
        span = self._span(state.mark, n)
        skips = self.mutant is Mutant.SKIPS_MARKED and _is_marked(state.mark, n)
        work = Work(n, span, () if skips else tuple(range(span[0] + 1, span[1] + 1)))
        return state._replace(
            work=work, events=state.events[1:] if self.mutant is Mutant.COMMIT_FIRST else state.events
        )

    def _span(self, mark: Mark, n: int) -> Mark:
        """Return the event's sequence, with the entries between it and the checkpoint."""
        low, high = mark
        if mark == NO_MARK or _is_marked(mark, n) or self.mutant in {Mutant.GAP_UNREAD, Mutant.MARK_JUMPS}:
            return (n - 1, n)
        return (high, n) if n > high else (n - 1, low)

    def _works(self, state: State, work: Work) -> tuple[Label, Work | None, State]:
        marks_first = self.mutant is Mutant.MARK_FIRST
        if work.todo and (work.is_marked or not marks_first):
            n, *rest = work.todo
            return ("handles", n), work._replace(todo=tuple(rest)), state._replace(done=state.done | {n})
        if not work.is_marked:
            marked = state._replace(mark=self._marked(state.mark, work.span))
            return ("marks", str(work.span)), work._replace(is_marked=True), marked
        return ("commits the offset of", work.n), None, self._committed(state, work)

    def _marked(self, mark: Mark, span: Mark) -> Mark:
        """Merge the span with the checkpoint if they touch."""
        low, high = span
        if self.mutant is Mutant.MARK_GOES_BACK:
            return span
        if self.mutant is Mutant.ABSENT_VOUCHES and mark == NO_MARK:
            return (0, high)
        touches = low <= mark[1] and high >= mark[0]
        if mark == NO_MARK:
            return span
        if touches or self.mutant in {Mutant.MARK_JUMPS, Mutant.MARK_HULL}:
            return (min(low, mark[0]), max(high, mark[1]))
        return mark

    def _committed(self, state: State, work: Work) -> State:
        is_there = (
            work is state.work and state.events[:1] == (work.n,) and self.mutant is not Mutant.COMMIT_FIRST
        )
        return state._replace(events=state.events[1:]) if is_there else state

    def _faults(self, state: State) -> Steps:
        left = state.left
        if left.worker_deaths and state.work:
            fewer = left._replace(worker_deaths=left.worker_deaths - 1)
            yield ("the worker dies",), state._replace(work=None, left=fewer)
        if left.rebalances and state.work:
            fewer = left._replace(rebalances=left.rebalances - 1)
            moved = state._replace(work=None, zombie=state.work, left=fewer)
            yield ("the partition goes to another worker",), moved
        if left.kafka_losses and state.events:
            fewer = left._replace(kafka_losses=left.kafka_losses - 1)
            yield ("Kafka loses its log",), state._replace(events=(), left=fewer)
        if left.wipes and state.mark != NO_MARK:
            fewer = left._replace(wipes=left.wipes - 1)
            yield ("Redis loses the mark",), state._replace(mark=NO_MARK, left=fewer)

    def broken(self, state: State) -> None:
        """No rule."""

    def broken_by_step(self, before: State, after: State) -> None:
        """No rule."""

    def broken_at_end(self, state: State) -> str | None:
        return None if len(state.done) == state.head else Promise.HANDLED

    def show(self, state: State) -> str:
        low, high = state.mark
        mark = "no mark" if state.mark == NO_MARK else f"marked {low + 1} to {high}"
        return f"head {state.head}, handled {sorted(state.done)}, {mark}, relay at {state.checked}, Kafka {state.events}"


def _is_marked(mark: Mark, n: int) -> bool:
    return mark[0] < n <= mark[1]

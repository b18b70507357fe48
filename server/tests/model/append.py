"""Model the append: "Append", "The writer's view" and "A timeout is not an answer" of the rules of sending.

One chat and two writers (processes), each with a log view that lags by any amount. Each client tries its message
several times, at either writer, and does not wait for one try before the next. A put is applied at once, later or
never, possibly after its writer has given up. Its answer arrives or is lost, and it may be throttled.

Bounds: two writers, the tries of the scenario, one removal, one return, one edit.

Abstracted:
- A view moves without an effect on other processes, so it moves in the step in which its writer uses it.
- A conditional put can be applied only at head + 1, so copies in flight to other sequences are dropped. A second copy
  of the same put has no further effect, so repeating is not a step.
- A failed put returns the existing item, so "applied" and "failed, and this item exists" are one step.
- Leaving and returning is never refused. The row of an edit is in `changes.py`, that of a membership in
  `gap_filling.py`.

Symmetry: the writers are equal at the start, so the first try goes to A. Tries of one message at the same sequence
have the same bytes, so their order is not kept.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from model.checks import Checks, Mutant, Scenario, View
from model.explore import Label
from model.log import HOLE, NOT_WRITTEN, NOTHING, PUT, Kind, Log, in_words, merge_answers
from model.promises import Promise, fault_of_answer, fault_of_change, fault_of_log

WRITERS = ("A", "B")

# A put was sent once; or sent without an answer in time, perhaps repeatedly; or applied, which no process knows yet.
SENT, UNANSWERED, LANDED = range(3)


class Try(NamedTuple):
    """A request at a writer: in its queue (place 0), or with a put in flight at a sequence."""

    writer: int
    place: int = 0
    phase: int = SENT


class Send(NamedTuple):
    """A client and its message. `unsettled` means that a try ended without a definite answer."""

    started: int = 0
    after: int = 0
    unsettled: bool = False
    reported: int = NOTHING
    tries: tuple[Try, ...] = ()


class State(NamedTuple):
    """`removed` is the value in the removed member's row, 0 while the interval is open.

    `late` puts have no waiting writer.
    """

    log: Log
    removed: int
    views: tuple[View, ...]
    sends: tuple[Send, ...]
    late: tuple[int, ...]


type Steps = Iterator[tuple[Label, State]]


class Append:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.cast = scenario.cast
        self.mutant = mutant
        self.checks = Checks(scenario.cast, mutant)
        self.fault_of_truth = cache(self._fault_of_truth)

    def initial(self) -> Iterable[State]:
        sends = (Send(),) * len(self.cast.entries)
        return [State((0,), 0, (View(1), View(1)), sends, ())]

    def steps(self, state: State) -> Steps:
        for number, send in enumerate(state.sends):
            if not send.reported:
                yield from self._client(state, number, send)
            for one in dict.fromkeys(send.tries):
                yield from (self._flight if one.place else self._queue)(state, number, one)
        for number in state.late:
            label = ("the late put of", self.cast.name(number), "is applied")
            yield label, self._applied(state, number, len(state.log) + 1)

    def _client(self, state: State, number: int, send: Send) -> Steps:
        name = self.cast.name(number)
        if send.started and not send.tries and not send.unsettled:
            label: Label = ("every try of", name, "was answered 'not written': its client gives up")
            yield label, _with_send(state, number, send._replace(reported=NOT_WRITTEN))
        if send.started == self.scenario.tries[number] or self.scenario.waits_for[number] not in state.log:
            return
        for after in self._afters(state, number, send):
            for writer in self._writers(state):
                label = ("try", send.started + 1, "of", name, "with after", after, "reaches", WRITERS[writer])
                tries = tuple(sorted((*send.tries, Try(writer))))
                again = Send(send.started + 1, after, send.unsettled, NOTHING, tries)
                yield label, _with_send(state, number, again)

    def _afters(self, state: State, number: int, send: Send) -> Iterable[int]:
        """Return the positions that a client may have at its first try.

        `after` is stored with the key and never changes.
        """
        if self.mutant is Mutant.AFTER_MOVES and send.started:
            return range(send.after, len(state.log) + 1)
        identity = self.cast.entries[number].identity
        for other, entry in zip(state.sends, self.cast.entries, strict=True):
            if other.started and entry.identity == identity:
                return (other.after,)
        return range(state.log.index(self.scenario.waits_for[number]) + 1, len(state.log) + 1)

    def _writers(self, state: State) -> range:
        return range(2 if any(send.started for send in state.sends) else 1)

    def _queue(self, state: State, number: int, one: Try) -> Steps:
        """Check against the view, as `messages.send` does; then answer, or put at the next sequence."""
        name, writer = self.cast.name(number), WRITERS[one.writer]
        for view in self._views(state, number, one.writer):
            seen = _with_view(state, one.writer, view)
            verdict = self.checks.verdict(state.log, view, number, state.sends[number].after)
            if verdict != PUT:
                label: Label = (writer, "at", view.head, "answers", name, "with", in_words(verdict))
                yield from _answered(seen, number, one, verdict, label)
            elif not _is_busy(state, one.writer):
                yield from self._puts(seen, number, one, view.head + 1)
        yield (writer, "sheds", name, "before any put: 'not written'"), _ended(state, number, one)

    def _views(self, state: State, number: int, writer: int) -> Iterable[View]:
        head, missed = state.views[writer]
        lowest = head if self.mutant is Mutant.BELOW_AFTER else max(head, state.sends[number].after)
        for seen in range(lowest, len(state.log) + 1):
            yield View(seen, missed)
            if self.mutant is Mutant.VIEW_JUMPS and seen > head + 1:
                yield View(seen, (*missed, *range(head + 1, seen)))

    def _puts(self, state: State, number: int, one: Try, place: int) -> Steps:
        name, writer = self.cast.name(number), WRITERS[one.writer]
        if self.mutant is Mutant.NOT_AN_ENTRY and self.cast.entries[number].kind is Kind.LEAVE:
            removed = state._replace(removed=len(state.log))
            yield (writer, "changes the row for", name), _ended(removed, number, one)
            return
        flying = _with_try(state, number, one, Try(one.writer, place))
        yield (writer, "puts", name, "at", place), flying
        if self.mutant is Mutant.ACK_FIRST:
            acked = flying.sends[number]._replace(reported=place)
            yield (writer, "puts", name, "at", place, "and acks it"), _with_send(flying, number, acked)

    def _flight(self, state: State, number: int, one: Try) -> Steps:
        """A put without an answer so far."""
        name, writer = self.cast.name(number), WRITERS[one.writer]
        entry = state.log[one.place - 1] if one.place <= len(state.log) else HOLE
        if entry == HOLE or self.mutant is Mutant.NO_CONDITION:
            landed = _with_try(state, number, one, Try(one.writer, one.place, LANDED))
            label: Label = ("the put of", name, "at", one.place, "is applied")
            yield label, self._applied(landed, number, one.place)
        if entry != HOLE:
            yield from self._learns(state, number, one, entry)
        if one.phase == SENT:
            label = (writer, "gets no answer to the put of", name, "at", one.place)
            yield label, _with_try(state, number, one, Try(one.writer, one.place, UNANSWERED))
            label = ("the only put of", name, "at", one.place, "is throttled or in conflict: 'not written'")
            yield label, _ended(state, number, one)
        else:
            yield from self._unanswered(state, number, one)

    def _learns(self, state: State, number: int, one: Try, entry: int) -> Steps:
        """The sequence is taken: by this put, or by the item that the failed put returned."""
        name, writer = self.cast.name(number), WRITERS[one.writer]
        seen = _with_view(state, one.writer, _moved(state.views[one.writer], one.place))
        if not self.checks.is_own(number, entry):
            label: Label = (writer, "finds", self.cast.name(entry), "at", one.place, "where it put", name)
            recheck = self.mutant is not Mutant.NO_RECHECK
            yield label, _with_try(seen, number, one, Try(one.writer, 0 if recheck else one.place + 1))
            return
        answer = self.checks.compare(state.log, number, entry) or one.place
        label = (writer, "finds it at", one.place, "and answers", name, "with", in_words(answer))
        yield from _answered(seen, number, one, answer, label)
        if self.mutant is Mutant.OWN_FOR_ANOTHERS:
            head, missed = seen.views[one.writer]
            blind = _with_view(seen, one.writer, View(head, (*missed, one.place)))
            label = (writer, "takes", name, "at", one.place, "for another's entry")
            yield label, _with_try(blind, number, one, Try(one.writer))

    def _unanswered(self, state: State, number: int, one: Try) -> Steps:
        """The writer repeats the put any number of times, then leaves the client without an answer."""
        name, writer = self.cast.name(number), WRITERS[one.writer]
        late = state if one.place <= len(state.log) else _with_late(state, number)
        label: Label = (writer, "leaves the put of", name, "at", one.place, "unknown")
        yield label, _ended(late, number, one, unsettled=True)
        if self.mutant is Mutant.THROTTLE_SETTLES:
            label = (
                "the repeated put of",
                name,
                "at",
                one.place,
                "is throttled:",
                writer,
                "says 'not written'",
            )
            yield label, _ended(late, number, one)
        if self.mutant is Mutant.ELSEWHERE:
            label = (writer, "puts", name, "at", one.place + 1, "instead")
            yield label, _with_try(late, number, one, Try(one.writer, one.place + 1))

    def _applied(self, state: State, number: int, place: int) -> State:
        log, removed, views, sends, _ = state
        if place <= len(log):
            return state._replace(log=(*log[: place - 1], number, *log[place:]))
        kind = self.cast.entries[number].kind
        if kind is Kind.LEAVE or kind is Kind.JOIN:
            removed = place if kind is Kind.LEAVE else 0
        log = (*log, *(HOLE,) * (place - len(log) - 1), number)
        return State(log, removed, views, sends, ())

    def broken(self, state: State) -> str | None:
        if fault := self.fault_of_truth(state.log, state.removed):
            return fault
        for number, send in enumerate(state.sends):
            if send.reported and (fault := fault_of_answer(self.cast, state.log, number, send.reported)):
                return fault
        return None

    def _fault_of_truth(self, log: Log, removed: int) -> Promise | None:
        numbered = self.cast.numbered(log)
        leavers = {entry.user for entry in self.cast.entries if entry.kind is Kind.LEAVE}
        if removed and any(n > removed and e.needs_a_member and e.user in leavers for n, e in numbered):
            return Promise.FENCED
        return fault_of_log(self.cast, log)

    def broken_by_step(self, before: State, after: State) -> str | None:
        return fault_of_change(before.log, after.log)

    def broken_at_end(self, state: State) -> str | None:
        return Promise.ANSWERED if any(send.tries for send in state.sends) else None

    def show(self, state: State) -> str:
        heads = ", ".join(f"{name} at {view.head}" for name, view in zip(WRITERS, state.views, strict=True))
        reported = [
            f"{self.cast.name(n)}: {in_words(s.reported)}" for n, s in enumerate(state.sends) if s.reported
        ]
        return " | ".join([self.cast.show(state.log), heads, *reported])


def _is_busy(state: State, writer: int) -> bool:
    """Return whether an append is in flight: at most one per chat and process."""
    return any(one.place and one.writer == writer for send in state.sends for one in send.tries)


def _moved(view: View, place: int) -> View:
    return view if view.head >= place else View(place, view.missed)


def _answered(state: State, number: int, one: Try, answer: int, label: Label) -> Steps:
    """Give a definite answer, which reaches its client or is lost."""
    yield (*label, "but it is lost"), _ended(state, number, one, unsettled=True)
    send = state.sends[number]
    known = send._replace(reported=merge_answers(send.reported, answer))
    yield label, _ended(_with_send(state, number, known), number, one)


def _ended(state: State, number: int, one: Try, *, unsettled: bool = False) -> State:
    """Remove a try. Fields that no later step reads are cleared, so that equivalent states are equal."""
    started, after, was_unsettled, reported, tries = state.sends[number]
    left = list(tries)
    left.remove(one)
    unsettled = (was_unsettled or unsettled) and not reported
    return _with_send(state, number, Send(started, after, unsettled, reported, tuple(left)))


def _with_try(state: State, number: int, old: Try, new: Try) -> State:
    started, after, unsettled, reported, tries = state.sends[number]
    left = list(tries)
    left.remove(old)
    return _with_send(state, number, Send(started, after, unsettled, reported, tuple(sorted((*left, new)))))


def _with_send(state: State, number: int, send: Send) -> State:
    log, removed, views, sends, late = state
    return State(log, removed, views, (*sends[:number], send, *sends[number + 1 :]), late)


def _with_view(state: State, writer: int, view: View) -> State:
    log, removed, views, sends, late = state
    views = (view, views[1]) if writer == 0 else (views[0], view)
    return State(log, removed, views, sends, late)


def _with_late(state: State, number: int) -> State:
    return state._replace(late=tuple(sorted({*state.late, number})))

"""Model group commit, and "A timeout is not an answer" for several messages in one transaction.

Two writers, each with a lagging log view, a queue and at most one append in flight. A batch is one transaction of
puts. It is checked against the view and against the entries before it in the batch. Batches are applied late, twice
or never, and answers may be lost. A message may be tried at both writers, or twice in one queue.

Bounds: the tries of the scenario, batches of up to three, every `after` is 1, at most one removal.

Abstracted as in `append.py`. A message that is already in the batch waits for the next one, where the view answers
it. A cancelled transaction returns the existing item of each of its sequences. Any part of the queue in any order may
become a batch, so the order of arrival is not kept.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache
from itertools import permutations, product
from typing import NamedTuple

from model.append import LANDED, SENT, UNANSWERED
from model.checks import Checks, Scenario, View
from model.explore import Label
from model.log import HOLE, NOT_WRITTEN, NOTHING, PUT, Kind, Log, in_words, merge_answers
from model.promises import Promise, fault_of_answer, fault_of_change, fault_of_log

WRITERS = ("A", "B")
AFTER = 1
MAX_BATCH = 3


class Mutant(StrEnum):
    TWO_IN_FLIGHT = "a second append is sent before the first is answered"
    UNCHECKED = "an entry is not checked against earlier entries of its batch"
    LEAVE_INSIDE = "a leave is part of a batch"
    SEPARATE_PUTS = "a batch is several puts, not one transaction"
    FIRST_FOR_ALL = "finding its own entry at the batch's first sequence settles the whole batch"
    SAME_ORDINAL = "each entry of a batch takes its ordinal from the view"


class Flight(NamedTuple):
    """A batch in flight to consecutive sequences, each entry with its ordinal."""

    place: int
    batch: tuple[int, ...]
    ordinals: tuple[int, ...]
    phase: int = SENT


class Send(NamedTuple):
    """A message and its client; `queued` counts its tries in the queues of A and B."""

    started: int = 0
    unsettled: bool = False
    reported: int = NOTHING
    queued: tuple[int, int] = (0, 0)


class State(NamedTuple):
    log: Log
    ordinals: tuple[int, ...]
    views: tuple[int, int]
    sends: tuple[Send, ...]
    flights: tuple[tuple[Flight, ...], tuple[Flight, ...]]
    late: tuple[Flight, ...]


type Steps = Iterator[tuple[Label, State]]


class Batches:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.cast = scenario.cast
        self.mutant = mutant
        self.checks = Checks(scenario.cast, None)
        self.fault_of_truth = cache(self._fault_of_truth)

    def initial(self) -> Iterable[State]:
        return [State((0,), (0,), (1, 1), (Send(),) * len(self.cast.entries), ((), ()), ())]

    def steps(self, state: State) -> Steps:
        for number, send in enumerate(state.sends):
            if not send.reported:
                yield from self._client(state, number, send)
        for writer in (0, 1):
            if any(send.queued[writer] for send in state.sends):
                yield from self._queue(state, writer)
            for flight in state.flights[writer]:
                yield from self._flight(state, writer, flight)
        for flight in state.late:
            label = ("the late batch of", self._names(flight.batch), "is applied")
            yield label, _applied(state, flight.place, flight.batch, flight.ordinals)

    def _client(self, state: State, number: int, send: Send) -> Steps:
        name = self.cast.name(number)
        is_alive = any(send.queued) or any(number in flight.batch for flight in _flying(state))
        if send.started and not is_alive and not send.unsettled:
            label: Label = ("every try of", name, "was answered 'not written': its client gives up")
            yield label, _with_send(state, number, send._replace(reported=NOT_WRITTEN))
        if send.started < self.scenario.tries[number]:
            for writer in range(2 if any(other.started for other in state.sends) else 1):
                again = send._replace(started=send.started + 1, queued=_moved(send.queued, writer, 1))
                label = ("try", send.started + 1, "of", name, "reaches", WRITERS[writer])
                yield label, _with_send(state, number, again)

    def _queue(self, state: State, writer: int) -> Steps:
        queued = [number for number, send in enumerate(state.sends) if send.queued[writer]]
        may_put = not state.flights[writer] or self.mutant is Mutant.TWO_IN_FLIGHT
        for head in range(state.views[writer], len(state.log) + 1):
            seen = _with_view(state, writer, head)
            verdicts = {
                number: self.checks.verdict(state.log, View(head), number, AFTER) for number in queued
            }
            for number, verdict in verdicts.items():
                if verdict != PUT:
                    label: Label = (WRITERS[writer], "at", head, "answers", self.cast.name(number))
                    left = _taken(seen, writer, (number,))
                    yield from self._answers(left, {number: verdict}, (*label, "with", in_words(verdict)))
            if may_put:
                ready = [number for number in queued if verdicts[number] == PUT]
                yield from self._puts(seen, writer, ready)

    def _puts(self, state: State, writer: int, ready: list[int]) -> Steps:
        flying = state.flights[writer]
        place = state.views[writer] + 1 + sum(len(flight.batch) for flight in flying)
        for batch in self._batches(state, writer, ready):
            flight = Flight(place, batch, self._ordinals(state, writer, batch))
            label = (WRITERS[writer], "puts", self._names(batch), "at", place)
            yield label, _with_flight(_taken(state, writer, batch), writer, None, flight)

    def _batches(self, state: State, writer: int, ready: list[int]) -> Iterator[tuple[int, ...]]:
        """Yield possible batches: an entry that writes a second item alone, messages together, no key twice."""
        messages = [number for number in ready if self.cast.entries[number].kind is Kind.MESSAGE]
        yield from ((number,) for number in ready if number not in messages)
        if self.mutant is Mutant.LEAVE_INSIDE:
            messages = ready
        if self.mutant is Mutant.UNCHECKED:
            messages = [number for number in messages for _ in range(state.sends[number].queued[writer])]
        for size in range(1, MAX_BATCH + 1):
            for batch in dict.fromkeys(permutations(messages, size)):
                if self.mutant is Mutant.UNCHECKED or self._has_no_key_twice(batch):
                    yield batch

    def _has_no_key_twice(self, batch: tuple[int, ...]) -> bool:
        return len({self.cast.entries[number].identity for number in batch}) == len(batch)

    def _ordinals(self, state: State, writer: int, batch: tuple[int, ...]) -> tuple[int, ...]:
        """Return the ordinals: that of the previous entry, plus one for a message."""
        ordinal, given = state.ordinals[state.views[writer] - 1], list[int]()
        for number in batch:
            counts = self.cast.entries[number].kind is Kind.MESSAGE
            given.append(ordinal + counts)
            ordinal += counts and self.mutant is not Mutant.SAME_ORDINAL
        return tuple(given)

    def _flight(self, state: State, writer: int, flight: Flight) -> Steps:
        """A batch without an answer so far."""
        names, name = self._names(flight.batch), WRITERS[writer]
        yield from self._store(state, writer, flight)
        if flight.place <= len(state.log) and state.log[flight.place - 1] != HOLE:
            yield from self._learns(state, writer, flight)
        gone = _with_flight(state, writer, flight, None)
        if flight.phase == SENT:
            waiting = _with_flight(state, writer, flight, flight._replace(phase=UNANSWERED))
            yield (name, "gets no answer to the batch of", names), waiting
            label = ("the only batch of", names, "is throttled or in conflict: 'not written'")
            yield label, _ended(gone, flight.batch, unsettled=False)
        else:
            late = gone if flight.place <= len(state.log) else _with_late(gone, flight)
            yield (name, "leaves the batch of", names, "unknown"), _ended(late, flight.batch, unsettled=True)

    def _store(self, state: State, writer: int, flight: Flight) -> Steps:
        place, batch, ordinals, _ = flight
        if self.mutant is Mutant.SEPARATE_PUTS:
            for n, number, ordinal in zip(range(place, place + len(batch)), batch, ordinals, strict=True):
                if n > len(state.log) or state.log[n - 1] == HOLE:
                    label: Label = ("the put of", self.cast.name(number), "at", n, "is applied")
                    yield label, _applied(state, n, (number,), (ordinal,))
        elif place > len(state.log):
            label = ("the batch of", self._names(batch), "at", place, "is applied")
            landed = _with_flight(state, writer, flight, flight._replace(phase=LANDED))
            yield label, _applied(landed, place, batch, ordinals)

    def _learns(self, state: State, writer: int, flight: Flight) -> Steps:
        """The sequences are taken: each entry of the batch is compared with the item at its own sequence."""
        landed = _with_flight(state, writer, flight, None)
        end = flight.place + len(flight.batch) - 1
        seen = _with_view(landed, writer, max(state.views[writer], min(end, len(state.log))))
        is_first_own = self.checks.is_own(flight.batch[0], state.log[flight.place - 1])
        answers = dict[int, int]()
        for n, number in enumerate(flight.batch, flight.place):
            if n <= len(state.log) and self.checks.is_own(number, entry := state.log[n - 1]):
                answers[number] = self.checks.compare(state.log, number, entry) or n
            elif self.mutant is Mutant.FIRST_FOR_ALL and is_first_own:
                answers[number] = n
            else:
                seen = _with_send(seen, number, _queued_again(seen.sends[number], writer))
        label = (WRITERS[writer], "learns what is at", flight.place, "to", end, "where it put")
        yield from self._answers(seen, answers, (*label, self._names(flight.batch)))

    def _answers(self, state: State, answers: dict[int, int], label: Label) -> Steps:
        """Each answer reaches its client or is lost, independently of the others."""
        for reached in product((True, False), repeat=len(answers)):
            reported = state
            for (number, answer), is_heard in zip(answers.items(), reached, strict=True):
                reported = _with_answer(reported, number, answer if is_heard else NOTHING)
            lost = [self.cast.name(n) for n, is_heard in zip(answers, reached, strict=True) if not is_heard]
            yield ((*label, "but lost is the answer to", *lost) if lost else label), reported

    def broken(self, state: State) -> str | None:
        if fault := self.fault_of_truth(state.log, state.ordinals):
            return fault
        for number, send in enumerate(state.sends):
            if send.reported and (fault := fault_of_answer(self.cast, state.log, number, send.reported)):
                return fault
        return None

    def _fault_of_truth(self, log: Log, ordinals: tuple[int, ...]) -> Promise | None:
        if fault := fault_of_log(self.cast, log):
            return fault
        counts = [self.cast.entries[entry].kind is Kind.MESSAGE for entry in log]
        right = all(ordinal == sum(counts[:n]) for n, ordinal in enumerate(ordinals, 1))
        return None if right else Promise.ORDINAL

    def broken_by_step(self, before: State, after: State) -> str | None:
        return fault_of_change(before.log, after.log)

    def broken_at_end(self, state: State) -> str | None:
        is_idle = not any(state.flights) and not any(any(send.queued) for send in state.sends)
        return None if is_idle else Promise.ANSWERED

    def show(self, state: State) -> str:
        reported = [
            f"{self.cast.name(n)}: {in_words(s.reported)}" for n, s in enumerate(state.sends) if s.reported
        ]
        views = f"A at {state.views[0]}, B at {state.views[1]}"
        return " | ".join([self.cast.show(state.log), views, *reported])

    def _names(self, batch: tuple[int, ...]) -> str:
        return " + ".join(map(self.cast.name, batch))


def _flying(state: State) -> Iterator[Flight]:
    yield from state.flights[0]
    yield from state.flights[1]


def _moved(queued: tuple[int, int], writer: int, by: int) -> tuple[int, int]:
    return (queued[0] + by, queued[1]) if writer == 0 else (queued[0], queued[1] + by)


def _queued_again(send: Send, writer: int) -> Send:
    return send._replace(queued=_moved(send.queued, writer, 1))


def _taken(state: State, writer: int, batch: tuple[int, ...]) -> State:
    for number in batch:
        send = state.sends[number]
        state = _with_send(state, number, send._replace(queued=_moved(send.queued, writer, -1)))
    return state


def _with_answer(state: State, number: int, answer: int) -> State:
    send = state.sends[number]
    reported = merge_answers(send.reported, answer) if answer else send.reported
    return _with_send(state, number, send._replace(reported=reported, unsettled=not reported))


def _ended(state: State, batch: tuple[int, ...], *, unsettled: bool) -> State:
    for number in batch:
        send = state.sends[number]
        unknown = (send.unsettled or unsettled) and not send.reported
        state = _with_send(state, number, send._replace(unsettled=unknown))
    return state


def _applied(state: State, place: int, batch: tuple[int, ...], ordinals: tuple[int, ...]) -> State:
    log, known = list(state.log), list(state.ordinals)
    for n, number, ordinal in zip(range(place, place + len(batch)), batch, ordinals, strict=True):
        while len(log) < n:
            log.append(HOLE)
            known.append(0)
        log[n - 1], known[n - 1] = number, ordinal
    return state._replace(log=tuple(log), ordinals=tuple(known), late=())


def _with_send(state: State, number: int, send: Send) -> State:
    log, ordinals, views, sends, flights, late = state
    return State(log, ordinals, views, (*sends[:number], send, *sends[number + 1 :]), flights, late)


def _with_view(state: State, writer: int, head: int) -> State:
    return state._replace(views=(head, state.views[1]) if writer == 0 else (state.views[0], head))


def _with_flight(state: State, writer: int, old: Flight | None, new: Flight | None) -> State:
    flying = tuple(flight for flight in state.flights[writer] if flight is not old)
    if new:
        flying = (*flying, new)
    return state._replace(flights=(flying, state.flights[1]) if writer == 0 else (state.flights[0], flying))


def _with_late(state: State, flight: Flight) -> State:
    return state._replace(late=tuple(sorted({*state.late, flight})))

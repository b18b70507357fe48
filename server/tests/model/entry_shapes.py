"""Model both shapes of a send: "A sender without a position" and "All tries use one shape".

Two writers with lagging log views. `m` comes from a sender without a position. Its put is one transaction: the entry,
and the key's row in `idempotency_keys`, both if absent. Tries overlap, transactions are applied late or never, and
answers are lost. Other processes append a leave, a return and another user's message.

Rules that the text lacks and the model needs (docs/adr/0006):
- Nothing confirms a refusal: no put fails if a view is stale, and there is no `after` to read up to. So a writer
  refuses only from a view that it has read up to the head since the request arrived.
- The duplicate check uses the row, not the view, so the order matters: first the view, then the row.
- A try that waits at another writer may find the sender returned. So the refusal itself is put into the row, if
  absent.

Bounds: the tries of the scenario, one leave, one return, one message of another user. The expiry of the row is left out,
because seven days are longer than any try. Abstracted as in `append.py`; a cancelled transaction returns the existing
entry and row.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from model.append import LANDED, SENT, UNANSWERED, WRITERS
from model.explore import Label
from model.log import (
    CONFLICT,
    CREATE,
    JOIN,
    LEAVE,
    M_OTHER,
    NOT_WRITTEN,
    NOTHING,
    REFUSED,
    WRONGLY_REFUSED,
    Cast,
    Log,
    M,
    X,
    in_words,
    merge_answers,
)
from model.promises import Promise, fault_of_answer, fault_of_change, fault_of_log

CAST = Cast((CREATE, M, M_OTHER, LEAVE, JOIN, X))
THE_M, THE_OTHER, THE_LEAVE, THE_JOIN, THE_X = 1, 2, 3, 4, 5
AFTER = 1
NO_ROW_YET = (0, 0)


class Mutant(StrEnum):
    MIXED = "tries of one message use both forms"
    ROW_THEN_ENTRY = "the key's row is written, then the entry"
    ENTRY_THEN_ROW = "the entry is written, then the key's row"
    UNCONDITIONAL = "the key's row is written without the condition that it is absent"
    KEY_ALONE = "the key's row is trusted without comparing its fingerprint"
    UNCONFIRMED = "a view that was at the head before the request arrived refuses"
    NO_ROW = "a writer refuses without reading the key's row"
    ROW_FIRST = "the key's row is read, then the view that refuses"
    UNWRITTEN = "the refusal is not stored in the key's row"


@dataclass(frozen=True)
class Scenario:
    """How often `m` and other content under its key are tried, and what other processes append."""

    tries: tuple[int, int]
    others: tuple[int, ...]


class What(StrEnum):
    """The request that a try has sent: the entry with its row, the entry in the other shape, a refusal, or nothing so far."""

    NOTHING = ""
    ENTRY = "entry and row"
    PLAIN_ENTRY = "entry alone"
    REFUSAL = "refusal"


class Try(NamedTuple):
    """`was_out`: the sender was not a member at some time since the request arrived."""

    writer: int
    was_out: bool
    is_plain: bool = False
    what: What = What.NOTHING
    place: int = 0
    phase: int = SENT
    has_looked: bool = False


class Send(NamedTuple):
    started: int = 0
    unsettled: bool = False
    reported: int = NOTHING
    tries: tuple[Try, ...] = ()


class State(NamedTuple):
    """`row` is the key's: a sequence (or REFUSED), and the entry whose fingerprint it has."""

    log: Log
    row: tuple[int, int]
    views: tuple[int, int]
    sends: tuple[Send, Send]
    late: tuple[tuple[int, What, int], ...]


type Steps = Iterator[tuple[Label, State]]


class Shapes:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.mutant = mutant
        self.fault_of_truth = cache(lambda log: fault_of_log(CAST, log))
        self.since = cache(lambda log: CAST.member_since("u", CAST.numbered(log)))

    def initial(self) -> Iterable[State]:
        return [State((0,), NO_ROW_YET, (1, 1), (Send(), Send()), ())]

    def steps(self, state: State) -> Steps:
        yield from self._other_processes(state)
        for number, send in enumerate(state.sends, THE_M):
            if not send.reported:
                yield from self._client(state, number, send)
            for one in dict.fromkeys(send.tries):
                yield from (self._flight if one.what else self._queue)(state, number, one)
        for number, what, place in state.late:
            if applied := self._applied(state, number, place, what):
                yield ("the late", what, "of", CAST.name(number), "is applied"), applied

    def _other_processes(self, state: State) -> Steps:
        for number in self.scenario.others:
            if number in state.log or (number == THE_JOIN and THE_LEAVE not in state.log):
                continue
            grown = self._pruned(_appended(state, number))
            if number == THE_LEAVE:
                m, other = grown.sends
                grown = grown._replace(sends=(_all_out(m), _all_out(other)))
            yield (CAST.name(number), "is appended"), grown

    def _client(self, state: State, number: int, send: Send) -> Steps:
        name = CAST.name(number)
        if send.started and not send.tries and not send.unsettled:
            label: Label = ("every try of", name, "was answered 'not written': its client gives up")
            yield label, _with_send(state, number, send._replace(reported=NOT_WRITTEN))
        if send.started == self.scenario.tries[number - THE_M]:
            return
        for writer in range(2 if any(other.started for other in state.sends) else 1):
            for is_plain in (False, True) if self.mutant is Mutant.MIXED else (False,):
                one = Try(writer, was_out=not self.since(state.log), is_plain=is_plain)
                label = ("try", send.started + 1, "of", name, "in the shape of `after`" if is_plain else "")
                tries = tuple(sorted((*send.tries, one)))
                started = _with_send(state, number, send._replace(started=send.started + 1, tries=tries))
                yield (*label, "reaches", WRITERS[writer]), started

    def _queue(self, state: State, number: int, one: Try) -> Steps:
        """Check against the view, then put; or refuse, from a view that has reached the head."""
        name, writer, head = CAST.name(number), WRITERS[one.writer], len(state.log)
        for n in range(state.views[one.writer], head + 1):
            seen = state._replace(views=(n, state.views[1]) if one.writer == 0 else (state.views[0], n))
            if one.is_plain and (repeat := _in_log(state.log[:n], number)):
                yield from _answered(seen, number, one, repeat, (writer, "finds", name, "in its view"))
            elif not self.since(state.log[:n]):
                if n == head or self.mutant is Mutant.UNCONFIRMED:
                    yield from self._refuses(seen, number, one)
            elif not _is_busy(state, one.writer):
                what = What.PLAIN_ENTRY if one.is_plain else What.ENTRY
                label: Label = (writer, "sends the", what, "of", name, "for", n + 1)
                yield label, _with_try(seen, number, one, one._replace(what=what, place=n + 1))
        if self.mutant is Mutant.ROW_FIRST and not one.has_looked and state.row == NO_ROW_YET:
            label = (writer, "finds no row for the key of", name)
            yield label, _with_try(state, number, one, one._replace(has_looked=True))
        yield (writer, "sheds", name, "before any put: 'not written'"), _ended(state, number, one)

    def _refuses(self, state: State, number: int, one: Try) -> Steps:
        """The sender is not a member in the view: a conditional put of the row decides."""
        name, writer, n = CAST.name(number), WRITERS[one.writer], state.views[one.writer]
        if one.is_plain or one.has_looked or self.mutant is Mutant.NO_ROW:
            refused = REFUSED if one.was_out else WRONGLY_REFUSED
            yield from _answered(state, number, one, refused, (writer, "at", n, "refuses", name))
        elif self.mutant is not Mutant.ROW_FIRST:
            label = (writer, "at", n, "sends the", What.REFUSAL, "of", name)
            yield label, _with_try(state, number, one, one._replace(what=What.REFUSAL))

    def _flight(self, state: State, number: int, one: Try) -> Steps:
        name, writer = CAST.name(number), WRITERS[one.writer]
        if one.phase != LANDED and (applied := self._applied(state, number, one.place, one.what)):
            landed = _with_try(applied, number, one, one._replace(phase=LANDED))
            yield ("the", one.what, "of", name, "is applied"), landed
        yield from self._learns(state, number, one)
        if one.phase == SENT:
            label: Label = (writer, "gets no answer to the", one.what, "of", name)
            yield label, _with_try(state, number, one, one._replace(phase=UNANSWERED))
            label = ("the only", one.what, "of", name, "is throttled or in conflict: 'not written'")
            yield label, _ended(state, number, one)
        else:
            left = {*state.late, (number, one.what, one.place)}
            late = self._pruned(state._replace(late=tuple(sorted(left))))
            label = (writer, "leaves the", one.what, "of", name, "unknown")
            yield label, _ended(late, number, one, unsettled=True)

    def _applied(self, state: State, number: int, place: int, what: What) -> State | None:
        """Return the state with the put applied, or None if a condition fails."""
        is_absent, is_free = state.row == NO_ROW_YET, place == len(state.log) + 1
        if what is What.REFUSAL:
            writes = is_absent and self.mutant is not Mutant.UNWRITTEN
            return self._pruned(state._replace(row=(REFUSED, number))) if writes else None
        if self.mutant is Mutant.ROW_THEN_ENTRY:
            return state._replace(row=(place, number)) if is_absent else None
        if what is What.PLAIN_ENTRY or self.mutant is Mutant.ENTRY_THEN_ROW:
            return self._pruned(_appended(state, number)) if is_free else None
        if is_free and (is_absent or self.mutant is Mutant.UNCONDITIONAL):
            return self._pruned(_appended(state, number)._replace(row=(place, number)))
        return None

    def _pruned(self, state: State) -> State:
        """Drop late puts whose conditions can never hold again."""
        late = (one for one in state.late if one[1] is What.REFUSAL or one[2] > len(state.log))
        if state.row != NO_ROW_YET and self.mutant is not Mutant.UNCONDITIONAL:
            late = (one for one in late if one[1] is What.PLAIN_ENTRY)
        return state._replace(late=tuple(late))

    def _learns(self, state: State, number: int, one: Try) -> Steps:
        """The answer arrived, or a condition failed and returned the existing items."""
        name, writer = CAST.name(number), WRITERS[one.writer]
        if answer := self._found(state, number, one):
            yield from _answered(state, number, one, answer, (writer, "finds the answer for", name))
        elif one.what is not What.REFUSAL and one.place <= len(state.log):
            fresh = one._replace(what=What.NOTHING, place=0, phase=SENT)
            yield (writer, "finds another's entry at", one.place), _with_try(state, number, one, fresh)

    def _found(self, state: State, number: int, one: Try) -> int:
        sequence, whose = state.row
        refused = REFUSED if one.was_out or one.phase != LANDED else WRONGLY_REFUSED
        if one.what is What.REFUSAL and state.row == NO_ROW_YET:
            return refused if self.mutant is Mutant.UNWRITTEN else NOTHING
        if one.what is What.PLAIN_ENTRY or self.mutant is Mutant.ENTRY_THEN_ROW:
            return _in_log(state.log[: one.place], number)
        if sequence == REFUSED:
            return refused
        return CONFLICT if sequence and whose != number and self.mutant is not Mutant.KEY_ALONE else sequence

    def broken(self, state: State) -> str | None:
        if fault := self.fault_of_truth(state.log):
            return fault
        for number, send in enumerate(state.sends, THE_M):
            if send.reported and (fault := fault_of_answer(CAST, state.log, number, send.reported)):
                return fault
        return None

    def broken_by_step(self, before: State, after: State) -> str | None:
        return fault_of_change(before.log, after.log)

    def broken_at_end(self, state: State) -> str | None:
        return Promise.ANSWERED if any(send.tries for send in state.sends) else None

    def show(self, state: State) -> str:
        sequence, whose = state.row
        row = f"row: {CAST.name(whose)} {in_words(sequence)}" if sequence else "no row"
        reported = [
            f"{CAST.name(n)}: {in_words(s.reported)}" for n, s in enumerate(state.sends, THE_M) if s.reported
        ]
        return " | ".join(
            [CAST.show(state.log), row, f"A at {state.views[0]}, B at {state.views[1]}", *reported]
        )


def _in_log(seen: Log, number: int) -> int:
    """The duplicate check of the shape with `after`."""
    for n, entry in enumerate(seen, 1):
        if n > AFTER and CAST.entries[entry].identity == CAST.entries[number].identity:
            return n if entry == number else CONFLICT
    return NOTHING


def _is_busy(state: State, writer: int) -> bool:
    return any(one.place and one.writer == writer for send in state.sends for one in send.tries)


def _all_out(send: Send) -> Send:
    return send._replace(tries=tuple(sorted(one._replace(was_out=True) for one in send.tries)))


def _answered(state: State, number: int, one: Try, answer: int, label: Label) -> Steps:
    yield (*label, in_words(answer), "but it is lost"), _ended(state, number, one, unsettled=True)
    send = state.sends[number - THE_M]
    known = send._replace(reported=merge_answers(send.reported, answer))
    yield (*label, in_words(answer)), _ended(_with_send(state, number, known), number, one)


def _ended(state: State, number: int, one: Try, *, unsettled: bool = False) -> State:
    started, was_unsettled, reported, tries = state.sends[number - THE_M]
    left = list(tries)
    left.remove(one)
    return _with_send(
        state, number, Send(started, (was_unsettled or unsettled) and not reported, reported, tuple(left))
    )


def _with_try(state: State, number: int, old: Try, new: Try) -> State:
    send = state.sends[number - THE_M]
    left = list(send.tries)
    left.remove(old)
    return _with_send(state, number, send._replace(tries=tuple(sorted((*left, new)))))


def _with_send(state: State, number: int, send: Send) -> State:
    m, other = state.sends
    return state._replace(sends=(send, other) if number == THE_M else (m, send))


def _appended(state: State, number: int) -> State:
    return state._replace(log=(*state.log, number))

"""Model filling a cold log view while a leave and a return commit: "The writer's view" of the rules of sending.

One process with a cold view of the chat. It reads the head, then the sender's row, while pushes move its view; then
it checks `m` and puts it. Other processes append leaves and returns of the sender, another user's message, and an
earlier try of `m` for as long as its sender may send it.

A rule that the text lacks and the model needs (docs/adr/0006): the row is read in its current version, which may be
ahead of the view, and no put confirms a refusal. So a process reads the log up to the head after the row, and checks
again, before it refuses.

Bounds: one try of `m` here and one elsewhere, first made at any time; the leaves and returns of the scenario; one
message of another user; the view is dropped at most once.

Abstracted: a read of the row is one step in the store and one when its answer arrives. The log is read to the head in
one step. Other processes append as `append.py` proves that they may. A row is a list of intervals (joined, removed],
as in `chat_memberships`; removed is 0 while it is open. Repeated and lost puts are in `append.py`: here a put is
applied or finds its sequence taken.
"""

from collections.abc import Iterable, Iterator
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
    WRONGLY_REFUSED,
    Cast,
    Entry,
    Kind,
    Log,
    M,
    X,
    in_words,
)
from model.promises import Promise, fault_of_answer, fault_of_change, fault_of_log

COLD = 0
UNKNOWN = -1

LEAVE_AGAIN = Entry("leave-u-again", Kind.LEAVE, user="u", key="l2")
JOIN_AGAIN = Entry("join-u-again", Kind.JOIN, user="u", key="j2")
CAST = Cast((CREATE, M, X, LEAVE, JOIN, LEAVE_AGAIN, JOIN_AGAIN))
THE_M, THE_X, FIRST_CHANGE = 1, 2, 3


class Mutant(StrEnum):
    ROW_BEFORE_HEAD = "the sender's row is read before the head"
    OUTLIVES = "a row read for an evicted view is used by the next view"
    KEPT = "the row stays valid after a membership entry has passed"
    WEAK_READ = "the sender's row is read with eventual consistency"
    UNCONFIRMED = "a sender is refused by the row without reading the log up to the head"
    PASSES_UNSEEN = "a membership entry passes the view and its cached senders are kept"
    ENTRY_THEN_ROW = "a leave's entry is written, then its row"
    ROW_THEN_ENTRY = "a leave's row is written, then its entry"


type Row = tuple[tuple[int, int], ...]


class View(NamedTuple):
    """`since` is the start of the sender's interval: 0 for a non-member, UNKNOWN until it is read.

    `is_confirmed`: the log was read up to the head after the sender's row.
    """

    head: int = COLD
    since: int = UNKNOWN
    is_confirmed: bool = False


class Read(NamedTuple):
    """An answer with the sender's row in flight; `is_passed` once a membership entry has passed the view meanwhile."""

    row: Row
    is_passed: bool = False


class State(NamedTuple):
    """`rows` are the versions of the sender's row, the newest last.

    `owed` is a change of which only half is written, which only a mutant does. `after` is 0 until the first try.
    """

    log: Log
    rows: tuple[Row, ...]
    owed: int
    after: int
    view: View
    read: Read | None
    place: int
    reported: int
    has_dropped: bool


type Steps = Iterator[tuple[Label, State]]


class Filling:
    def __init__(self, changes: int, mutant: Mutant | None = None) -> None:
        self.changes = range(FIRST_CHANGE, FIRST_CHANGE + changes)
        self.mutant = mutant
        self.fault_of_truth = cache(lambda log: fault_of_log(CAST, log))

    def initial(self) -> Iterable[State]:
        return [State((0,), (((1, 0),),), 0, 0, View(), None, 0, NOTHING, has_dropped=False)]

    def steps(self, state: State) -> Steps:
        yield from self._other_processes(state)
        if state.reported == NOTHING:
            yield from self._fill(state)
            yield from self._follow(state)
            if state.after:
                yield from self._send(state)

    def _other_processes(self, state: State) -> Steps:
        """Commit the entries of other processes, each at the head and each allowed there."""
        if not state.after:
            for after in range(1, len(state.log) + 1):
                yield ("m is first tried, with after", after), state._replace(after=after)
        if THE_X not in state.log:
            yield ("another's message is appended",), _appended(state, THE_X)
        if THE_M not in state.log and 0 < _truth(state) <= state.after:
            yield ("an earlier try of m is appended elsewhere",), _appended(state, THE_M)
        if state.owed:
            yield ("the other half is written",), self._other_half(state)
        else:
            coming = [number for number in self.changes if number not in state.log]
            yield from (self._change(state, coming[0]) if coming else ())

    def _change(self, state: State, number: int) -> Steps:
        name = CAST.name(number)
        if self.mutant is Mutant.ENTRY_THEN_ROW:
            yield ("the entry of", name, "is written"), _appended(state, number)._replace(owed=number)
        elif self.mutant is Mutant.ROW_THEN_ENTRY:
            rows = (*state.rows, _changed(state.rows[-1], number, len(state.log) + 1))
            yield ("the row of", name, "is written"), state._replace(rows=rows, owed=number)
        else:
            row = _changed(state.rows[-1], number, len(state.log) + 1)
            both = _appended(state, number)._replace(rows=(*state.rows, row))
            yield (name, "is appended, in one transaction with the row"), both

    def _other_half(self, state: State) -> State:
        paid = state._replace(owed=0)
        if self.mutant is Mutant.ROW_THEN_ENTRY:
            return _appended(paid, state.owed)
        row = _changed(state.rows[-1], state.owed, state.log.index(state.owed) + 1)
        return paid._replace(rows=(*state.rows, row))

    def _fill(self, state: State) -> Steps:
        """Read the head, then the sender's row. The result counts only if no membership entry has passed since."""
        view, read = state.view, state.read
        if view.head == COLD:
            filled = state._replace(view=View(len(state.log)))
            yield ("a strong Query finds the head at", len(state.log)), filled
        if read is None and view.since == UNKNOWN and self._may_read_row(view):
            for row in state.rows if self.mutant is Mutant.WEAK_READ else state.rows[-1:]:
                yield ("the sender's row is read as", str(row)), state._replace(read=Read(row))
        if read and view.head != COLD:
            counts = not read.is_passed or self.mutant is Mutant.KEPT
            since = _standing(read.row) if counts else UNKNOWN
            label = ("the row arrives", "and counts" if counts else "too late, to be read again")
            yield label, state._replace(view=View(view.head, since), read=None)

    def _may_read_row(self, view: View) -> bool:
        return view.head != COLD or self.mutant is Mutant.ROW_BEFORE_HEAD

    def _follow(self, state: State) -> Steps:
        view = state.view
        if view.head == COLD:
            return
        if view.head < len(state.log):
            yield ("the view moves to", view.head + 1), self._moved(state)
        if view.since != UNKNOWN and not view.is_confirmed:
            yield ("the log is read up to the head",), self._confirmed(state)
        if not state.has_dropped:
            read = state.read if self.mutant is Mutant.OUTLIVES else None
            yield ("the view is dropped",), state._replace(view=View(), read=read, has_dropped=True)

    def _moved(self, state: State) -> State:
        """Move the view entry by entry. An entry that changes a membership makes the senders unknown."""
        head, since, is_confirmed = state.view
        if CAST.entries[state.log[head]].kind not in {Kind.JOIN, Kind.LEAVE}:
            return state._replace(view=View(head + 1, since, is_confirmed))
        stays = self.mutant is Mutant.PASSES_UNSEEN
        read = state.read and state.read._replace(is_passed=True)
        return state._replace(view=View(head + 1, since if stays else UNKNOWN), read=read)

    def _confirmed(self, state: State) -> State:
        while state.view.head < len(state.log):
            state = self._moved(state)
        return state._replace(view=state.view._replace(is_confirmed=state.view.since != UNKNOWN))

    def _send(self, state: State) -> Steps:
        head, since, is_confirmed = state.view
        if state.place:
            yield from self._flight(state)
        elif since != UNKNOWN and head >= state.after:
            answer = self._verdict(state)
            if answer == NOTHING:
                yield ("m is put at", head + 1), state._replace(place=head + 1)
            elif answer > 0 or is_confirmed or self.mutant is Mutant.UNCONFIRMED:
                yield ("m is answered with", in_words(answer)), state._replace(reported=answer)

    def _verdict(self, state: State) -> int:
        head, since, _ = state.view
        if THE_M in state.log[:head]:
            return state.log.index(THE_M) + 1
        if 0 < since <= state.after:
            return NOTHING
        return WRONGLY_REFUSED if 0 < _truth(state) <= state.after else REFUSED

    def _flight(self, state: State) -> Steps:
        place = state.place
        if place > len(state.log):
            acked = _appended(state, THE_M)._replace(reported=place, place=0)
            yield ("the put of m is applied and acked",), acked
        elif state.log[place - 1] == THE_M:
            yield ("m is found at", place), state._replace(reported=place, place=0)
        else:
            # The view learns the entry that the failed put returned by moving over it, as with a push.
            yield ("the place of m is taken",), state._replace(place=0)

    def broken(self, state: State) -> str | None:
        reported = state.reported and fault_of_answer(CAST, state.log, THE_M, state.reported)
        return self.fault_of_truth(state.log) or reported or None

    def broken_by_step(self, before: State, after: State) -> str | None:
        return fault_of_change(before.log, after.log)

    def broken_at_end(self, state: State) -> str | None:
        return None if state.reported else Promise.ANSWERED

    def show(self, state: State) -> str:
        head, since, _ = state.view
        sender = "unknown" if since == UNKNOWN else f"in since {since}" if since else "out"
        view = f"view at {head}, sender {sender}" if head else "view cold"
        return " | ".join([CAST.show(state.log), f"row {state.rows[-1]}", view])


def _standing(row: Row) -> int:
    """Return since when the sender is a member according to the row."""
    return next((joined for joined, removed in row if not removed), 0)


def _truth(state: State) -> int:
    """Return since when the sender is a member according to the store."""
    return CAST.member_since("u", CAST.numbered(state.log))


def _appended(state: State, number: int) -> State:
    return state._replace(log=(*state.log, number))


def _changed(row: Row, number: int, sequence: int) -> Row:
    """Return a row after a leave or a return at this sequence."""
    if CAST.entries[number].kind is Kind.JOIN:
        return (*row, (sequence, 0))
    return (*row[:-1], (row[-1][0], sequence))

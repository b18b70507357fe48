"""Model one member's row after a restore or failover, in which the row and the log were copied at different times.

The old log has joins and leaves of the member, and entries of others. It was copied up to one entry and the row as of
any entry, before or after that. In the new epoch two readers read the row and compare it with the log. A reader writes
what it found, now or later or never. Another process removes the member and adds them again, and others send.

The rules are those of docs/adr/0048. The end of the old log is the last entry without the new epoch. A row of the old
epoch is cut to that end, then the joins and leaves of the old log are applied to it.

Bounds: the entries before and after the restore, one row, two readers, one process that changes the membership.

Abstracted: the tables were copied at most as far apart as the part of the log that a reader applies, so it applies the
whole log. Roles, mutes and bans are parts of the same row; contract tests compare them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final, NamedTuple

from model.explore import Label
from model.promises import Promise

OTHER, JOIN, LEAVE = "other", "join", "leave"


class Mutant(StrEnum):
    ROW_TRUSTED = "a row of the old epoch is trusted"
    NOT_CUT = "joins and leaves behind the end of the old log stay in the row"
    NOT_APPLIED = "the joins and leaves of the log are not applied to the row"
    MISSING_TRUSTED = "a missing row is trusted"
    ADJACENT_KNOWN = "a join right after a leave counts as one that the row has"
    CUT_TO_HEAD = "a row is cut to the head of the log, not to the end of the old log"
    WRITTEN_ALWAYS = "a reader writes its result without a condition"
    CHANGED_ANYWAY = "a change is written to a row of the old epoch"


class Entry(NamedTuple):
    kind: str
    epoch: int


class Interval(NamedTuple):
    """`removed` is 0 while the member has not left. The member reads `joined < sequence <= removed`."""

    joined: int
    removed: int = 0


type Log = tuple[Entry, ...]
type Intervals = tuple[Interval, ...]


class Row(NamedTuple):
    intervals: Intervals
    epoch: int


class Read(NamedTuple):
    """A reader that has read `seen` when the log had `length` entries, and knows its result but has not written it."""

    seen: Row | None
    result: Intervals


class Change(NamedTuple):
    """The process that changes the membership has read these intervals when the log had `length` entries."""

    intervals: Intervals
    length: int


class State(NamedTuple):
    log: Log
    row: Row | None
    readers: tuple[Read | None, ...]
    reads: int
    change: Change | None
    changes: int
    is_right: bool = True
    """Every read has returned what the log said at that moment."""


type Steps = Iterator[tuple[Label, State]]

NEW: Final = 1


@dataclass(frozen=True)
class Scenario:
    """`before`: entries of the old log. The others are counted in the new epoch."""

    before: int
    others: int
    reads: int
    changes: int


def told_by(log: Sequence[Entry]) -> Intervals:
    """Return the intervals that a log says."""
    intervals: Intervals = ()
    for sequence, entry in enumerate(log, 1):
        if entry.kind == JOIN:
            intervals = (*intervals, Interval(sequence - 1))
        elif entry.kind == LEAVE:
            intervals = (*intervals[:-1], Interval(intervals[-1].joined, sequence))
    return intervals


def applied(intervals: Intervals, log: Sequence[Entry], *, is_adjacent_known: bool = False) -> Intervals:
    """Apply joins and leaves that the intervals do not have yet."""
    for sequence, entry in enumerate(log, 1):
        last = intervals[-1] if intervals else Interval(-1, -1)
        if entry.kind == JOIN and sequence - 1 >= max(last) + is_adjacent_known and last.removed:
            intervals = (*intervals, Interval(sequence - 1))
        elif entry.kind == LEAVE and not last.removed and last.joined < sequence:
            intervals = (*intervals[:-1], Interval(last.joined, sequence))
    return intervals


def cut(intervals: Intervals, end: int) -> Intervals:
    kept = (each for each in intervals if each.joined < end)
    return tuple(Interval(i.joined, i.removed if i.removed <= end else 0) for i in kept)


class RestoredMembers:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.mutant = mutant

    def initial(self) -> Iterable[State]:
        for kinds in product((OTHER, JOIN, LEAVE), repeat=self.scenario.before):
            members = [kind for kind in kinds if kind != OTHER]
            if members[::2] != [JOIN] * len(members[::2]) or members[1::2] != [LEAVE] * len(members[1::2]):
                continue
            log = tuple(Entry(kind, 0) for kind in kinds)
            for length, row_length in product(range(len(log) + 1), repeat=2):
                intervals = told_by(log[:row_length])
                row = Row(intervals, 0) if intervals else None
                yield State(log[:length], row, (None, None), self.scenario.reads, None, self.scenario.changes)

    def steps(self, state: State) -> Steps:
        yield from self._others(state)
        for number, read in enumerate(state.readers):
            yield from self._write(state, number, read) if read else self._read(state, number)
        yield from self._commit(state, state.change) if state.change else self._begin(state)

    def _others(self, state: State) -> Steps:
        if sum(entry == (OTHER, NEW) for entry in state.log) < self.scenario.others:
            yield ("another user sends",), state._replace(log=(*state.log, Entry(OTHER, NEW)))

    def _read(self, state: State, number: int) -> Steps:
        if not state.reads:
            return
        result = self._result(state)
        read = state._replace(reads=state.reads - 1, is_right=result == told_by(state.log))
        yield ("reader", number, "reads and does not write"), read
        if state.row is None or state.row.epoch != NEW:
            readers = tuple(
                Read(state.row, result) if n == number else r for n, r in enumerate(state.readers)
            )
            yield ("reader", number, "reads"), read._replace(readers=readers)

    def _result(self, state: State) -> Intervals:
        """Return what a reader finds out about the row as it is now."""
        row = state.row
        if row is None and self.mutant is Mutant.MISSING_TRUSTED:
            return ()
        if row is not None and (row.epoch == NEW or self.mutant is Mutant.ROW_TRUSTED):
            return row.intervals
        old = [entry for entry in state.log if entry.epoch != NEW]
        intervals = row.intervals if row else ()
        if self.mutant is Mutant.CUT_TO_HEAD:
            intervals = cut(intervals, len(state.log))
        elif self.mutant is not Mutant.NOT_CUT:
            intervals = cut(intervals, len(old))
        # Without a row, the joins and leaves of the new epoch are missing as well: a change writes the row.
        if self.mutant is Mutant.NOT_APPLIED:
            return intervals
        return applied(intervals, old, is_adjacent_known=self.mutant is Mutant.ADJACENT_KNOWN)

    def _write(self, state: State, number: int, read: Read) -> Steps:
        done = state._replace(
            readers=tuple(None if n == number else each for n, each in enumerate(state.readers))
        )
        if state.row == read.seen or self.mutant is Mutant.WRITTEN_ALWAYS:
            row = Row(read.result, NEW) if read.result else None
            yield ("reader", number, "writes its result"), done._replace(row=row)
        else:
            yield ("reader", number, "finds the row changed"), done

    def _begin(self, state: State) -> Steps:
        """The process reads the row as a reader does, and its result is written before it continues."""
        if not state.changes:
            return
        result = self._result(state)
        row = state.row if state.row and state.row.epoch == NEW else Row(result, NEW) if result else None
        change = Change(result, len(state.log))
        yield ("a change begins",), state._replace(row=row, change=change)
        if row != state.row:
            yield ("a change begins, its row is not written",), state._replace(change=change)

    def _commit(self, state: State, change: Change) -> Steps:
        """Append the entry at head + 1 together with the row, on condition that both are as they were read."""
        ended = state._replace(change=None, changes=state.changes - 1)
        stored = state.row.intervals if state.row else ()
        is_of_epoch = state.row is None or state.row.epoch == NEW or self.mutant is Mutant.CHANGED_ANYWAY
        if len(state.log) != change.length or stored != change.intervals or not is_of_epoch:
            yield ("a change finds something else, and ends",), ended
            return
        is_member = bool(stored) and not stored[-1].removed
        entry = Entry(LEAVE if is_member else JOIN, NEW)
        log = (*state.log, entry)
        epoch = NEW if state.row is None else state.row.epoch
        after = applied(stored, (*(Entry(OTHER, 0),) * len(state.log), entry))
        yield (f"a {entry.kind} is committed",), ended._replace(log=log, row=Row(after, epoch))

    def broken(self, state: State) -> str | None:
        if not state.is_right:
            return Promise.MEMBERS
        if state.row and state.row.epoch == NEW and state.row.intervals != told_by(state.log):
            return Promise.ROW
        return None

    def broken_by_step(self, before: State, after: State) -> None:
        """No rule."""

    def broken_at_end(self, state: State) -> None:
        """No rule: a change that finds something else is repeated by its caller."""

    def show(self, state: State) -> str:
        log = " ".join(entry.kind + "'" * entry.epoch for entry in state.log)
        return f"{log or 'no log'} | row {state.row} | readers {state.readers} | change {state.change}"

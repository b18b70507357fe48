"""Model quiet groups: a reader copies the position of an old head into a row, so that later readers skip the head.

One chat, one user. The log is given by kinds: `m` another user's message, `o` the user's own, `l` the user leaves, `j`
the user joins. A worker writes the row of a user that its run names, then the head. If the head is marked as quiet, it
first raises the rows of all members to the end of its run, and the raise removes the mark. A reader reads row and head,
marks the head if its position is still the same, and copies the position into the row unless the row is further or its
user has left.

Bounds: the log and the faults of the scenario. Two readers of the user, which begin at any time. The two weeks after which
a reader copies are not modelled: any head may be copied at any time, so no clock matters.

Left to `heads.py`: pushes and checkpoints. A reader of a quiet row acts as a reader of the row and, at the same moment, of
the head.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from model.explore import Label
from model.receiving.promises import Promise

MEMBER_AT_START = 1
"""The user is a member after the first entry, which creates the chat."""


class Mutant(StrEnum):
    NO_MARK = "a reader does not mark the head"
    MARK_LATE = "a reader marks the head after it has copied it"
    MARK_ANY = "a reader marks a head that has moved since it was read"
    COPY_ANY = "a reader copies a position into a row that is further"
    COPY_FORMER = "a reader copies a position into the row of a user who has left since it was read"
    MARK_IGNORED = "a worker raises a head that is marked without raising the rows"
    ROWS_LATE = "a worker raises the rows of members after the head"
    FIRST_OF_RUN = "a worker raises the rows of members to the start of its run"
    ONLY_QUIET = "a worker raises only rows that are quiet"
    NAMED_STAYS = "the row of a user who leaves or joins stays quiet"
    OLD_EPOCH = "a row stays quiet after a restore"


@dataclass(frozen=True)
class Scenario:
    log: str
    rebalances: int = 0
    worker_deaths: int = 0
    restores: int = 0


class Row(NamedTuple):
    """`position`: the highest sequence in the row. `named`: the last join or leave of the user in it."""

    position: int = 1
    named: int = MEMBER_AT_START
    is_quiet: bool = False
    epoch: int = 0


class Head(NamedTuple):
    sequence: int = 1
    is_marked: bool = False
    epoch: int = 0


class Work(NamedTuple):
    first: int
    last: int
    todo: tuple[str, ...]


class Reader(NamedTuple):
    """`position`: the head that was read; 0: not read yet."""

    position: int = 0
    todo: tuple[str, ...] = ("row", "head")


class State(NamedTuple):
    """`saved_row`, `saved_head`: backups, which a restore writes. They may be of different times."""

    log_head: int = 1
    row: Row = Row()
    head: Head = Head()
    worker: Work | None = None
    zombie: Work | None = None
    readers: tuple[Reader | None, ...] = (None, None)
    began: int = 0
    saved_row: Row | None = None
    saved_head: Head | None = None
    epoch: int = 0
    rebalances: int = 0
    deaths: int = 0


type Steps = Iterator[tuple[Label, State]]


class Quiet:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.mutant = mutant
        self.log = "c" + scenario.log

    def initial(self) -> Iterable[State]:
        return [State()]

    def steps(self, state: State) -> Steps:
        if state.log_head < len(self.log):
            n = state.log_head + 1
            yield ("entry", n, self.log[n - 1], "is committed"), state._replace(log_head=n)
        yield from self._begin(state)
        for role in ("worker", "zombie"):
            yield from self._work(state, role)
        yield from self._faults(state)
        yield from self._readers(state)

    def _begin(self, s: State) -> Steps:
        if s.worker is not None:
            return
        for last in range(s.head.sequence + 1, s.log_head + 1):
            todo = ("named", "head") if self._names(s.head.sequence + 1, last) else ("head",)
            work = Work(s.head.sequence + 1, last, todo)
            yield ("the worker begins", work.first, "to", last), s._replace(worker=work)

    def _names(self, first: int, last: int) -> list[int]:
        return [n for n in range(first, last + 1) if self.log[n - 1] in "olj"]

    def _is_member(self, at: int) -> bool:
        kinds = [kind for kind in self.log[:at] if kind in "clj"]
        return kinds[-1] != "l"

    def _is_in(self, row: Row) -> bool:
        return self.log[row.named - 1] != "l"

    def _work(self, s: State, role: str) -> Steps:
        work: Work | None = getattr(s, role)
        if work is None:
            return
        step, rest = work.todo[0], work.todo[1:]
        label: Label = ("the", role, step, work.first, "to", work.last)
        if step == "named":
            yield label, self._next(s._replace(row=self._named(s, work)), role, rest)
        elif step == "members":
            yield label, self._next(s._replace(row=self._raised(s, work)), role, rest)
        else:
            yield from self._raise_head(s, role, work, label)

    def _raise_head(self, s: State, role: str, work: Work, label: Label) -> Steps:
        head = self._settled_head(s)
        s = s._replace(head=head)
        if not work.first - 1 <= head.sequence < work.last:
            yield (*label, "is not applied"), self._next(s, role, ())
        elif head.is_marked and work.todo[0] == "head" and self.mutant is not Mutant.MARK_IGNORED:
            is_late = self.mutant is Mutant.ROWS_LATE
            todo = ("marked head", "members") if is_late else ("members", "marked head")
            yield (*label, "finds a mark"), self._next(s, role, todo)
        else:
            raised = Head(work.last, is_marked=False, epoch=s.epoch)
            yield label, self._next(s._replace(head=raised), role, work.todo[1:])

    def _named(self, s: State, work: Work) -> Row:
        row = self._settled_row(s)
        found = self._names(work.first, work.last)
        changes = [n for n in found if self.log[n - 1] in "lj"]
        if found[-1] <= row.position:
            return row._replace(named=max([row.named, *changes]))
        is_quiet = row.is_quiet if self.mutant is Mutant.NAMED_STAYS else False
        return Row(found[-1], max([row.named, *changes]), is_quiet, s.epoch)

    def _raised(self, s: State, work: Work) -> Row:
        """Raise the row of the user if they are a member at the end of the run."""
        row = self._settled_row(s)
        last = work.first if self.mutant is Mutant.FIRST_OF_RUN else work.last
        if not self._is_member(work.last) or row.position >= last:
            return row
        if self.mutant is Mutant.ONLY_QUIET and not row.is_quiet:
            return row
        return row._replace(position=last, is_quiet=False)

    def _next(self, s: State, role: str, todo: tuple[str, ...]) -> State:
        work: Work = getattr(s, role)
        left = work._replace(todo=todo) if todo else None
        return s._replace(worker=left) if role == "worker" else s._replace(zombie=left)

    def _faults(self, s: State) -> Steps:
        if s.worker is not None and s.zombie is None and s.rebalances < self.scenario.rebalances:
            yield (
                ("the partition moves",),
                s._replace(worker=None, zombie=s.worker, rebalances=s.rebalances + 1),
            )
        if s.worker is not None and s.deaths < self.scenario.worker_deaths:
            yield ("the worker dies",), s._replace(worker=None, deaths=s.deaths + 1)
        if not self.scenario.restores or s.epoch:
            return
        if s.saved_row is None:
            yield ("rows are backed up",), s._replace(saved_row=s.row)
        if s.saved_head is None:
            yield ("heads are backed up",), s._replace(saved_head=s.head)
        if s.saved_row is not None and s.saved_head is not None:
            stopped = s._replace(worker=None, zombie=None, readers=(None, None))
            yield (
                ("rows and heads are restored",),
                stopped._replace(row=s.saved_row, head=s.saved_head, epoch=1),
            )

    def _settled_row(self, s: State) -> Row:
        """Return the row as a process finds it. After a restore it is compared with the log, and not quiet."""
        if s.row.epoch == s.epoch:
            return s.row
        is_quiet = s.row.is_quiet if self.mutant is Mutant.OLD_EPOCH else False
        return s.row._replace(is_quiet=is_quiet, epoch=s.epoch)

    def _settled_head(self, s: State) -> Head:
        return s.head if s.head.epoch == s.epoch else Head(s.head.sequence, is_marked=False, epoch=s.epoch)

    def _readers(self, s: State) -> Steps:
        for i, reader in enumerate(s.readers):
            if reader is None:
                if i == s.began:
                    yield ("reader", i, "begins"), self._read(s, i, Reader())._replace(began=s.began + 1)
            else:
                yield self._reads(s, i, reader)

    def _read(self, s: State, i: int, reader: Reader | None) -> State:
        return s._replace(readers=(*s.readers[:i], reader, *s.readers[i + 1 :]))

    def _reads(self, s: State, i: int, reader: Reader) -> tuple[Label, State]:
        step, rest = reader.todo[0], reader.todo[1:]
        label: Label = ("reader", i, step, reader.position)
        left = reader._replace(todo=rest)
        if step == "row":
            s = s._replace(row=self._settled_row(s))
            needs_head = self._is_in(s.row) and not s.row.is_quiet
            return label, self._read(s, i, left if needs_head else None)
        if step == "head":
            s = s._replace(head=self._settled_head(s))
            return label, self._read(s, i, Reader(s.head.sequence, self._writes(s.head)))
        done = self._read(s, i, left if rest else None)
        if step == "mark":
            is_same = s.head.sequence == reader.position or self.mutant is Mutant.MARK_ANY
            if s.head.epoch != s.epoch or not is_same:
                return (*label, "is not applied"), self._read(s, i, None)
            return label, done._replace(head=s.head._replace(is_marked=True))
        is_further = s.row.position > reader.position and self.mutant is not Mutant.COPY_ANY
        has_left = not self._is_in(s.row) and self.mutant is not Mutant.COPY_FORMER
        if s.row.epoch != s.epoch or is_further or has_left:
            return (*label, "is not applied"), self._read(s, i, None)
        return label, done._replace(row=s.row._replace(position=reader.position, is_quiet=True))

    def _writes(self, head: Head) -> tuple[str, ...]:
        if head.is_marked or self.mutant is Mutant.NO_MARK:
            return ("copy",)
        return ("copy", "mark") if self.mutant is Mutant.MARK_LATE else ("mark", "copy")

    def broken(self, state: State) -> str | None:
        """Return whether a reader would skip a head that is ahead of the row."""
        row = self._settled_row(state)
        if not self._is_in(row):
            return Promise.LEFT if row.position > row.named else None
        return Promise.QUIET if row.is_quiet and state.head.sequence > row.position else None

    def broken_by_step(self, before: State, after: State) -> str | None:
        is_restored = before.epoch != after.epoch
        return Promise.FORWARD if after.row.position < before.row.position and not is_restored else None

    def broken_at_end(self, state: State) -> str | None:
        return Promise.ROWS_RIGHT if state.head.sequence < len(self.log) else None

    def show(self, state: State) -> str:
        return f"log {state.log_head}, row {state.row}, head {state.head}, {state.worker}, {state.zombie}, {state.readers}"

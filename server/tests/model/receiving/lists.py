"""Model chat lists of groups: a reader combines a user's row with the head, while workers write both.

One chat, one user. The log is given by kinds: `m` another user's message, `o` the user's own, `l` the user leaves, `j`
the user joins, `x` the redaction of message 1. A worker reads the content for the preview, writes the rows of the sender
and of named users, then the head with its preview in one update. A reader reads the row, then the head. It reads the row
again, strongly consistent, if the head's last leave is above the row's last join or leave.

Bounds: the log and the faults of the scenario. The reader reads once, at any time.

Left to `heads.py`: pushes, checkpoints and the look-back.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from model.explore import Label
from model.receiving.promises import Promise


class Mutant(StrEnum):
    NO_SECOND_ROW = "the row is not read again after the head"
    WEAK_SECOND_ROW = "the row is read again with eventual consistency"
    HEAD_JUMPS = "a head that is behind the run is raised over the gap"
    HEAD_BEFORE_ROWS = "the head is written before the rows"
    OWN_ROW_LATE = "the sender's row is written after the head"
    UNCLIPPED = "a user who left is shown the head"
    BEFORE_JOIN = "a user who joined is shown a preview from before the join"
    SENDER_IGNORED = "the user's own last message is counted by its ordinal"
    PREVIEW_APART = "the preview is a second write, made only after a head was raised"
    PREVIEW_UNCOMPARED = "a worker whose head is old writes its preview without comparing versions"


@dataclass(frozen=True)
class Scenario:
    log: str
    worker_deaths: int = 0
    rebalances: int = 0
    unpublished: int = 0


class Preview(NamedTuple):
    sequence: int = 0
    version: int = 0


class Work(NamedTuple):
    first: int
    last: int
    todo: tuple[str, ...]
    preview: Preview = Preview()


class Row(NamedTuple):
    named: int = 0
    own: int = 0


class Head(NamedTuple):
    sequence: int = 0
    left: int = 0
    preview: Preview = Preview()


class Reader(NamedTuple):
    """`floor`: the user's own messages up to here were below the head when the row was read."""

    row: Row | None = None
    floor: int = 0
    head: Head | None = None
    is_done: bool = False


class State(NamedTuple):
    log_head: int
    offset: int
    unpublished: tuple[int, ...]
    row: Row
    head: Head
    work: Work | None
    zombie: Work | None
    reader: Reader
    deaths: int
    moves: int


type Steps = Iterator[tuple[Label, State]]

WORDS, ROWS, HEAD, PREVIEW = (
    "reads the content of",
    "writes rows of",
    "writes the head of",
    "writes the preview of",
)
TODO_OF = {
    Mutant.HEAD_BEFORE_ROWS: (WORDS, HEAD, ROWS),
    Mutant.OWN_ROW_LATE: (WORDS, ROWS, HEAD, "writes the own row of"),
    Mutant.PREVIEW_APART: (WORDS, ROWS, HEAD, PREVIEW),
}


class Lists:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario, self.mutant = scenario, mutant
        self.log, self.size = scenario.log, len(scenario.log)
        changes = [kind for kind in self.log if kind in "lj"]
        self.starts_in = not changes or changes[0] == "l"
        self.todo = TODO_OF.get(mutant, (WORDS, ROWS, HEAD)) if mutant else (WORDS, ROWS, HEAD)

    def is_in(self, n: int) -> bool:
        changes = [kind for kind in self.log[:n] if kind in "lj"]
        return changes[-1] == "j" if changes else self.starts_in

    def may_see(self, n: int) -> bool:
        return self.is_in(n) or self.is_in(n - 1)

    def joined(self, n: int) -> int:
        return self.log[:n].rfind("j") + 1

    def messages(self, after: int, up_to: int) -> int:
        return sum(self.log[n - 1] in "mo" for n in range(after + 1, up_to + 1))

    def version(self, sequence: int, log_head: int) -> int:
        changed = self.log[:log_head].rfind("x") + 1
        return changed if sequence == 1 and changed else sequence

    def initial(self) -> Iterable[State]:
        it = self.scenario
        yield State(0, 0, (), Row(), Head(), None, None, Reader(), it.worker_deaths, it.rebalances)

    def steps(self, state: State) -> Steps:
        if state.log_head < self.size:
            n = state.log_head + 1
            committed = state._replace(log_head=n)
            yield ("entry", n, "commits, is published"), committed
            if len(state.unpublished) < self.scenario.unpublished:
                missing = committed._replace(unpublished=(*state.unpublished, n))
                yield ("entry", n, "commits, is not published"), missing
        if state.work is None and state.offset < state.log_head:
            n = state.offset + 1
            if n in state.unpublished and n < self.size:
                yield ("no event of", n), state._replace(offset=n)
            else:
                yield ("the worker takes", n), state._replace(work=Work(n, n, self.todo))
        if state.work:
            label, work, after = self._works(state, state.work)
            done = after if work else after._replace(offset=state.work.last)
            yield ("the worker", *label), done._replace(work=work)
            if state.deaths:
                yield ("the worker dies",), state._replace(work=None, deaths=state.deaths - 1)
            if state.moves and state.zombie is None:
                moved = state._replace(work=None, zombie=state.work, moves=state.moves - 1)
                yield ("the partition goes to another worker",), moved
        if state.zombie:
            label, work, after = self._works(state, state.zombie)
            yield ("the worker that lost its partition", *label), after._replace(zombie=work)
        yield from self._reads(state)

    def _works(self, state: State, work: Work) -> tuple[Label, Work | None, State]:
        what, rest = work.todo[0], work._replace(todo=work.todo[1:])
        run, head = range(work.first, work.last + 1), state.head
        if what == WORDS:
            rest = rest._replace(preview=self._candidate(run, state.log_head))
        elif what == HEAD and head.sequence < work.first - 1:
            jumps = self.mutant is Mutant.HEAD_JUMPS
            jumped = state._replace(head=self._raised(head, work)) if jumps else state
            return ("finds head", head.sequence), Work(head.sequence + 1, work.last, self.todo), jumped
        elif what == HEAD:
            if self.mutant is Mutant.PREVIEW_APART and head.sequence >= work.last:
                rest = rest._replace(todo=())
            state = state._replace(head=self._raised(head, work))
        elif what == PREVIEW:
            state = state._replace(head=head._replace(preview=max(head.preview, work.preview)))
        else:
            state = state._replace(row=self._row(state.row, run, what))
        return (what, f"{work.first} to {work.last}"), rest if rest.todo else None, state

    def _row(self, row: Row, run: range, what: str) -> Row:
        named = max([n for n in run if self.log[n - 1] in "lj"], default=0)
        own = max([n for n in run if self.log[n - 1] == "o"], default=0)
        if what == ROWS and self.mutant is Mutant.OWN_ROW_LATE:
            own = 0
        return Row(max(row.named, named), max(row.own, own))

    def _candidate(self, run: range, log_head: int) -> Preview:
        """Return the newest message of the run or the message that it changes, with its content as of now."""
        wanted = [n for n in run if self.log[n - 1] in "mo"]
        wanted += [1] if any(self.log[n - 1] == "x" for n in run) else []
        return max((Preview(n, self.version(n, log_head)) for n in wanted), default=Preview())

    def _raised(self, head: Head, work: Work) -> Head:
        left = max([n for n in range(work.first, work.last + 1) if self.log[n - 1] == "l"], default=0)
        preview = max(head.preview, work.preview)
        if self.mutant is Mutant.PREVIEW_APART:
            preview = head.preview
        if self.mutant is Mutant.PREVIEW_UNCOMPARED and work.preview.sequence >= head.preview.sequence:
            preview = work.preview
        return Head(max(head.sequence, work.last), max(head.left, left), preview)

    def _reads(self, state: State) -> Steps:
        reader, head = state.reader, state.head
        if reader.row is None:
            floor = self.log[: head.sequence].rfind("o") + 1
            yield ("the list reads the row",), state._replace(reader=Reader(state.row, floor))
        elif reader.head is None:
            is_second = head.left > reader.row.named and self.mutant is not Mutant.NO_SECOND_ROW
            read = reader._replace(head=head, is_done=not is_second)
            yield ("the list reads the head",), state._replace(reader=read)
        elif not reader.is_done:
            row = reader.row if self.mutant is Mutant.WEAK_SECOND_ROW else state.row
            again = reader._replace(row=row, is_done=True)
            yield ("the list reads the row again",), state._replace(reader=again)

    def _shown(self, row: Row, head: Head) -> tuple[int, Preview, int]:
        """Return the unread count, the preview and the last sequence that the list shows."""
        end, preview = head.sequence, head.preview
        if not self.is_in(row.named) and self.mutant is not Mutant.UNCLIPPED:
            end, preview = row.named, Preview()
        joined = self.joined(row.named)
        if preview.sequence < joined and self.mutant is not Mutant.BEFORE_JOIN:
            preview = Preview()
        is_own = preview.sequence > 0 and self.log[preview.sequence - 1] == "o"
        if is_own and self.mutant is not Mutant.SENDER_IGNORED:
            return 0, preview, end
        return self.messages(max(row.own, joined), end), preview, end

    def broken(self, state: State) -> str | None:
        reader = state.reader
        if not reader.is_done or reader.row is None or reader.head is None:
            return None
        if reader.row.named == 0 and not self.starts_in:
            return None
        unread, preview, end = self._shown(reader.row, reader.head)
        if preview.sequence and not self.may_see(preview.sequence):
            return Promise.SHOWN
        if preview == Preview(1, 1) and self.version(1, end) != 1:
            return Promise.CURRENT
        floor = max(reader.floor, self.joined(reader.row.named))
        is_own = preview.sequence > 0 and self.log[preview.sequence - 1] == "o"
        return Promise.COUNTED if unread > (0 if is_own else self.messages(floor, end)) else None

    def broken_by_step(self, before: State, after: State) -> None:
        """No rule."""

    def broken_at_end(self, state: State) -> str | None:
        wanted = [n for n in range(1, self.size + 1) if self.log[n - 1] in "mo"]
        newest = max(Preview(n, self.version(n, self.size)) for n in wanted)
        is_right = state.head.sequence == self.size and state.head.preview == newest
        return None if is_right else Promise.ROWS_RIGHT

    def show(self, state: State) -> str:
        row, head = state.row, state.head
        return f"log {self.log[: state.log_head]} | row {tuple(row)} | head {head.sequence}, {tuple(head.preview)}"

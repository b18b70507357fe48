"""Model a member's row and their group's head after a restore or failover that copied row, head and log at different times.

One group, one user. The log is given by kinds: `m` another user's message, `o` the user's own, `j` the user joins, `l` the
user leaves. The old log has any of them and was copied up to any entry; row and head were copied as of any entry, or are
missing. In the new epoch senders append, and a worker writes the row of a user that its run names, then the head. Readers of
the user read the row, then the head; readers of other members read only the head.

The rules are those of docs/adr/0048, rule 6. A process that reads a row of the old epoch compares it with the old log. A
process that reads a head of the old epoch first completes the rows of all users that the old log names. It reads and writes
in separate steps, and a write requires the row or head as it was read. The user's device may acknowledge a message, which
creates a row that has only a watermark. Processes die at any step.

A worker processes entries before its run only if the head lacks them. This is the worst case: a worker without a checkpoint
also processes recent entries again. An entry of the new epoch is committed when the worker takes it, because no other step
depends on it. A reader begins while the row or the head is of the old epoch; `lists.py` has the others.

Bounds: the entries before and after the restore, one worker, two readers at a time.

Abstracted: the tables were copied at most as far apart as the part of the log that a process applies, so it applies the whole
log. The head proves the stored rows, not only what their comparison returns: after a second restore, a comparison applies a
later part of the log. An ordinal is the number of messages up to its sequence.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import product

from model.explore import Label
from model.receiving.promises import Promise
from model.receiving.restored_state import (
    NEW,
    NO_ROW,
    Head,
    Row,
    Scenario,
    State,
    Task,
    head_of,
    last,
    may_see,
    merged,
    messages,
    row_of,
)


class Mutant(StrEnum):
    NOT_COMPLETED = "the rows are not completed before a head is compared"
    HEAD_FIRST = "a head is compared and written, then the rows are completed"
    MISSING_ONLY = "only missing rows are completed"
    EXISTING_ONLY = "only existing rows are completed"
    WATERMARK_TRUSTED = "a row of the present epoch is trusted to be complete"
    SENDERS_OMITTED = "joins and leaves are added to rows, the user's last message is not"
    NOT_REPEATED = "a row that changes while it is completed is left as it is"
    HEAD_TRUSTED = "a head of the old epoch is trusted"
    HEAD_NOT_CUT = "a head stays ahead of the old log"
    HEAD_WRITTEN_ALWAYS = "a compared head is written without a condition"
    NOT_CUT = "a row stays ahead of the old log"
    CUT_TO_HEAD = "a row is cut to the head of the log, not to the end of the old log"
    NOT_ADDED = "a reader does not add what the row lacks"
    WRITTEN_ALWAYS = "a row is written without a condition"
    INTERVAL_UNCHECKED = "a join or leave is written although the row has another one than was read"
    RAISED_ANYWAY = "a worker writes to a row of the old epoch without comparing it"
    UP_TO_HEAD = "rows are completed up to the head, not to the end of the old log"


type Steps = Iterator[tuple[Label, State]]
type Step = tuple[str, Task | None, State]

USER, OTHER, WORKER = "the user's reader", "another's reader", "the worker"
ROW, SETTLE, HEAD, COMPLETE, WRITE, SETTLE_HEAD, AGAIN = (
    "reads the row",
    "writes the compared row",
    "reads the head",
    "reads a row to complete",
    "writes the completed row",
    "writes the compared head",
    "reads the row again",
)
KINDS, READERS = "mojl", 2
POSITION, _, JOINED, REMOVED, EPOCH = range(5)
RAISE, RAISE_SETTLE = "raises the row", "writes the compared row before the raise"


class RestoredRows:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.mutant = mutant

    def initial(self) -> Iterable[State]:
        it = self.scenario
        for kinds in product(KINDS, repeat=it.before):
            whole = "".join(kinds)
            if not all(self._is_possible(whole[:n], kind) for n, kind in enumerate(whole)):
                continue
            for end, of_row, of_head in product(range(it.before + 1), repeat=3):
                row = row_of(whole[:of_row])
                seen = end if row.own > end else 0
                yield State(
                    whole[:end], end, row if row.position else NO_ROW, head_of(whole[:of_head]), seen, None, (),
                    it.begins, it.acks, it.deaths, it.unpublished,
                )  # fmt: skip

    def _is_possible(self, log: str, kind: str) -> bool:
        is_in = last(log, "j") > last(log, "l")
        return kind == "m" or is_in == (kind in "ol")

    def steps(self, state: State) -> Steps:
        yield from self._commit(state)
        if state.acks and state.row == NO_ROW and "j" in state.log:
            watermark = Row(epoch=NEW)
            yield ("a device acknowledges a message",), state._replace(row=watermark, acks=state.acks - 1)
        yield from self._begin(state)
        for reader in dict.fromkeys(state.readers):
            label, task, after = self._next(state, reader)
            rest = list(state.readers)
            rest.remove(reader)
            yield (reader.role, label), after._replace(readers=tuple(sorted([*rest, *filter(None, [task])])))
            if state.deaths:
                yield (reader.role, "dies"), state._replace(readers=tuple(rest), deaths=state.deaths - 1)
        if state.worker is not None:
            label, task, after = self._next(state, state.worker)
            yield (
                (f"{WORKER} with {state.worker.first} to {state.worker.last}", label),
                after._replace(worker=task),
            )
            if state.deaths and state.worker.step != RAISE:
                again = Task(WORKER, RAISE, len(state.log), len(state.log))
                yield (WORKER, "dies"), state._replace(worker=again, deaths=state.deaths - 1)

    def _commit(self, state: State) -> Steps:
        n = len(state.log) + 1
        if state.worker is not None or n > state.end + self.scenario.after:
            return
        for kind in KINDS:
            if self._is_possible(state.log, kind):
                committed = state._replace(log=state.log + kind)
                yield (WORKER, "takes", n, kind), committed._replace(worker=Task(WORKER, RAISE, n, n))
                if state.unpublished and n < state.end + self.scenario.after:
                    fewer = state.unpublished - 1
                    yield ("no event of", n, kind), committed._replace(unpublished=fewer)

    def _begin(self, state: State) -> Steps:
        if not state.begins or len(state.readers) == READERS:
            return
        begun = state._replace(begins=state.begins - 1)
        is_old = self._is_old(state.head)
        if is_old:
            yield (
                (OTHER, "begins"),
                begun._replace(readers=tuple(sorted([*state.readers, Task(OTHER, HEAD)]))),
            )
        if is_old or self._is_old(state.row):
            yield (USER, "begins"), begun._replace(readers=tuple(sorted([*state.readers, Task(USER, ROW)])))

    def _next(self, state: State, task: Task) -> Step:
        if task.step in (RAISE, RAISE_SETTLE):
            return self._raise_row(state, task)
        if task.step in (ROW, SETTLE):
            return self._read_row(state, task)
        if task.step in (COMPLETE, WRITE):
            return self._complete(state, task)
        if task.step == HEAD:
            return self._read_head(state, task)
        if task.step == SETTLE_HEAD:
            return self._settle_head(state, task)
        return self._show(state, task._replace(shown=self._as_read(state)), task.head)

    def _is_old(self, stored: Row | Head) -> bool:
        """Return whether a row or head of the old epoch is stored."""
        return stored.epoch == 0 and bool(stored[0])

    def _as_read(self, state: State) -> Row:
        return self._compared(state, state.row) if self._is_old(state.row) else state.row

    def _compared(self, state: State, row: Row, up_to: int | None = None) -> Row:
        """Return a row of the old epoch as the old log says, with what it lacks."""
        old = state.log[: state.end]
        cut = self._cut(row, state.log if self.mutant is Mutant.CUT_TO_HEAD else old)
        return merged(cut, self._past(old[:up_to]))

    def _past(self, old: str) -> Row:
        row = row_of(old)
        return row._replace(own=0) if self.mutant is Mutant.SENDERS_OMITTED else row

    def _cut(self, row: Row, log: str) -> Row:
        """Lower a row to the end of the log. If it loses a join or a leave, its membership has the interval before."""
        end = len(log)
        if max(row) <= end or self.mutant is Mutant.NOT_CUT:
            return row
        cut = row._replace(position=min(row.position, end), own=min(row.own, end))
        if max(row.joined, row.removed) <= end:
            return cut
        joined, removed = last(log, "j"), last(log, "l")
        up_to = end if joined > removed else removed
        return Row(min(cut.position, up_to), min(cut.own, up_to), joined, removed)

    def _write(self, state: State, task: Task) -> State | None:
        """Write the parts that the comparison has changed. None: the row is not as it was read."""
        now, seen, found = state.row, task.seen, task.found
        changed = [n for n, (before, after) in enumerate(zip(seen, found, strict=True)) if before != after]
        checked = {POSITION, JOINED, REMOVED, EPOCH, *changed}
        if self.mutant is Mutant.INTERVAL_UNCHECKED:
            checked -= {JOINED, REMOVED}
        if self.mutant is not Mutant.WRITTEN_ALWAYS and any(now[n] != seen[n] for n in checked):
            return None
        return state._replace(row=Row(*(found[n] if n in changed else part for n, part in enumerate(now))))

    def _read_row(self, state: State, task: Task) -> Step:
        if task.step == SETTLE:
            written = self._write(state, task)
            shown = task._replace(step=HEAD, shown=task.found, seen=Row(), found=Row())
            return SETTLE if written else "finds the row changed", shown, written or state
        row, head = state.row, state.head
        if row == NO_ROW:
            return f"{ROW}: none", None, state
        floor = last(state.log[: head.sequence if head.epoch == NEW else min(head.sequence, state.end)], "o")
        task = task._replace(floor=floor)
        if row.epoch == NEW:
            return ROW, task._replace(step=HEAD, shown=row), state
        found = self._compared(state, row, 0 if self.mutant is Mutant.NOT_ADDED else None)
        return ROW, task._replace(step=SETTLE, seen=row, found=found), state

    def _raise_row(self, state: State, task: Task) -> Step:
        if task.step == RAISE_SETTLE:
            again = task._replace(step=RAISE, seen=Row(), found=Row())
            return RAISE_SETTLE, again, self._write(state, task) or state
        update = row_of(state.log[: task.last], task.first)
        if not update.position:
            return "has no row to write", task._replace(step=HEAD), state
        row = state.row
        if self._is_old(row) and self.mutant is not Mutant.RAISED_ANYWAY:
            found = self._compared(state, row)
            return "compares the row", task._replace(step=RAISE_SETTLE, seen=row, found=found), state
        return RAISE, task._replace(step=HEAD), state._replace(row=merged(row, update))

    def _read_head(self, state: State, task: Task) -> Step:
        head = state.head
        if self._is_old(head) and self.mutant is not Mutant.HEAD_TRUSTED:
            is_late = self.mutant in (Mutant.NOT_COMPLETED, Mutant.HEAD_FIRST)
            return HEAD, task._replace(step=SETTLE_HEAD if is_late else COMPLETE, head=head), state
        if task.role != WORKER:
            return self._show(state, task, head)
        if head.sequence < task.first - 1:
            first = head.sequence + 1
            return f"finds head {head.sequence}", Task(WORKER, RAISE, first, task.last), state
        run = head_of(state.log[: task.last])
        raised = Head(*map(max, head[:3], run[:3]))._replace(epoch=NEW)
        return "raises the head", None, state._replace(head=raised)

    def _complete(self, state: State, task: Task) -> Step:
        """Complete the user's row, and repeat until it is written."""
        done = task._replace(step=SETTLE_HEAD, seen=Row(), found=Row())
        if self.mutant is Mutant.HEAD_FIRST:
            done = task._replace(step=HEAD, seen=Row(), found=Row())
        if task.step == WRITE:
            written = self._write(state, task)
            again = done if self.mutant is Mutant.NOT_REPEATED else task._replace(step=COMPLETE)
            return (WRITE, done, written) if written else ("finds the row changed", again, state)
        row = state.row
        if self._is_spared(row) or not row_of(state.log[: state.end]).position:
            return "completes no row", done, state
        up_to = task.head.sequence if self.mutant is Mutant.UP_TO_HEAD else None
        if row.epoch == NEW:
            found = merged(row, self._past(state.log[: state.end][:up_to]))
        else:
            found = self._compared(state, row, up_to)
        if found == row:
            return "finds the row complete", done, state
        return COMPLETE, task._replace(step=WRITE, seen=row, found=found), state

    def _is_spared(self, row: Row) -> bool:
        if row == NO_ROW:
            return self.mutant is Mutant.EXISTING_ONLY
        if row.epoch == NEW:
            return self.mutant in (Mutant.WATERMARK_TRUSTED, Mutant.MISSING_ONLY)
        return self.mutant is Mutant.MISSING_ONLY

    def _settle_head(self, state: State, task: Task) -> Step:
        head, end = task.head, state.end
        cut = head._replace(epoch=NEW)
        if head.sequence > end and self.mutant is not Mutant.HEAD_NOT_CUT:
            left, preview = (n if n <= end else 0 for n in (head.left, head.preview))
            cut = Head(end, left, preview, NEW)
        is_written = state.head == head or self.mutant is Mutant.HEAD_WRITTEN_ALWAYS
        after = state._replace(head=cut) if is_written else state
        label = SETTLE_HEAD if is_written else "finds the head changed"
        if self.mutant is Mutant.HEAD_FIRST:
            return label, task._replace(step=COMPLETE), after
        if task.role == WORKER:
            return label, task._replace(step=HEAD, head=Head()), after
        _, task_after, after = self._show(after, task, cut)
        return label, task_after, after

    def _show(self, state: State, task: Task, head: Head) -> Step:
        """End a read with the row and this head, or read the row again because a later leave may be the user's."""
        row = task.shown
        if task.role == OTHER or not row.joined:
            return HEAD, None, state
        if task.step != AGAIN and head.left > row.joined:
            return HEAD, task._replace(step=AGAIN, head=head, seen=Row(), found=Row()), state
        position = max(row.position, head.sequence) if row.is_member else row.position
        preview = head.preview if row.is_member and head.preview >= row.joined else 0
        unread = self._unread(state.log, row, position, preview)
        fault = ""
        if preview and not may_see(state.log, preview):
            fault = Promise.SHOWN
        elif unread > messages(state.log, max(task.floor, row.joined), position):
            fault = Promise.COUNTED
        return AGAIN if task.step == AGAIN else HEAD, None, state._replace(fault=fault)

    def _unread(self, log: str, row: Row, position: int, preview: int = 0) -> int:
        if preview and log[preview - 1 : preview] == "o":
            return 0
        return messages(log, max(row.own, row.joined), position)

    def broken(self, state: State) -> str | None:
        if state.fault:
            return state.fault
        if state.head.epoch == NEW:
            named = row_of(state.log[: state.head.sequence])
            if any(map(int.__lt__, state.row[1:4], named[1:4])):
                return Promise.PROVEN
        return None

    def broken_by_step(self, before: State, after: State) -> None:
        """No rule."""

    def broken_at_end(self, state: State) -> str | None:
        """Return whether a resume finds the user as the log says, and the numbers of the chat list are right."""
        row, right, head = self._as_read(state), row_of(state.log), state.head
        if (head.sequence, row.joined, row.removed) != (len(state.log), right.joined, right.removed):
            return Promise.ROWS_RIGHT
        position = head.sequence if row.is_member else row.position
        seen = min(state.seen, position)
        wanted = messages(state.log, max(seen, right.own, right.joined), position)
        return None if self._unread(state.log, row, position) == wanted else Promise.COUNTED

    def show(self, state: State) -> str:
        log = f"{state.log[: state.end]}|{state.log[state.end :]}"
        row = "none" if state.row == NO_ROW else tuple(state.row)
        return f"log {log}, row {row}, head {tuple(state.head)}"

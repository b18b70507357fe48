"""Model a change of a message: an entry, and in the same transaction the row of the message.

One process with a lagging view handles a redaction. It reads the current row of the message, checks, and puts entry
and row in one transaction, on condition that the row is unchanged. Another process handles an earlier try of the same
redaction, and another user's redaction. A redacted message cannot be redacted again. Such a request is refused, and
the refusal comes from the row, not from the log.

A rule that the text lacks and the model needs (docs/adr/0006): the row may be ahead of the view because of the
client's own earlier try. So a process reads the row, then the log up to the head, before it refuses.

Bounds: one try here and one elsewhere, one redaction by another user, one message of another user. Edits and
reactions work in the same way. Abstracted as in `gap_filling.py`.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from model.explore import Label
from model.log import CREATE, NOTHING, REFUSED, Cast, Entry, Kind, Log, M, X, in_words
from model.promises import Promise, fault_of_answer, fault_of_change, fault_of_log

REDACTION = Entry("redact-m", Kind.EDIT, user="u", key="r")
ANOTHERS = Entry("redact-m-by-w", Kind.EDIT, user="w", key="r")
CAST = Cast((CREATE, M, REDACTION, ANOTHERS, X))
THE_M, OURS, THEIRS, THE_X = 1, 2, 3, 4


class Mutant(StrEnum):
    UNCONFIRMED = "a request is refused by the message's row without reading the log up to the head"
    ANY_ROW = "the message's row is written without the condition that it is unchanged since it was read"
    ROW_APART = "the message's row is changed, then the entry is put"


class State(NamedTuple):
    """`row` is 0 while the message exists, else the entry that redacted it; `read` is the value read, or None."""

    log: Log
    row: int
    view: int
    read: int | None
    is_confirmed: bool
    place: int
    reported: int


type Steps = Iterator[tuple[Label, State]]


class Changes:
    def __init__(self, mutant: Mutant | None = None) -> None:
        self.mutant = mutant
        self.fault_of_truth = cache(self._fault_of_truth)

    def initial(self) -> Iterable[State]:
        return [State((0, THE_M), 0, 2, None, is_confirmed=False, place=0, reported=NOTHING)]

    def steps(self, state: State) -> Steps:
        yield from self._other_processes(state)
        if state.reported == NOTHING:
            yield from self._flight(state) if state.place else self._prepare(state)

    def _other_processes(self, state: State) -> Steps:
        """Commit entries of other processes, each allowed at the head; redactions with the row in one transaction."""
        if THE_X not in state.log:
            yield ("another's message is appended",), state._replace(log=(*state.log, THE_X))
        if not state.row:
            for number in (OURS, THEIRS):
                done = state._replace(log=(*state.log, number), row=number)
                yield (CAST.name(number), "is appended elsewhere, with the row"), done

    def _prepare(self, state: State) -> Steps:
        if state.view < len(state.log):
            yield ("the view moves to", state.view + 1), state._replace(view=state.view + 1)
        if state.read is None:
            word = CAST.name(state.row) if state.row else "whole"
            yield ("the message's row is read:", word), state._replace(read=state.row, is_confirmed=False)
            return
        if OURS in state.log[: state.view]:
            answer = state.log.index(OURS) + 1
            yield ("the view shows the redaction:", in_words(answer)), state._replace(reported=answer)
        elif not state.read:
            yield ("the redaction is put at", state.view + 1), state._replace(place=state.view + 1)
        elif state.is_confirmed or self.mutant is Mutant.UNCONFIRMED:
            yield ("the redaction is refused: nothing left to redact",), state._replace(reported=REFUSED)
        else:
            up = state._replace(view=len(state.log), is_confirmed=True)
            yield ("the log is read up to the head",), up

    def _flight(self, state: State) -> Steps:
        is_free, is_as_read = state.place > len(state.log), state.row == state.read
        again = state._replace(place=0, read=None)
        if self.mutant is Mutant.ROW_APART and is_as_read:
            yield ("the row is changed",), state._replace(row=OURS)
        if not is_free:
            # Moving over the existing entry is how the view learns the item that the failed put returned.
            yield ("the place is taken",), again
        elif is_as_read or self.mutant is Mutant.ANY_ROW:
            acked = state._replace(log=(*state.log, OURS), row=OURS, reported=state.place, place=0)
            yield ("entry and row are written, and acked",), acked
        else:
            yield ("the row has changed meanwhile",), again

    def broken(self, state: State) -> str | None:
        reported = state.reported and fault_of_answer(CAST, state.log, OURS, state.reported)
        return self.fault_of_truth(state.log, state.row) or reported or None

    def _fault_of_truth(self, log: Log, row: int) -> Promise | None:
        redactions = [entry for entry in log if entry in {OURS, THEIRS}]
        return fault_of_log(CAST, log) or (None if redactions == [row] * (row > 0) else Promise.ROW)

    def broken_by_step(self, before: State, after: State) -> str | None:
        return fault_of_change(before.log, after.log)

    def broken_at_end(self, state: State) -> str | None:
        return None if state.reported else Promise.ANSWERED

    def show(self, state: State) -> str:
        row = f"row: {CAST.name(state.row) if state.row else 'whole'}"
        return " | ".join([CAST.show(state.log), row, f"view at {state.view}"])

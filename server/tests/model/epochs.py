"""Model a restore or failover: "One region writes" of the rules of sending.

The log is cut to an earlier length, as replication or a backup had it. All processes stop and the epoch is raised.
One writer with a view, one client that tries `m` with `after` and raises it as it receives, and one sender without a
position that tries `y`. Views, positions and `after` carry the epoch; a mismatch causes a full resync.

Rules that the text lacks and the model needs (docs/adr/0007):
- A resync sends the end of a chat, so it does not show that a key is absent: `after` stays, cut to the head.
- Empty idempotency rows would accept a message again that the restored log still has: they are rebuilt from the log.

Bounds: one restore, the tries and the entries of the scenario.

Abstracted: a restore may remove entries that a client received answers for, so answers are compared with the log
within an epoch only. Puts are applied at once or late, and their acks may be lost; `append.py` has the other
outcomes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from model.explore import Label
from model.log import CREATE, HOLE, NOTHING, Cast, Entry, Kind, Log, M, Y, in_words
from model.promises import Promise, fault_of_ack, fault_of_log

THE_M, THE_Y, FIRST_FILLER = 1, 2, 3


class Mutant(StrEnum):
    VIEW_WITHOUT_EPOCH = "a view does not carry the epoch"
    AFTER_WITHOUT_EPOCH = "`after` and positions do not carry the epoch"
    NOT_STOPPED = "a put that was in flight is applied after the restore"
    RESYNC_TO_HEAD = "a resync raises `after` to the head"
    ROWS_KEPT = "the idempotency rows are kept at a restore"
    ROWS_EMPTIED = "the idempotency rows are emptied and not rebuilt"


class Mark(NamedTuple):
    """A sequence and the epoch in which it is valid."""

    sequence: int
    epoch: int


class State(NamedTuple):
    """The client has received everything in (`floor`, `held`].

    `flight` is the sequence of m's put in flight. `row` is the sequence in the idempotency row of y.
    """

    log: Log
    epoch: int
    view: Mark
    floor: int
    held: Mark
    after: Mark
    started: tuple[int, int]
    queued: tuple[Mark, ...]
    flight: int
    row: int
    told_m: Mark
    told_y: Mark


type Steps = Iterator[tuple[Label, State]]
UNTOLD = Mark(NOTHING, 0)


@dataclass(frozen=True)
class Scenario:
    """How often m and y are tried, and the number of entries of other users."""

    tries_of_m: int
    tries_of_y: int
    fillers: int


class Epochs:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        others = (Entry(f"x{n}", Kind.MESSAGE, user="w", key=f"x{n}") for n in range(scenario.fillers))
        self.cast = Cast((CREATE, M, Y, *others))
        self.scenario = scenario
        self.mutant = mutant
        self.fault_of_truth = cache(lambda log: fault_of_log(self.cast, log))

    def initial(self) -> Iterable[State]:
        start = Mark(1, 0)
        return [State((0,), 0, start, 1, start, Mark(0, 0), (0, 0), (), 0, 0, UNTOLD, UNTOLD)]

    def steps(self, state: State) -> Steps:
        yield from self._other_processes(state)
        yield from self._restore(state)
        if not state.told_m.sequence:
            yield from self._client(state)
        for after in dict.fromkeys(state.queued):
            yield from self._check(state, after)
        if state.flight:
            yield from self._flight(state)
        yield from self._sender_without_position(state)

    def _other_processes(self, state: State) -> Steps:
        """Append another writer's entries. Which of them existed before a restore does not matter."""
        coming = [n for n in range(FIRST_FILLER, len(self.cast.entries)) if n not in state.log]
        if coming:
            yield ("another's entry is appended",), state._replace(log=(*state.log, coming[0]))

    def _restore(self, state: State) -> Steps:
        if state.epoch:
            return
        for length in range(1, len(state.log) + 1):
            flight = state.flight if self.mutant is Mutant.NOT_STOPPED else 0
            log = state.log[:length]
            restored = state._replace(log=log, epoch=1, flight=flight, row=self._restored_row(state, log))
            yield ("everything stops, and the log is restored to", length), restored

    def _restored_row(self, state: State, log: Log) -> int:
        if self.mutant is Mutant.ROWS_KEPT:
            return state.row
        return log.index(THE_Y) + 1 if THE_Y in log and self.mutant is not Mutant.ROWS_EMPTIED else 0

    def _client(self, state: State) -> Steps:
        if state.held.epoch != state.epoch and self.mutant is not Mutant.AFTER_WITHOUT_EPOCH:
            yield ("the client receives the new epoch and resyncs",), self._resynced(state)
            return
        if state.held.sequence < len(state.log):
            yield ("the client receives", state.held.sequence + 1), self._received(state)
        if state.started[0] and state.floor <= state.after.sequence < state.held.sequence:
            yield ("the client raises after to", state.held.sequence), state._replace(after=state.held)
        if state.started[0] < self.scenario.tries_of_m:
            after = state.after if state.started[0] else state.held
            queued = tuple(sorted((*state.queued, after)))
            started = (state.started[0] + 1, state.started[1])
            tried = state._replace(after=after, started=started, queued=queued)
            yield ("a try of m leaves with after", after.sequence), tried

    def _received(self, state: State) -> State:
        held = Mark(state.held.sequence + 1, state.epoch)
        is_own = state.log[held.sequence - 1] == THE_M and state.started[0]
        return state._replace(held=held, told_m=held if is_own else state.told_m)

    def _resynced(self, state: State) -> State:
        """The client accepts the current end of the chat, and continues to try the messages in its outbox."""
        head = Mark(len(state.log), state.epoch)
        kept = Mark(min(state.after.sequence, head.sequence), state.epoch)
        after = head if self.mutant is Mutant.RESYNC_TO_HEAD and state.started[0] else kept
        return state._replace(floor=head.sequence, held=head, after=after)

    def _check(self, state: State, after: Mark) -> Steps:
        left = list(state.queued)
        left.remove(after)
        ended = state._replace(queued=tuple(left))
        if after.epoch != state.epoch and self.mutant is not Mutant.AFTER_WITHOUT_EPOCH:
            yield ("a try of an old epoch is answered: resync",), ended
            return
        if after.sequence > len(state.log):
            yield ("after", after.sequence, "is above the head: resync first"), ended
            return
        view = self._view(state)
        for n in range(max(after.sequence, view), max(len(state.log), view) + 1):
            seen = ended._replace(view=Mark(n, state.epoch))
            if THE_M in state.log[after.sequence : n]:
                place = Mark(state.log.index(THE_M) + 1, state.epoch)
                yield ("at", n, "m is acked as a repeat"), seen._replace(told_m=place)
                yield ("at", n, "m is acked as a repeat, and the ack lost"), seen
            elif not state.flight:
                yield ("at", n, "m is put at", n + 1), seen._replace(flight=n + 1)

    def _view(self, state: State) -> int:
        """A view of an old epoch is dropped and filled again."""
        is_known = state.view.epoch == state.epoch or self.mutant is Mutant.VIEW_WITHOUT_EPOCH
        return state.view.sequence if is_known else len(state.log)

    def _flight(self, state: State) -> Steps:
        place, landed = state.flight, state._replace(flight=0)
        if place > len(state.log):
            gap = (HOLE,) * (place - len(state.log) - 1)
            applied = landed._replace(log=(*state.log, *gap, THE_M))
            yield ("the put at", place, "is applied, and the ack lost"), applied
            acked = applied._replace(told_m=Mark(place, state.epoch))
            yield ("the put at", place, "is applied and acked"), acked
        else:
            # The next try finds out which entry has the sequence; append.py models that.
            yield ("the put at", place, "finds its place taken"), landed

    def _sender_without_position(self, state: State) -> Steps:
        """Write entry and row in one step, or answer from the row."""
        if state.started[1] == self.scenario.tries_of_y or state.told_y.sequence:
            return
        started = state._replace(started=(state.started[0], state.started[1] + 1))
        if state.row:
            yield ("y is answered by its row",), started._replace(told_y=Mark(state.row, state.epoch))
            return
        place = len(state.log) + 1
        applied = started._replace(log=(*state.log, THE_Y), row=place)
        yield ("y is appended with its row, and the ack lost",), applied
        yield ("y is appended with its row and acked",), applied._replace(told_y=Mark(place, state.epoch))

    def broken(self, state: State) -> str | None:
        if fault := self.fault_of_truth(state.log):
            return fault
        for number, (sequence, epoch) in ((THE_M, state.told_m), (THE_Y, state.told_y)):
            if sequence and epoch == state.epoch and (fault := fault_of_ack(state.log, number, sequence)):
                return fault
        return None

    def broken_by_step(self, before: State, after: State) -> None:
        """No rule: a restore is the only step that removes entries."""

    def broken_at_end(self, state: State) -> str | None:
        return Promise.ANSWERED if state.queued or state.flight else None

    def show(self, state: State) -> str:
        marks = f"epoch {state.epoch}, view at {state.view.sequence}, client holds {state.held.sequence}"
        reported = [
            f"{name}: {in_words(t.sequence)}"
            for name, t in (("m", state.told_m), ("y", state.told_y))
            if t[0]
        ]
        return " | ".join([self.cast.show(state.log), marks, *reported])

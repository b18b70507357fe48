"""Model growth: a chat is large from the first entry whose member count exceeds 100, permanently.

One chat, one user with one device. Entry 1 finds a small chat, entry 2 makes it large, the others follow; in some
scenarios the user joins with the third. The worker handles entries according to their sequence: up to the second by rows
and routes, later ones by the counter and the channel. A join is also sent by row and route to the user who joins. A
worker dies, or loses its partition and finishes its current event, so an older event is handled late. A device
resumes meanwhile, or is connected all the time.

Bounds: entries and faults of the scenario.

Abstracted as in `small.py` and `large.py`, which also model old sockets. A gateway learns from the rows which chats
are large. So it registers, reads the rows, subscribes, and then reads the counters.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from model.explore import Label
from model.receiving.promises import Promise

GROWS = 2
JOINS = 3

AWAY, INSTALLED, REGISTERED, WAITING, CONFIRMED, READ, SENT, LIVE = range(8)
PHASES = ("away", "installed", "registered", "waiting", "confirmed", "read", "sent", "live")


class Mutant(StrEnum):
    LARGE_AFTER_MARK = "`large` is set after the checkpoint"
    LARGE_BEFORE_MARK = "`large` is set after the pushes, just before the checkpoint"
    LARGE_APART = "`large` is set before the look-up, in a separate write after the last sequence"
    ON_THE_CHANNEL = "the entry that makes the chat large is published on the channel only, not by routes"
    AS_OF_NOW = "an entry is processed by the current size of the chat"
    NOT_SUBSCRIBED = "a gateway that receives the entry does not subscribe"
    NOT_READ_AGAIN = "a gateway that receives the entry subscribes and does not read the head"
    READ_TOO_EARLY = "a gateway that receives the entry reads the head before the confirmation"
    COUNTER_ALONE = "for a large chat only the head is read, not the row"
    JOIN_ON_THE_CHANNEL = "a join of a large chat is published on the channel only"
    JOINER_NOT_LARGE = "the row of a user who joins a large chat lacks `large`"


@dataclass(frozen=True)
class Scenario:
    entries: int = 3
    joins: bool = False
    drops: int = 0
    worker_deaths: int = 0
    rebalances: int = 0


class Left(NamedTuple):
    """Faults that may still occur."""

    drops: int
    worker_deaths: int
    rebalances: int


class Row(NamedTuple):
    last: int = 0
    is_large: bool = False


class Conn(NamedTuple):
    """`is_on`: subscribed.

    `grows`: remaining steps of a live connection that was pushed the entry that made the chat large.
    """

    phase: int = AWAY
    target: int = 0
    buffer: tuple[int, ...] = ()
    is_on: bool = False
    grows: tuple[str, ...] = ()


class Work(NamedTuple):
    """Remaining steps for an event; `found`: the device had a route at the look-up."""

    n: int
    todo: tuple[str, ...]
    found: bool = False


class State(NamedTuple):
    head: int
    offset: int
    row: Row
    counter: int
    position: int
    conn: Conn
    work: Work | None
    zombie: Work | None
    left: Left


type Steps = Iterator[tuple[Label, State]]

ROWS, LARGE, LOOKUP, PUSH, COUNT, PUBLISH, COMMIT = (
    "row",
    "large",
    "look-up",
    "push",
    "count",
    "publish",
    "commit",
)
BY_ROUTES = (ROWS, LOOKUP, PUSH, COMMIT)
BY_CHANNEL = (COUNT, PUBLISH, COMMIT)
BY_BOTH = (COUNT, ROWS, LOOKUP, PUSH, PUBLISH, COMMIT)
SUBSCRIBE, READ_COUNTER = "subscribe", "read the counter"

TODO_OF_MUTANT = {
    Mutant.LARGE_AFTER_MARK: (ROWS, LOOKUP, PUSH, COMMIT, LARGE),
    Mutant.LARGE_BEFORE_MARK: (ROWS, LOOKUP, PUSH, LARGE, COMMIT),
    Mutant.LARGE_APART: (ROWS, LARGE, LOOKUP, PUSH, COMMIT),
    Mutant.ON_THE_CHANNEL: (ROWS, COUNT, PUBLISH, COMMIT),
}
GROWS_OF_MUTANT = {
    Mutant.NOT_SUBSCRIBED: (),
    Mutant.NOT_READ_AGAIN: (SUBSCRIBE,),
    Mutant.READ_TOO_EARLY: (READ_COUNTER, SUBSCRIBE),
}


class Growth:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.mutant = mutant
        self.sets_large_apart = LARGE in TODO_OF_MUTANT.get(mutant, ()) if mutant else False
        self.grows = (
            GROWS_OF_MUTANT.get(mutant, (SUBSCRIBE, READ_COUNTER)) if mutant else (SUBSCRIBE, READ_COUNTER)
        )

    def initial(self) -> Iterable[State]:
        left = Left(self.scenario.drops, self.scenario.worker_deaths, self.scenario.rebalances)
        position = JOINS - 1 if self.scenario.joins else 0
        return [State(0, 0, Row(), 0, position, Conn(), None, None, left)]

    def steps(self, state: State) -> Steps:
        if state.head < self.scenario.entries:
            yield ("entry", state.head + 1, "commits"), state._replace(head=state.head + 1)
        yield from self._gateway(state)
        if state.work is None and state.offset < state.head:
            n = state.offset + 1
            yield ("the worker takes", n), state._replace(work=Work(n, self._todo(state, n)))
        if state.work:
            label, work, after = self._works(state, state.work)
            yield ("the worker:", *label), after._replace(work=work)
        if state.zombie:
            label, work, after = self._works(state, state.zombie)
            yield ("the worker that lost its partition:", *label), after._replace(zombie=work)
        yield from self._faults(state)

    def _todo(self, state: State, n: int) -> tuple[str, ...]:
        if self.mutant is Mutant.AS_OF_NOW and state.head >= GROWS:
            return BY_CHANNEL
        if n == GROWS and not self.scenario.joins and self.mutant in TODO_OF_MUTANT:
            return TODO_OF_MUTANT[self.mutant]
        if n > GROWS:
            names_him = self.scenario.joins and n == JOINS and self.mutant is not Mutant.JOIN_ON_THE_CHANNEL
            return BY_BOTH if names_him else BY_CHANNEL
        # A user who joins later has no row yet to which these entries could be written.
        return (COMMIT,) if self.scenario.joins else BY_ROUTES

    def _works(self, state: State, work: Work) -> tuple[Label, Work | None, State]:
        n, what = work.n, work.todo[0]
        rest = work._replace(todo=work.todo[1:])
        if what == LOOKUP:
            rest = rest._replace(found=state.conn.phase >= REGISTERED)
            return (what, n), rest, state
        after = self._done(state, work, what)
        return (what, n), rest if rest.todo else None, after

    def _done(self, state: State, work: Work, what: str) -> State:
        n = work.n
        if what == ROWS:
            return state._replace(row=self._row(state.row, n))
        if what == LARGE:
            return state._replace(row=state.row._replace(is_large=True))
        if what == PUSH:
            return self._pushed(state, n) if work.found else state
        if what == COUNT:
            return state._replace(counter=max(state.counter, n))
        if what == PUBLISH:
            return self._pushed(state, n) if state.conn.is_on else state
        return state._replace(offset=n) if work is state.work else state

    def _row(self, row: Row, n: int) -> Row:
        """Write `large` together with the last sequence."""
        says_large = n >= GROWS and not self.sets_large_apart and self.mutant is not Mutant.JOINER_NOT_LARGE
        return Row(max(row.last, n), row.is_large or says_large)

    def _pushed(self, state: State, n: int) -> State:
        conn = state.conn
        if conn.phase == LIVE:
            return self._sent(state, n)
        if conn.phase == AWAY:
            return state
        return state._replace(conn=conn._replace(buffer=tuple(sorted({*conn.buffer, n}))))

    def _sent(self, state: State, n: int) -> State:
        """Send the missing entries up to n.

        The entry that makes the chat large, or the user's join, subscribes the device.
        """
        if n <= state.position:
            return state
        conn = state.conn
        learns = n >= GROWS and not conn.is_on and not conn.grows
        return state._replace(position=n, conn=conn._replace(grows=self.grows) if learns else conn)

    def _gateway(self, state: State) -> Steps:
        conn, phase = state.conn, state.conn.phase
        if phase == AWAY:
            yield ("the device connects",), state._replace(conn=Conn(INSTALLED))
            return
        if phase < READ:
            yield self._prepares(state)
        elif phase == READ:
            position = max(state.position, conn.target)
            sent = state._replace(position=position, conn=conn._replace(phase=SENT, target=0))
            yield ("the gateway sends what is ahead",), sent
        elif phase == SENT:
            live = state._replace(conn=conn._replace(phase=LIVE, buffer=()))
            for n in conn.buffer:
                live = self._sent(live, n)
            yield ("the gateway replays its buffer and is live",), live
        elif conn.grows:
            yield ("the gateway, after the growth:", conn.grows[0]), self._grown(state)
        if state.left.drops:
            left = state.left._replace(drops=state.left.drops - 1)
            yield ("the device loses its connection",), state._replace(conn=Conn(), left=left)

    def _prepares(self, state: State) -> tuple[Label, State]:
        """Register, read the row, and for a large chat the counter, after the confirmation of the subscription."""
        conn = state.conn
        if conn.phase == INSTALLED:
            return ("the gateway registers",), state._replace(conn=conn._replace(phase=REGISTERED))
        if conn.phase == REGISTERED:
            return ("the gateway reads", str(tuple(state.row))), self._row_read(state)
        if conn.phase == WAITING:
            on = conn._replace(phase=CONFIRMED, is_on=True)
            return ("the subscription is confirmed",), state._replace(conn=on)
        own = 0 if self.mutant is Mutant.COUNTER_ALONE else conn.target
        read = conn._replace(phase=READ, target=max(own, state.counter))
        return ("the gateway reads the counter",), state._replace(conn=read)

    def _row_read(self, state: State) -> State:
        last, is_large = state.row
        phase = WAITING if is_large else READ
        return state._replace(conn=state.conn._replace(phase=phase, target=last))

    def _grown(self, state: State) -> State:
        what, *rest = state.conn.grows
        conn = state.conn._replace(grows=tuple(rest))
        if what == SUBSCRIBE:
            return state._replace(conn=conn._replace(is_on=True))
        return state._replace(conn=conn, position=max(state.position, state.counter))

    def _faults(self, state: State) -> Steps:
        left = state.left
        if left.worker_deaths and state.work:
            fewer = left._replace(worker_deaths=left.worker_deaths - 1)
            yield ("the worker dies",), state._replace(work=None, left=fewer)
        if left.rebalances and state.work:
            fewer = left._replace(rebalances=left.rebalances - 1)
            moved = state._replace(work=None, zombie=state.work, left=fewer)
            yield ("the partition goes to another worker",), moved

    def broken(self, state: State) -> None:
        """No rule: only missing entries are sent."""

    def broken_by_step(self, before: State, after: State) -> None:
        """No rule."""

    def broken_at_end(self, state: State) -> str | None:
        return Promise.ARRIVED if state.position < state.head else None

    def show(self, state: State) -> str:
        conn, (last, is_large) = state.conn, state.row
        row = f"row {last}{', large' if is_large else ''}, counter {state.counter}"
        channel = ", subscribed" if conn.is_on else ""
        return f"head {state.head} | {row} | device at {state.position} [{PHASES[conn.phase]}{channel}]"

"""Model membership: reads and pushes are limited to a member's intervals, and positions skip the gaps.

One chat, small or large, one user with one device. The log is given: messages, and leaves and returns of the user,
each with the membership row in one transaction. The worker sends an entry to the members at its sequence, read from
intervals that may be ahead of it. So late and repeated events, and those of a worker that lost its partition, mean
the same as early ones. A gateway learns from passing entries whether its device's user is a member. The next entry of
a member is sent directly; everything else is filtered by the current intervals.

Bounds: the log and the faults of the scenario.

Abstracted as in `small.py`, `large.py` and `growth.py`: a subscription takes no time here, and old sockets do not
act.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from model.explore import Label
from model.receiving.promises import Promise

AWAY, INSTALLED, REGISTERED, READ, LIVE = range(5)
PHASES = ("away", "installed", "registered", "read", "live")

MESSAGE, LEAVE, JOIN = "m", "l", "j"


class Mutant(StrEnum):
    AUDIENCE_NOW = "an entry goes to the current members, not to the members as of the entry"
    LEAVE_UNTOLD = "a leave goes only to the remaining members"
    RANGE_WHOLE = "a range is sent without intersecting it with the intervals"
    PUSH_TRUSTED = "a push is sent to a device whose user was removed"
    INTERVALS_KEPT = "a gateway uses the intervals that it read when the device connected"
    INTERVAL_REPLACED = "a user who rejoins has only the new interval"
    NO_JUMP = "a position does not skip entries that the device may not see"
    POSITION_ASSUMED = (
        "the position of a user who rejoins starts at the join, even if earlier entries are missing"
    )


@dataclass(frozen=True)
class Scenario:
    """`log` is given by kinds.

    In a large chat entries use the counter and the channel; joins and leaves also use routes.
    """

    log: str = "mlm"
    is_large: bool = False
    drops: int = 0
    worker_deaths: int = 0
    rebalances: int = 0


class Left(NamedTuple):
    """Faults that may still occur."""

    drops: int
    worker_deaths: int
    rebalances: int


class Conn(NamedTuple):
    """`position` is the gateway's: it skips entries that the user may not see.

    `known` is the head of its membership data.
    """

    phase: int = AWAY
    position: int = 0
    target: int = 0
    buffer: tuple[int, ...] = ()
    is_in: bool = False
    known: int = 0


class Work(NamedTuple):
    n: int
    todo: tuple[str, ...]
    found: bool = False


class State(NamedTuple):
    """`held` is the last entry that the device received."""

    head: int
    offset: int
    row: int
    counter: int
    held: int
    conn: Conn
    work: Work | None
    zombie: Work | None
    left: Left
    fault: Promise | None = None


type Steps = Iterator[tuple[Label, State]]

ROW, LOOKUP, PUSH, COUNT, PUBLISH, COMMIT = "row", "look-up", "push", "count", "publish", "commit"


class Membership:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.mutant = mutant

    def is_in(self, n: int) -> bool:
        """Return whether the user is a member after entry n."""
        changes = [kind for kind in self.scenario.log[:n] if kind != MESSAGE]
        return not changes or changes[-1] == JOIN

    def may_see(self, n: int, head: int) -> bool:
        """Return visibility by the intervals as of `head`, which contain both the join and the leave."""
        if self.mutant is Mutant.INTERVAL_REPLACED and n < self.scenario.log[:head].rfind(JOIN) + 1:
            return False
        if n > head:
            return self.is_in(head)
        return self.is_in(n) or self.is_in(n - 1)

    def initial(self) -> Iterable[State]:
        left = Left(self.scenario.drops, self.scenario.worker_deaths, self.scenario.rebalances)
        return [State(0, 0, 0, 0, 0, Conn(), None, None, left)]

    def steps(self, state: State) -> Steps:
        if state.head < len(self.scenario.log):
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
        concerned = (ROW, LOOKUP, PUSH) if self._concerns(state, n) else ()
        return (COUNT, *concerned, PUBLISH, COMMIT) if self.scenario.is_large else (*concerned, COMMIT)

    def _concerns(self, state: State, n: int) -> bool:
        """Return whether the entry is sent to this user by row and routes."""
        if self.scenario.is_large and self.scenario.log[n - 1] == MESSAGE:
            return False
        if self.mutant is Mutant.AUDIENCE_NOW:
            return self.is_in(state.head)
        return self.is_in(n) if self.mutant is Mutant.LEAVE_UNTOLD else self.may_see(n, state.head)

    def _works(self, state: State, work: Work) -> tuple[Label, Work | None, State]:
        n, what = work.n, work.todo[0]
        rest = work._replace(todo=work.todo[1:])
        after = state
        if what == ROW:
            after = state._replace(row=max(state.row, n))
        elif what == LOOKUP:
            rest = rest._replace(found=state.conn.phase >= REGISTERED)
        elif what == COUNT:
            after = state._replace(counter=max(state.counter, n))
        elif what == PUBLISH:
            is_on = state.conn.phase >= REGISTERED and (state.conn.is_in or state.conn.phase < LIVE)
            after = self._pushed(state, n) if is_on or self.mutant is Mutant.PUSH_TRUSTED else state
        elif what == PUSH:
            after = self._pushed(state, n) if work.found else state
        elif work is state.work:
            after = state._replace(offset=n)
        return (what, n), rest if rest.todo else None, after

    def _pushed(self, state: State, n: int) -> State:
        conn = state.conn
        if conn.phase == LIVE:
            return self._sent_up_to(state, n)
        if conn.phase == AWAY:
            return state
        return state._replace(conn=conn._replace(buffer=tuple(sorted({*conn.buffer, n}))))

    def _gateway(self, state: State) -> Steps:
        conn = state.conn
        if conn.phase == AWAY:
            yield ("the device connects",), state._replace(conn=Conn(INSTALLED, state.held))
            return
        if conn.phase == INSTALLED:
            yield ("the gateway registers",), state._replace(conn=conn._replace(phase=REGISTERED))
        elif conn.phase == REGISTERED:
            target = max(state.row, state.counter) if self.scenario.is_large else state.row
            read = conn._replace(phase=READ, target=target, known=self._kept(state.head))
            yield ("the gateway reads", target), state._replace(conn=read)
        elif conn.phase == READ:
            yield ("the gateway sends, replays and is live",), self._resumed(state)
        if state.left.drops:
            left = state.left._replace(drops=state.left.drops - 1)
            yield ("the device loses its connection",), state._replace(conn=Conn(), left=left)

    def _kept(self, head: int) -> int:
        return head if self.mutant is Mutant.INTERVALS_KEPT else 0

    def _resumed(self, state: State) -> State:
        conn = state.conn
        live = state._replace(
            conn=conn._replace(phase=LIVE, target=0, buffer=(), is_in=self.is_in(conn.position))
        )
        if self.mutant is Mutant.POSITION_ASSUMED and self.is_in(conn.target):
            since = self.scenario.log[: conn.target].rfind(JOIN)
            live = live._replace(conn=live.conn._replace(position=max(conn.position, since)))
        for n in (conn.target, *conn.buffer):
            live = self._sent_up_to(live, n)
        return live

    def _sent_up_to(self, state: State, n: int) -> State:
        """Send the next entry of a member directly, else the part of the range that the intervals allow."""
        conn = state.conn
        if n <= conn.position:
            return state
        if conn.is_in and n == conn.position + 1:
            return self._sent(state, [n], n)
        if self.mutant is Mutant.PUSH_TRUSTED and n == conn.position + 1:
            return self._sent(state, [n], n)
        whole = range(conn.position + 1, n + 1)
        if self.mutant is Mutant.RANGE_WHOLE:
            return self._sent(state, whole, n)
        head = conn.known or state.head
        seen = [one for one in whole if self.may_see(one, head)]
        if self.mutant is Mutant.NO_JUMP and seen != list(whole):
            return state
        return self._sent(state, seen, n)

    def _sent(self, state: State, sequences: Iterable[int], up_to: int) -> State:
        fault, held = state.fault, state.held
        for n in sequences:
            fault = fault or self._fault(held, n)
            held = n
        conn = state.conn._replace(position=up_to, is_in=self.is_in(up_to))
        return state._replace(held=held, conn=conn, fault=fault)

    def _fault(self, held: int, n: int) -> Promise | None:
        if not self._is_seen(n):
            return Promise.WITHIN
        if n <= held:
            return Promise.IN_ORDER
        return Promise.NO_HOLE if any(self._is_seen(other) for other in range(held + 1, n)) else None

    def _is_seen(self, n: int) -> bool:
        """Return whether the user may see entry n, by the complete log."""
        return self.is_in(n) or self.is_in(n - 1)

    def _faults(self, state: State) -> Steps:
        left = state.left
        if left.worker_deaths and state.work:
            fewer = left._replace(worker_deaths=left.worker_deaths - 1)
            yield ("the worker dies",), state._replace(work=None, left=fewer)
        if left.rebalances and state.work:
            fewer = left._replace(rebalances=left.rebalances - 1)
            moved = state._replace(work=None, zombie=state.work, left=fewer)
            yield ("the partition goes to another worker",), moved

    def broken(self, state: State) -> str | None:
        return state.fault

    def broken_by_step(self, before: State, after: State) -> None:
        """No rule."""

    def broken_at_end(self, state: State) -> str | None:
        lacks = any(self._is_seen(n) for n in range(state.held + 1, state.head + 1))
        return Promise.ARRIVED if lacks else None

    def show(self, state: State) -> str:
        conn = state.conn
        log = " ".join(self.scenario.log[: state.head])
        device = f"device holds {state.held} [{PHASES[conn.phase]} at {conn.position}]"
        return f"log {log} | row {state.row}, counter {state.counter} | {device}"

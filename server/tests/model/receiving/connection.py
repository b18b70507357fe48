"""Model a connection: a chat's entries arrive in sequence order without holes, for any order of pushes.

One device, one chat. Each entry is pushed once or more to the newest route, at any time after its commit, in any
order; an old socket may receive pushes as well. A push that skips entries makes the gateway read the range between,
which takes time. Frames take time too, and frames in flight are lost with their socket. A device may reconnect while
it still reads the old socket, which it no longer relies on. A socket whose send buffer exceeds its limit is closed
with a message that tells the device to reconnect.

Bounds: entries and faults of the scenario; two frames in flight.

Abstracted: rows and routes are in `small.py`. A row is at least as far as the furthest push, and at most at the head.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from model.explore import Label
from model.receiving.promises import Promise

INSTALLED, REGISTERED, RESUMED = range(3)


class Mutant(StrEnum):
    AHEAD_AS_IT_IS = "a push ahead of the next sequence is sent unchanged"
    OVERTAKES = "a push is sent immediately while a range is being read"
    LOST_WHILE_READING = "a push that arrives while a range is being read is dropped"
    KEPT_UNCHECKED = "pushes that arrived while a range was read are sent without comparing positions"
    WEAK_RANGE = "a range is read with eventual consistency"
    FROM_SENT = "a device resumes from the last entry sent, not from its position"
    SILENT_DROP = "a frame over the bound is dropped, and the socket stays open"
    STAYS_WITH_OLD = "a device whose new socket breaks keeps using the old one"
    CLIENT_TAKES_ALL = "a client accepts every frame without comparing positions"


@dataclass(frozen=True)
class Scenario:
    entries: int = 3
    drops: int = 0
    handovers: int = 0
    repeats: int = 0
    bound: int = 9


class Left(NamedTuple):
    """Faults that may still occur."""

    drops: int
    handovers: int
    repeats: int


class Conn(NamedTuple):
    """`position` is the last sequence sent; `reading` is the end of a range that is being read, 0 if none is."""

    position: int
    phase: int = INSTALLED
    reading: int = 0
    waiting: tuple[int, ...] = ()
    frames: tuple[int, ...] = ()
    is_closed: bool = False


class State(NamedTuple):
    """`conns` has the newest last; `reported` is the highest sequence sent on any socket, which only a mutant uses."""

    head: int
    owed: tuple[int, ...]
    position: int
    reported: int
    conns: tuple[Conn, ...]
    left: Left
    fault: Promise | None = None


type Steps = Iterator[tuple[Label, State]]


class Connection:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.mutant = mutant

    def initial(self) -> Iterable[State]:
        return [
            State(0, (), 0, 0, (), Left(self.scenario.drops, self.scenario.handovers, self.scenario.repeats))
        ]

    def steps(self, state: State) -> Steps:
        n = state.head + 1
        if n <= self.scenario.entries:
            yield ("entry", n, "commits"), state._replace(head=n, owed=(*state.owed, n))
        yield from self._pushes(state)
        yield from self._device(state)
        for number, conn in enumerate(state.conns):
            yield from self._socket(state, number, conn)

    def _pushes(self, state: State) -> Steps:
        for n in state.owed:
            paid = state._replace(owed=tuple(other for other in state.owed if other != n))
            yield ("entry", n, "is pushed"), self._pushed(paid, _route(state), n)
        if state.left.repeats:
            left = state.left._replace(repeats=state.left.repeats - 1)
            for number in range(len(state.conns)):
                for n in range(1, state.head + 1):
                    again = self._pushed(state._replace(left=left), number, n)
                    yield ("entry", n, "is pushed once more, to socket", number), again

    def _pushed(self, state: State, number: int, n: int) -> State:
        """Push an entry. Without a registered connection nothing is sent: the row has the entry."""
        conn = state.conns[number] if state.conns else None
        if conn is None or conn.phase == INSTALLED or conn.is_closed:
            return state
        if conn.phase == RESUMED and not conn.reading:
            return self._sent_up_to(state, number, conn, n)
        if self.mutant is Mutant.LOST_WHILE_READING and conn.reading:
            return state
        if self.mutant is Mutant.OVERTAKES and conn.reading and n > conn.position:
            return self._sent(state, number, conn, [n])
        kept = conn._replace(waiting=tuple(sorted({*conn.waiting, n})))
        return _with(state, number, kept)

    def _sent_up_to(self, state: State, number: int, conn: Conn, n: int) -> State:
        if n <= conn.position:
            return state
        if n == conn.position + 1 or self.mutant is Mutant.AHEAD_AS_IT_IS:
            return self._sent(state, number, conn, [n])
        return _with(state, number, conn._replace(reading=n))

    def _sent(self, state: State, number: int, conn: Conn, sequences: Iterable[int]) -> State:
        fault = state.fault
        for n in sequences:
            if len(conn.frames) == self.scenario.bound:
                if self.mutant is not Mutant.SILENT_DROP:
                    conn = conn._replace(is_closed=True, reading=0, waiting=())
                    break
                conn = conn._replace(position=n)
                continue
            if n != conn.position + 1:
                fault = fault or (Promise.NO_HOLE if n > conn.position else Promise.IN_ORDER)
            conn = conn._replace(position=n, frames=(*conn.frames, n))
        reported = max(state.reported, conn.position) if self.mutant is Mutant.FROM_SENT else 0
        return _with(state, number, conn)._replace(fault=fault, reported=reported)

    def _device(self, state: State) -> Steps:
        handover = bool(state.left.handovers) and len(state.conns) == 1
        if state.conns and not handover:
            return
        left = state.left._replace(handovers=state.left.handovers - 1) if state.conns else state.left
        start = state.reported if self.mutant is Mutant.FROM_SENT else state.position
        conns = (*state.conns, Conn(start))
        yield ("the device connects, and holds", state.position), state._replace(conns=conns, left=left)

    def _socket(self, state: State, number: int, conn: Conn) -> Steps:
        if conn.frames:
            yield ("the device gets", conn.frames[0], "from socket", number), self._taken(state, number, conn)
        elif conn.is_closed:
            yield ("socket", number, "was closed: 'reconnect and resume'"), self._broke(state, number)
        if not conn.is_closed:
            yield from self._gateway(state, number, conn)
        if state.left.drops:
            left = state.left._replace(drops=state.left.drops - 1)
            yield ("socket", number, "breaks"), self._broke(state, number)._replace(left=left)

    def _broke(self, state: State, number: int) -> State:
        """The route is removed with the newest socket, so the device no longer relies on an older one."""
        is_newest = number == len(state.conns) - 1
        stays = self.mutant is Mutant.STAYS_WITH_OLD
        return state._replace(conns=()) if is_newest and not stays else _without(state, number)

    def _taken(self, state: State, number: int, conn: Conn) -> State:
        """The client's rule: it ignores entries that it has."""
        n, *rest = conn.frames
        arrived = _with(state, number, conn._replace(frames=tuple(rest)))
        if n <= state.position and self.mutant is not Mutant.CLIENT_TAKES_ALL:
            return arrived
        fault = None if n == state.position + 1 else Promise.ONCE
        return arrived._replace(position=n, fault=state.fault or fault)

    def _gateway(self, state: State, number: int, conn: Conn) -> Steps:
        if conn.phase == INSTALLED:
            registered = conn._replace(phase=REGISTERED)
            yield ("socket", number, "is registered"), _with(state, number, registered)
        elif conn.phase == REGISTERED:
            for row in range(_highest_pushed(state), state.head + 1):
                resumed = conn._replace(phase=RESUMED, reading=row if row > conn.position else 0)
                read = _with(state, number, resumed)
                yield (
                    ("for socket", number, "the row says", row),
                    read if resumed.reading else self._drained(read, number),
                )
        elif conn.reading:
            yield from self._range_read(state, number, conn)
        elif len(state.conns) > 1 and number == len(state.conns) - 1:
            yield ("the old socket is closed",), state._replace(conns=state.conns[1:])

    def _range_read(self, state: State, number: int, conn: Conn) -> Steps:
        whole = range(conn.position + 1, conn.reading + 1)
        read = self._drained(self._sent(state, number, conn._replace(reading=0), whole), number)
        yield ("for socket", number, "the log is read up to", conn.reading), read
        if self.mutant is Mutant.WEAK_RANGE and len(whole) > 1:
            short = self._sent(state, number, conn._replace(reading=0), [*whole[:-2], whole[-1]])
            yield ("for socket", number, "the log is read, without its last"), self._drained(short, number)

    def _drained(self, state: State, number: int) -> State:
        """Send the buffered pushes above the position; one of them may skip entries again."""
        while state.conns[number].waiting and not state.conns[number].reading:
            n, *rest = state.conns[number].waiting
            conn = state.conns[number]._replace(waiting=tuple(rest))
            if self.mutant is Mutant.KEPT_UNCHECKED:
                state = self._sent(state, number, conn, [n])
            else:
                state = self._sent_up_to(_with(state, number, conn), number, conn, n)
        return state

    def broken(self, state: State) -> str | None:
        return state.fault

    def broken_by_step(self, before: State, after: State) -> None:
        """No rule."""

    def broken_at_end(self, state: State) -> str | None:
        return Promise.ARRIVED if state.position < state.head else None

    def show(self, state: State) -> str:
        sockets = [
            f"socket {number}: sent {conn.position}, in flight {conn.frames}, waiting {conn.waiting}"
            for number, conn in enumerate(state.conns)
        ]
        return " | ".join([f"head {state.head}, device at {state.position}", *sockets])


def _highest_pushed(state: State) -> int:
    return max((n for n in range(1, state.head + 1) if n not in state.owed), default=0)


def _route(state: State) -> int:
    """Return the newest registered socket; `small.py` models an old one that registers late."""
    return max((number for number, conn in enumerate(state.conns) if conn.phase != INSTALLED), default=0)


def _with(state: State, number: int, conn: Conn) -> State:
    return state._replace(conns=(*state.conns[:number], conn, *state.conns[number + 1 :]))


def _without(state: State, number: int) -> State:
    return state._replace(conns=(*state.conns[:number], *state.conns[number + 1 :]))

"""Model the offline checks: which messages have an event, whenever a device or its gateway disappears.

One user with one device, one chat, one worker and one process that handles checks. The worker looks up the route and then
pushes; a device registers, reads its row and then receives what it missed; a check reads routes and then watermarks.
Any other step may happen in between. A frozen device stays connected and receives nothing.

Bounds: the messages, connections, freezes and kills of the scenario. A killed gateway takes its acks along. Its route
and its registration stay until 30 seconds have passed.

Abstracted: the writes of a gateway that notices a disconnect are one step, because a check waits longer than they take.
Publishing to Kafka does not fail. A check of an hour ago is not modelled.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from model import page
from model.cases import Bounds
from model.explore import Label
from model.mutants import Break, Rule

RESUMING, READ, LIVE = range(3)
NOBODY = 0


class Promise(StrEnum):
    TOLD = "a message that a disconnected device does not have has an event"
    EXACT = "a message that was acknowledged before the check read the routes has no event"
    PATIENT = "no check finds a user offline within 30 seconds after their gateway was killed"


class Mutant(StrEnum):
    ROUTE_ENDS_CHECK = "a check ends if the user has a route"
    WATERMARKS_FIRST = "a check reads watermarks before routes"
    NO_UNACKED = "a gateway requests no check when a device disconnects"
    ONLY_SENT = "a gateway requests checks of sent entries, not of entries pushed during a resume"
    NO_UNDELIVERED = "a gateway ignores a push to a device that has disconnected"
    NO_FLUSH = "a gateway does not write waiting acks when a device disconnects"
    NO_WATCH = "no process notices that a gateway vanished"
    NO_PATIENCE = "a user whose gateway vanished counts as offline at once"


@dataclass(frozen=True)
class Scenario:
    messages: int = 2
    connections: int = 2
    freezes: int = 0
    kills: int = 0


class Conn(NamedTuple):
    """The connection of the device. `target`: the head that its resume read. `ahead`: pushed during the resume."""

    number: int
    phase: int = RESUMING
    target: int = 0
    sent: int = 0
    acked: int = 0
    ahead: int = 0
    is_frozen: bool = False


class Reading(NamedTuple):
    """A check in progress. -1: not read yet. `confirmed`, `was_in_grace`: as they were when it read the routes."""

    first: int
    last: int
    is_offline: int = -1
    stored: int = -1
    confirmed: int = 0
    was_in_grace: bool = False


class State(NamedTuple):
    """`held`: what the device has. `confirmed`: what it acknowledged to a gateway that was not killed afterwards.

    `found`: message and connection (0: no route) of the worker's look-up. `route`: the connection that it names.
    """

    head: int = 0
    found: tuple[int, int] | None = None
    route: int = NOBODY
    conn: Conn | None = None
    connected: int = 0
    held: int = 0
    confirmed: int = 0
    stored: int = 0
    unwritten: int = 0
    checks: frozenset[tuple[int, int]] = frozenset()
    reading: Reading | None = None
    events: frozenset[int] = frozenset()
    is_in_grace: bool = False
    has_vanished: bool = False
    freezes: int = 0
    kills: int = 0


type Steps = Iterator[tuple[Label, State]]


class OfflineChecks:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.mutant = mutant

    def initial(self) -> Iterable[State]:
        return [State()]

    def steps(self, state: State) -> Steps:
        yield from self._worker(state)
        yield from self._device(state)
        yield from self._time(state)
        yield from self._check(state)

    def _worker(self, s: State) -> Steps:
        if s.found is None:
            if s.head < self.scenario.messages:
                n = s.head + 1
                yield (
                    ("the worker writes the row of", n, "and looks up"),
                    s._replace(head=n, found=(n, s.route)),
                )
            return
        n, route = s.found
        after = s._replace(found=None)
        if route and s.conn is not None and s.conn.number == route:
            yield ("the worker pushes", n), self._pushed(after, n)
        elif route and s.route != route and not s.has_vanished:
            # The gateway is alive, and the device has left.
            checks = s.checks if self.mutant is Mutant.NO_UNDELIVERED else s.checks | {(n, n)}
            yield ("the gateway finds no device for", n), after._replace(checks=checks)
        else:
            route_left = NOBODY if route and s.route == route else s.route
            yield (
                ("the worker requests a check of", n),
                after._replace(checks=s.checks | {(n, n)}, route=route_left),
            )

    def _pushed(self, s: State, n: int) -> State:
        assert s.conn is not None
        if s.conn.phase != LIVE:
            return s._replace(conn=s.conn._replace(ahead=n))
        held = s.held if s.conn.is_frozen else max(s.held, n)
        return s._replace(conn=s.conn._replace(sent=max(s.conn.sent, n)), held=held)

    def _device(self, s: State) -> Steps:
        conn = s.conn
        if conn is None:
            if s.connected < self.scenario.connections:
                number = s.connected + 1
                new = Conn(number, sent=s.held, acked=s.held)
                yield (
                    ("the device connects and registers",),
                    s._replace(conn=new, connected=number, route=number),
                )
            return
        if conn.phase == RESUMING:
            yield (
                ("the resume reads the row",),
                s._replace(conn=conn._replace(phase=READ, target=s.head)),
            )
        if conn.phase == READ:
            yield ("the resume sends what was missed",), self._resumed(s, conn)
        if conn.phase == LIVE and not conn.is_frozen and s.held > conn.acked:
            yield (
                ("the device acknowledges", s.held),
                s._replace(conn=conn._replace(acked=s.held), unwritten=s.held, confirmed=s.held),
            )
        if s.unwritten > s.stored:
            yield ("the gateway writes its acks",), s._replace(stored=s.unwritten)
        if not conn.is_frozen and s.freezes < self.scenario.freezes:
            yield (
                ("the device freezes",),
                s._replace(conn=conn._replace(is_frozen=True), freezes=s.freezes + 1),
            )
        yield ("the gateway finds the socket closed",), self._closed(s, conn)
        if s.kills < self.scenario.kills:
            killed = s._replace(conn=None, unwritten=0, confirmed=min(s.confirmed, s.stored))
            yield (
                ("the gateway is killed",),
                killed._replace(is_in_grace=True, has_vanished=True, kills=s.kills + 1),
            )

    def _resumed(self, s: State, conn: Conn) -> State:
        last = max(conn.target, conn.ahead, conn.sent)
        held = s.held if conn.is_frozen else max(s.held, last)
        # The positions of the resume are acks.
        return s._replace(
            conn=conn._replace(phase=LIVE, sent=last),
            held=held,
            unwritten=max(s.unwritten, conn.acked),
            confirmed=max(s.confirmed, conn.acked),
        )

    def _closed(self, s: State, conn: Conn) -> State:
        last = conn.sent if self.mutant is Mutant.ONLY_SENT else max(conn.sent, conn.ahead)
        checks = s.checks
        if last > conn.acked and self.mutant is not Mutant.NO_UNACKED:
            checks |= {(conn.acked + 1, last)}
        stored = s.stored if self.mutant is Mutant.NO_FLUSH else max(s.stored, s.unwritten)
        return s._replace(conn=None, route=NOBODY, unwritten=0, stored=stored, checks=checks)

    def _time(self, s: State) -> Steps:
        if s.is_in_grace:
            route = s.route if s.conn is not None else NOBODY
            yield ("30 seconds pass",), s._replace(is_in_grace=False, route=route)
        elif s.has_vanished:
            checks = s.checks if self.mutant is Mutant.NO_WATCH or not s.head else s.checks | {(1, s.head)}
            yield (
                ("the registration of the gateway expires",),
                s._replace(has_vanished=False, checks=checks),
            )

    def _check(self, s: State) -> Steps:
        reading = s.reading
        if reading is None:
            for first, last in sorted(s.checks):
                yield self._reads_next(s, Reading(first, last))
        elif min(reading.is_offline, reading.stored) < 0:
            yield self._reads_next(s, reading)
        else:
            yield self._decided(s, reading)

    def _reads_next(self, s: State, reading: Reading) -> tuple[Label, State]:
        reads_watermarks_first = self.mutant is Mutant.WATERMARKS_FIRST
        if reading.stored >= 0 or (reading.is_offline < 0 and not reads_watermarks_first):
            waits = s.is_in_grace and self.mutant is not Mutant.NO_PATIENCE
            is_connected = s.route != NOBODY and (s.conn is not None or self.mutant is not Mutant.NO_PATIENCE)
            found = reading._replace(
                is_offline=int(not is_connected and not waits),
                confirmed=s.confirmed,
                was_in_grace=s.is_in_grace and s.conn is None,
            )
            return ("the check of", reading.first, "to", reading.last, "reads routes"), s._replace(
                reading=found
            )
        found = reading._replace(stored=s.stored)
        return ("the check of", reading.first, "to", reading.last, "reads watermarks"), s._replace(
            reading=found
        )

    def _decided(self, s: State, reading: Reading) -> tuple[Label, State]:
        missed = frozenset(n for n in range(reading.first, reading.last + 1) if n > reading.stored)
        done = s._replace(reading=None, checks=s.checks - {(reading.first, reading.last)})
        if not missed:
            return ("the check ends without a missed message",), done
        if reading.is_offline:
            return ("the check publishes", *sorted(missed)), done._replace(events=s.events | missed)
        again = done if self.mutant is Mutant.ROUTE_ENDS_CHECK else s._replace(reading=None)
        return ("the check is repeated later",), again

    def broken(self, state: State) -> str | None:
        """Return whether a message has no event once the device is disconnected and no process has work left."""
        is_working = state.found or state.checks or state.has_vanished or state.conn is not None
        missed = set(range(state.held + 1, state.head + 1)) - state.events
        return Promise.TOLD if missed and not is_working else None

    def broken_by_step(self, before: State, after: State) -> str | None:
        reading = before.reading
        if after.events == before.events or reading is None:
            return None
        if reading.was_in_grace:
            return Promise.PATIENT
        return Promise.EXACT if any(n <= reading.confirmed for n in after.events - before.events) else None

    def broken_at_end(self, state: State) -> str | None:
        return self.broken(state)

    def show(self, state: State) -> str:
        conn = "away" if state.conn is None else f"{state.conn}"
        return (
            f"head {state.head}, device has {state.held}, stored {state.stored}, {conn}, route {state.route}, "
            f"checks {sorted(state.checks)}, events {sorted(state.events)}"
        )


def _bounds(name: str, what: str, scenario: Scenario) -> Bounds:
    return Bounds("offline_checks", name, what, lambda mutant: OfflineChecks(scenario, mutant))


CLOSED = _bounds("closed", "2 messages, 2 connections", Scenario())
FROZEN = _bounds("frozen", "2 messages, 2 connections, the device freezes", Scenario(freezes=1))
KILLED = _bounds("killed", "2 messages, 2 connections, the gateway is killed", Scenario(kills=1))

HELD = (CLOSED, FROZEN, KILLED)
HELD_WIDE = (
    _bounds(
        "all",
        "2 messages, 2 connections, the device freezes, the gateway is killed",
        Scenario(freezes=1, kills=1),
    ),
)

STATED = (
    Rule(
        "A check ends with events, or when the messages are delivered. While the user has a route, it is repeated.",
        Break(Mutant.ROUTE_ENDS_CHECK, CLOSED, Promise.TOLD),
    ),
    Rule(
        "A check reads the routes, then the watermarks.",
        Break(Mutant.WATERMARKS_FIRST, CLOSED, Promise.EXACT),
    ),
    Rule(
        "A gateway that finds a socket closed or timed out requests a check of everything pushed and not acknowledged.",
        Break(Mutant.NO_UNACKED, FROZEN, Promise.TOLD),
        Break(Mutant.ONLY_SENT, CLOSED, Promise.TOLD),
    ),
    Rule(
        "A gateway requests a check of a push to a device that has disconnected.",
        Break(Mutant.NO_UNDELIVERED, CLOSED, Promise.TOLD),
    ),
    Rule(
        "A gateway writes waiting acks when a device disconnects.",
        Break(Mutant.NO_FLUSH, CLOSED, Promise.EXACT),
    ),
    Rule(
        "A gateway whose registration expires has vanished; its users are checked.",
        Break(Mutant.NO_WATCH, KILLED, Promise.TOLD),
    ),
    Rule(
        "The users of a vanished gateway have 30 seconds to reconnect.",
        Break(Mutant.NO_PATIENCE, KILLED, Promise.PATIENT),
    ),
)
BREAKS = tuple(one for rule in STATED for one in rule.breaks)

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "offline-events.md"


def tables() -> dict[str, str]:
    """Return the tables that a test compares with the page."""
    return {"held": page.held(HELD), "said": page.broken(STATED)}

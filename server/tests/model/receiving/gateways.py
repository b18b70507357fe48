"""The gateways' part of `small.py`: connect, takeover, heartbeats. The worker is not here.

Other processes may act before or after every step. Replaying the buffer and going live is one step, because a gateway
does both without waiting.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from model.explore import Label
from model.receiving.promises import Promise
from model.receiving.sockets import (
    INSTALLED,
    LIVE,
    NOWHERE,
    PHASES,
    READ,
    REGISTERED,
    SENT,
    Conn,
    Device,
    Route,
    ahead,
    at,
    moved,
    orphaned,
    sent,
    without,
)

GATEWAYS = ("A", "B")

UNHEARD, HEARS, MUFFLED = range(3)
"""State of a gateway's own channel: not subscribed, subscribed, or subscribed in Redis while its messages get lost."""


class Mutant(StrEnum):
    ROWS_AFTER_LOOKUP = "routes are looked up, then the rows are written"
    ROW_GOES_BACK = "a row is written without its condition"
    ROWS_OF_OFFLINE = "a row is written only for a user who has no route"
    COMMIT_FIRST = "the offset is committed before the effect"
    NO_SECOND_LOOKUP = "an offline-queue item is put, and no gateway is signalled"
    STALE_WITHOUT_COMPARE = "a stale route is deleted without comparing its epoch"
    LAGGING_LOOKUP = "routes are looked up at a replica that may lag"
    REGISTER_AFTER_READ = "the rows are read, then the route is registered"
    WEAK_READ = "the rows are read with eventual consistency"
    INSTALL_AFTER_READ = "the device is added, and buffers, only after the reads"
    BUFFER_DROPPED = "the buffer is not replayed"
    BUFFER_UNCHECKED = "the buffer is replayed without comparing positions"
    PENDING_ALONE = "a device gets its offline queue only, without comparing positions"
    FURTHEST_DEVICE = "a device resumes from the user's delivered watermark"
    UNREGISTER_WITHOUT_COMPARE = (
        "an old socket's gateway deletes the device's route without comparing its epoch"
    )
    CLOSE_BY_DEVICE = "the old socket is identified by its device, not by its epoch"
    HEARTBEAT_ALONE = "a heartbeat that finds no route re-creates it, and does not resume"
    HEARTBEAT_OVERWRITES = "a heartbeat overwrites any route of the device"
    HEARTBEAT_BLIND = "a heartbeat that finds another socket's route does nothing"
    RESUME_FIRST = "a heartbeat that finds no route resumes, then re-creates it"
    CLOSE_FIRST = "the old socket is closed right after the registration"
    INSTALL_AFTER_REGISTER = "the device is added after the registration, before the reads"
    STARTS_DEAF = "a gateway registers routes before its own channel is confirmed"
    SILENCE_ALONE = "a gateway that lost its channel subscribes again, and no device resumes"
    SILENCE_UNCONFIRMED = (
        "after a gateway lost its channel, devices resume before the new subscription is confirmed"
    )
    SILENCE_READS = "after a gateway lost its channel, devices read again without registering again"
    AGAIN_OVERRIDES = "a socket that registers again overwrites another socket's route"
    STALE_STANDS = "a stale route is kept until its lease ends"


@dataclass(frozen=True)
class Scenario:
    """The numbers of a scenario; `heals`: heartbeats occur, so a rule may depend on them."""

    entries: int = 2
    devices: int = 1
    gateways: int = 1
    drops: int = 0
    worker_deaths: int = 0
    gateway_deaths: int = 0
    rebalances: int = 0
    losses: int = 0
    silences: int = 0
    heals: bool = False
    late_registrations: bool = False


class Left(NamedTuple):
    """Faults that may still occur."""

    drops: int
    worker_deaths: int
    gateway_deaths: int
    rebalances: int
    losses: int
    silences: int


class Work(NamedTuple):
    """An event that a worker handles; `found` are the routes of the devices that it still has to push to."""

    n: int
    step: int = 0
    found: tuple[Route, ...] = ()
    had_route: bool = False


class State(NamedTuple):
    """`hears` is the state of the gateways' channels; `zombie` is the work of a worker that lost its partition."""

    offset: int
    row: int
    pending: tuple[int, ...]
    routes: tuple[Route, ...]
    devices: tuple[Device, ...]
    alive: tuple[bool, ...]
    hears: tuple[int, ...]
    work: Work | None
    zombie: Work | None
    left: Left
    fault: Promise | None = None


type Steps = Iterator[tuple[Label, State]]


class Gateways:
    def __init__(self, scenario: Scenario, mutant: Mutant | None) -> None:
        self.scenario = scenario
        self.mutant = mutant

    def _devices(self, state: State) -> Steps:
        for d, device in enumerate(state.devices):
            if device.held is None:
                yield from self._connects(state, d)
            for conn in device.conns:
                if conn.is_held:
                    yield from self._held(state, d, conn)
                else:
                    yield from self._orphan(state, d, conn)

    def _connects(self, state: State, d: int) -> Steps:
        device = state.devices[d]
        for gateway, is_alive in enumerate(state.alive):
            if is_alive:
                joined = device._replace(conns=(*device.conns, Conn(gateway)))
                yield ("device", d, "connects to", GATEWAYS[gateway]), with_device(state, d, joined)

    def _held(self, state: State, d: int, conn: Conn) -> Steps:
        yield from self._next(state, d, conn)
        if self.scenario.heals and conn.phase == LIVE:
            yield from self._heartbeat(state, d, conn)
        if state.left.drops:
            left = state.left._replace(drops=state.left.drops - 1)
            gone = with_device(state, d, self._dropped(state.devices[d], conn))
            yield ("device", d, "loses its connection"), gone._replace(left=left)

    def _dropped(self, device: Device, conn: Conn) -> Device:
        """A registered socket stays until its gateway detects the loss; an unregistered one is forgotten, or registers late."""
        if conn.epoch:
            return orphaned(device, conn)
        if self.scenario.late_registrations:
            return moved(device, conn, conn._replace(is_held=False))
        return without(device, conn)

    def _orphan(self, state: State, d: int, conn: Conn) -> Steps:
        """A socket without its device: the gateway detects it, or continues as if the device were connected."""
        if conn.phase != LIVE or conn.old != NOWHERE:
            yield from self._next(state, d, conn)
        elif self.scenario.heals:
            yield from self._heartbeat(state, d, conn)
        yield ("the gateway closes the old socket of", d, "by itself"), self._closed(state, d, conn)

    def _closed(self, state: State, d: int, conn: Conn) -> State:
        """Close a socket, and remove its route if it still belongs to the socket."""
        gone = with_device(state, d, without(state.devices[d], conn))
        is_own = state.routes[d] == conn.route or self.mutant is Mutant.UNREGISTER_WITHOUT_COMPARE
        return with_route(gone, d, NOWHERE) if is_own else gone

    def _next(self, state: State, d: int, conn: Conn) -> Steps:
        """Install, register, read, send missing entries, replay and go live, close the old socket."""
        device_name, is_registered = _who(d, conn), conn.epoch and not conn.is_again
        if conn.phase == INSTALLED and not is_registered and not self._reads_first(conn):
            yield from self._registers(state, d, conn)
        elif conn.phase in {INSTALLED, REGISTERED}:
            yield from self._reads(state, d, conn)
        elif conn.phase == READ and not is_registered:
            yield from self._registers(state, d, conn)
        elif conn.phase == READ:
            yield (*device_name, "sends what is ahead"), self._sends(state, d, conn)
        elif conn.phase == SENT:
            yield (*device_name, "replays its buffer and is live"), self._replays(state, d, conn)
        elif conn.old != NOWHERE:
            yield (*device_name, "has the old socket closed"), self._closes_old(state, d, conn)
        elif conn.is_rung:
            yield (*device_name, "was rung, and drains"), self._drains(state, d, conn)

    def _reads_first(self, conn: Conn) -> bool:
        again = {Mutant.RESUME_FIRST, Mutant.SILENCE_READS}
        return self.mutant is Mutant.REGISTER_AFTER_READ or (conn.is_again and self.mutant in again)

    def _registers(self, state: State, d: int, conn: Conn) -> Steps:
        """Register the socket.

        A new socket replaces any route; one that was live before registers only if no other route exists.
        """
        is_free = state.routes[d] in {NOWHERE, conn.route}
        if self.mutant is Mutant.SILENCE_READS and conn.is_again:
            kept = _with_conn(state, d, conn, conn._replace(is_again=False))
            yield (*_who(d, conn), "keeps its route"), kept
        elif is_free or not conn.is_again or self.mutant is Mutant.AGAIN_OVERRIDES:
            yield (*_who(d, conn), "registers"), self._registered(state, d, conn)
        else:
            yield (*_who(d, conn), "finds another's route and closes"), self._closed(state, d, conn)

    def _registered(self, state: State, d: int, conn: Conn) -> State:
        device = state.devices[d]
        epoch, old = device.epochs + 1, state.routes[d]
        phase = REGISTERED if conn.phase == INSTALLED else conn.phase
        if self.mutant is Mutant.INSTALL_AFTER_REGISTER and conn.phase == INSTALLED:
            phase = INSTALLED
        has_old = not conn.is_again and at(device, old)
        new = conn._replace(epoch=epoch, phase=phase, is_again=False, old=old if has_old else NOWHERE)
        if conn.is_again and not conn.is_held:
            new = Conn(conn.gateway, epoch, LIVE, is_held=False)
        after = with_device(state, d, moved(device, conn, new)._replace(epochs=epoch))
        after = with_route(after, d, new.route)
        return self._closes_old(after, d, new) if self.mutant is Mutant.CLOSE_FIRST else after

    def _reads(self, state: State, d: int, conn: Conn) -> Steps:
        """Read with strong consistency: earlier writes are visible."""
        installs_late = self.mutant is Mutant.INSTALL_AFTER_REGISTER and not conn.is_again
        if installs_late and conn.phase == INSTALLED and conn.epoch:
            installed = conn._replace(phase=REGISTERED)
            yield (*_who(d, conn), "is installed"), _with_conn(state, d, conn, installed)
            return
        for row in range(state.row + 1) if self.mutant is Mutant.WEAK_READ else (state.row,):
            read = conn._replace(phase=READ, target=row, drains=state.pending)
            yield (*_who(d, conn), "reads row", row), _with_conn(state, d, conn, read)

    def _sends(self, state: State, d: int, conn: Conn) -> State:
        """Send the missing entries. Queue items are deleted by their key once the device has them."""
        device = state.devices[d]
        if self.mutant is Mutant.PENDING_ALONE:
            lacking = [n for n in conn.drains if n > device.position]
        elif self.mutant is Mutant.FURTHEST_DEVICE:
            delivered = max(other.position for other in state.devices)
            lacking = list(range(delivered + 1, conn.target + 1))
        else:
            lacking = list(ahead(device, conn.target))
        drained = self._put(state, d, conn._replace(phase=SENT, target=0, drains=()), conn, lacking)
        return _without_pending(drained, conn.drains) if conn.is_held else drained

    def _replays(self, state: State, d: int, conn: Conn) -> State:
        live = conn._replace(phase=LIVE, buffer=())
        if self.mutant is Mutant.BUFFER_DROPPED:
            return _with_conn(state, d, conn, live)
        if self.mutant is Mutant.BUFFER_UNCHECKED:
            return self._put(state, d, live, conn, conn.buffer)
        return self._put(state, d, live, conn, ahead(state.devices[d], max(conn.buffer, default=0)))

    def _closes_old(self, state: State, d: int, conn: Conn) -> State:
        """Close the old socket by its epoch: the device may be connected to the same gateway again."""
        device = moved(state.devices[d], conn, conn._replace(old=NOWHERE))
        after = with_device(state, d, device)
        if self.mutant is Mutant.CLOSE_BY_DEVICE and conn.gateway == conn.old[0]:
            return after._replace(fault=Promise.UNDISTURBED)
        old = at(device, conn.old)
        return self._closed(after, d, old) if old else after

    def _drains(self, state: State, d: int, conn: Conn) -> State:
        quiet = conn._replace(is_rung=False)
        read = self._put(state, d, quiet, conn, ahead(state.devices[d], state.row))
        return _without_pending(read, state.pending) if conn.is_held else read

    def _heartbeat(self, state: State, d: int, conn: Conn) -> Steps:
        """Renew the own route and re-create a missing one. A route of another socket means that this one is old."""
        after = state.routes[d]
        if after == conn.route:
            return
        if after == NOWHERE:
            label: Label = (*_who(d, conn), "finds its route gone")
            yield label, self._recreated(state, d, conn)
        elif self.mutant is Mutant.HEARTBEAT_OVERWRITES:
            yield (*_who(d, conn), "overwrites another's route"), self._overwritten(state, d)
        elif self.mutant is not Mutant.HEARTBEAT_BLIND:
            yield (*_who(d, conn), "finds another's route and closes"), self._closed(state, d, conn)

    def _recreated(self, state: State, d: int, conn: Conn) -> State:
        if self.mutant is not Mutant.HEARTBEAT_ALONE:
            return self.resumes(state, d, conn)
        device = state.devices[d]
        new = conn._replace(epoch=device.epochs + 1)
        device = moved(device, conn, new)._replace(epochs=new.epoch)
        return with_route(with_device(state, d, device), d, new.route)

    def _overwritten(self, state: State, d: int) -> State:
        robbed = at(state.devices[d], state.routes[d])
        return state._replace(fault=Promise.UNDISTURBED if robbed and robbed.is_held else state.fault)

    def resumes(self, state: State, d: int, conn: Conn) -> State:
        """Start the resume again: buffer, register again, read again."""
        again = conn._replace(phase=INSTALLED, target=0, drains=(), old=NOWHERE, is_again=True)
        return _with_conn(state, d, conn, again)

    def _put(self, state: State, d: int, new: Conn, old: Conn, sequences: Iterable[int]) -> State:
        device, fault = sent(state.devices[d], old, sequences)
        after = with_device(state, d, moved(device, old, new))
        return after._replace(fault=fault or state.fault)

    def pushed(self, state: State, d: int, conn: Conn, n: int) -> State:
        """Handle a push: buffer it while the device resumes, else send the missing entries."""
        if not conn.is_held or not self._is_installed(conn):
            return state
        if conn.phase == LIVE:
            return self._put(state, d, conn, conn, ahead(state.devices[d], n))
        return _with_conn(state, d, conn, conn._replace(buffer=tuple(sorted({*conn.buffer, n}))))

    def _is_installed(self, conn: Conn) -> bool:
        if self.mutant is Mutant.INSTALL_AFTER_READ:
            return conn.phase > READ
        return self.mutant is not Mutant.INSTALL_AFTER_REGISTER or conn.phase != INSTALLED


def _who(d: int, conn: Conn) -> Label:
    return (GATEWAYS[conn.gateway], "for device", d, "(" + PHASES[conn.phase] + ")")


def with_device(state: State, d: int, device: Device) -> State:
    return state._replace(devices=(*state.devices[:d], device, *state.devices[d + 1 :]))


def with_route(state: State, d: int, route: Route) -> State:
    return state._replace(routes=(*state.routes[:d], route, *state.routes[d + 1 :]))


def _with_conn(state: State, d: int, old: Conn, new: Conn) -> State:
    return with_device(state, d, moved(state.devices[d], old, new))


def _without_pending(state: State, gone: tuple[int, ...]) -> State:
    return state._replace(pending=tuple(n for n in state.pending if n not in gone))

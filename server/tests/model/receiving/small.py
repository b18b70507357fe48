"""Model a small chat: the steps of the worker per event, and the steps of a gateway per connection.

One chat, one user who only receives, one or two devices, one or two gateways, the worker of the chat's partition. A
worker dies at any step and its events are delivered again; or it loses its partition, and finishes its current event
while another worker starts. A gateway dies with all its sockets. A device loses its connection at any step and
reconnects, to the same gateway or another, before or after the loss of the old socket is detected. In some scenarios Redis loses
routes or a gateway's channel, and heartbeats occur. In the others no heartbeat occurs, so no rule depends on one.

Bounds: entries, devices and faults of the scenario.

Abstracted: only the worker observes a commit, so an entry commits and is published when the worker takes it
(`relay.py` models unpublished ones). A push reaches a gateway in the step in which it is published, because it may be
published at any later time. The missing range is read in the same step (`connection.py` models slow reads). All
devices start disconnected. A route whose lease ends while its socket is alive is a route that Redis lost.
"""

from collections.abc import Iterable

from model.explore import Label
from model.receiving.gateways import (
    GATEWAYS,
    HEARS,
    MUFFLED,
    UNHEARD,
    Gateways,
    Left,
    Mutant,
    Scenario,
    State,
    Steps,
    Work,
    with_device,
    with_route,
)
from model.receiving.promises import Promise
from model.receiving.sockets import INSTALLED, NOWHERE, PHASES, Device, Route, at, without

ROWS, LOOKUP, PUSH, PEND, AGAIN, RING, COMMIT = range(7)
IN_ORDER = (ROWS, LOOKUP, PUSH, PEND, AGAIN, RING, COMMIT)
ROWS_LATE = (LOOKUP, ROWS, PUSH, PEND, AGAIN, RING, COMMIT)


class Small(Gateways):
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        super().__init__(scenario, mutant)
        late = {Mutant.ROWS_AFTER_LOOKUP, Mutant.ROWS_OF_OFFLINE}
        self.order = ROWS_LATE if mutant in late else IN_ORDER

    def initial(self) -> Iterable[State]:
        scenario = self.scenario
        deaths, losses = (
            (scenario.worker_deaths, scenario.gateway_deaths, scenario.rebalances),
            (scenario.losses, scenario.silences),
        )
        left = Left(scenario.drops, *deaths, *losses)
        devices, alive = (Device(),) * scenario.devices, (True,) * scenario.gateways
        hears = (UNHEARD if self.mutant is Mutant.STARTS_DEAF else HEARS,) * scenario.gateways
        return [State(0, 0, (), (NOWHERE,) * scenario.devices, devices, alive, hears, None, None, left)]

    def steps(self, state: State) -> Steps:
        yield from self._devices(state)
        yield from self._faults(state)
        for gateway, hears in enumerate(state.hears):
            if hears != HEARS and state.alive[gateway]:
                yield from self._notifications(state, gateway)
        if state.work is None and state.offset < self.scenario.entries:
            yield ("the worker takes", state.offset + 1), self._takes(state, state.offset + 1)
        if state.work:
            for label, work, after in self._works(state, state.work):
                yield ("the worker", *label), after._replace(work=work)
        if state.zombie:
            for label, work, after in self._works(state, state.zombie):
                yield ("the worker that lost its partition", *label), after._replace(zombie=work)

    def _notifications(self, state: State, gateway: int) -> Steps:
        """The gateway's channel was lost: it subscribes again, and after the confirmation every device on it resumes."""
        name = GATEWAYS[gateway]
        received = state._replace(hears=_with(state.hears, gateway, HEARS))
        quiet = {Mutant.STARTS_DEAF, Mutant.SILENCE_ALONE, Mutant.SILENCE_UNCONFIRMED}
        if self.mutant in quiet:
            yield (name, "has its channel confirmed"), received
        else:
            resumed = self._all_resume(received, gateway)
            yield (name, "has its channel again, and all devices resume"), resumed
        if self.mutant is Mutant.SILENCE_UNCONFIRMED and self._all_resume(state, gateway) != state:
            yield (name, "has lost its channel, and all devices resume"), self._all_resume(state, gateway)

    def _all_resume(self, state: State, gateway: int) -> State:
        for d, device in enumerate(state.devices):
            for conn in device.conns:
                if conn.gateway == gateway and conn.epoch and conn.phase != INSTALLED:
                    state = self.resumes(state, d, conn)
        return state

    def _takes(self, state: State, n: int) -> State:
        offset = n if self.mutant is Mutant.COMMIT_FIRST else state.offset
        return state._replace(work=Work(n), offset=offset)

    def _works(self, state: State, work: Work) -> Iterable[tuple[Label, Work | None, State]]:
        step = self.order[work.step]
        if step == ROWS:
            yield ("writes the row of", work.n), _on(work), self._row_written(state, work)
        elif step in {LOOKUP, AGAIN}:
            yield from self._looks_up(state, work)
        elif step == PUSH:
            yield self._pushes(state, work)
        elif step == PEND:
            pending = tuple(sorted({*state.pending, work.n}))
            skips = self.mutant is Mutant.NO_SECOND_LOOKUP
            after = state._replace(pending=pending)
            yield ("puts", work.n, "pending"), work._replace(step=COMMIT) if skips else _on(work), after
        elif step == RING:
            yield ("rings",), work._replace(step=COMMIT, found=()), self._rung(state, work)
        else:
            yield ("commits the offset", work.n), None, self._committed(state, work)

    def _row_written(self, state: State, work: Work) -> State:
        if self.mutant is Mutant.ROWS_OF_OFFLINE and any(route != NOWHERE for route in work.found):
            return state
        goes_back = self.mutant is Mutant.ROW_GOES_BACK
        return state._replace(row=work.n if goes_back else max(state.row, work.n))

    def _looks_up(self, state: State, work: Work) -> Iterable[tuple[Label, Work, State]]:
        yield ("looks up routes for", work.n), _on(work)._replace(found=state.routes), state
        if self.mutant is Mutant.LAGGING_LOOKUP:
            missed = (NOWHERE,) * self.scenario.devices
            yield ("finds no route for", work.n, "yet"), _on(work)._replace(found=missed), state

    def _pushes(self, state: State, work: Work) -> tuple[Label, Work, State]:
        """Push to one device after the other. A channel without a subscriber means that the route is stale."""
        d = next((d for d, route in enumerate(work.found) if route != NOWHERE), None)
        if d is None:
            step = COMMIT if work.had_route else PEND
            return ("has no more routes for", work.n), Work(work.n, step), state
        route = work.found[d]
        rest = work._replace(found=(*work.found[:d], NOWHERE, *work.found[d + 1 :]))
        if not state.alive[route[0]] or state.hears[route[0]] == UNHEARD:
            return ("finds no subscriber for device", d), rest, self._stale_deleted(state, d, route)
        conn = at(state.devices[d], route)
        arrives = conn and state.hears[route[0]] == HEARS
        after = self.pushed(state, d, conn, work.n) if conn and arrives else state
        return ("pushes", work.n, "to device", d), rest._replace(had_route=True), after

    def _stale_deleted(self, state: State, d: int, route: Route) -> State:
        is_same = state.routes[d] == route or self.mutant is Mutant.STALE_WITHOUT_COMPARE
        deletes = is_same and self.mutant is not Mutant.STALE_STANDS
        return with_route(state, d, NOWHERE) if deletes else state

    def _rung(self, state: State, work: Work) -> State:
        for d, route in enumerate(work.found):
            device = state.devices[d]
            conn = at(device, route)
            if conn and conn.is_held and state.hears[conn.gateway] == HEARS:
                conns = tuple(c._replace(is_rung=True) if c is conn else c for c in device.conns)
                state = with_device(state, d, device._replace(conns=conns))
        return state

    def _committed(self, state: State, work: Work) -> State:
        """Commit the offset. Kafka refuses a worker that does not own the partition."""
        return state._replace(offset=work.n) if work is state.work else state

    def _faults(self, state: State) -> Steps:
        left = state.left
        if left.worker_deaths and state.work:
            fewer = left._replace(worker_deaths=left.worker_deaths - 1)
            yield ("the worker dies",), state._replace(work=None, left=fewer)
        if left.rebalances and state.work:
            fewer = left._replace(rebalances=left.rebalances - 1)
            moved = state._replace(work=None, zombie=state.work, left=fewer)
            yield ("the partition goes to another worker",), moved
        if left.gateway_deaths:
            fewer = left._replace(gateway_deaths=left.gateway_deaths - 1)
            for gateway in range(len(state.alive)):
                yield ("gateway", gateway, "dies"), _died(state, gateway)._replace(left=fewer)
        yield from self._losses(state)

    def _losses(self, state: State) -> Steps:
        left = state.left
        if left.silences:
            fewer = left._replace(silences=left.silences - 1)
            for gateway, hears in enumerate(state.hears):
                for how in (UNHEARD, MUFFLED) if hears == HEARS and state.alive[gateway] else ():
                    silent = state._replace(hears=_with(state.hears, gateway, how), left=fewer)
                    what = "is gone" if how == UNHEARD else "loses what it carries"
                    yield ("the channel of", GATEWAYS[gateway], what), silent
        if left.losses:
            fewer = left._replace(losses=left.losses - 1)
            for d, route in enumerate(state.routes):
                if route != NOWHERE:
                    lost = with_route(state, d, NOWHERE)._replace(left=fewer)
                    yield ("Redis loses the route of device", d), lost

    def broken(self, state: State) -> str | None:
        return state.fault

    def broken_by_step(self, before: State, after: State) -> None:
        """No rule."""

    def broken_at_end(self, state: State) -> str | None:
        if any(device.position < self.scenario.entries for device in state.devices):
            return Promise.ARRIVED
        # Race: a worker puts the queue item and dies before it sends the resume signal; the device gets the entry in
        # another way, and the item stays. So the rule applies only to scenarios without worker deaths.
        scenario = self.scenario
        is_sure = not (scenario.worker_deaths or scenario.rebalances or scenario.heals)
        return Promise.READ if state.pending and is_sure else None

    def show(self, state: State) -> str:
        devices = ", ".join(
            f"device {d} at {device.position}"
            + "".join(f" [{PHASES[c.phase]}{'' if c.is_held else ', old'}]" for c in device.conns)
            for d, device in enumerate(state.devices)
        )
        return f"row {state.row}, pending {state.pending} | {devices}"


def _on(work: Work) -> Work:
    return work._replace(step=work.step + 1)


def _died(state: State, gateway: int) -> State:
    """The gateway dies with all its sockets; its id is never used again."""
    for d, device in enumerate(state.devices):
        for conn in device.conns:
            if conn.gateway == gateway:
                state = with_device(state, d, without(state.devices[d], conn))
    return state._replace(alive=_with(state.alive, gateway, new=False))


def _with[T](old: tuple[T, ...], number: int, new: T) -> tuple[T, ...]:
    return (*old[:number], new, *old[number + 1 :])

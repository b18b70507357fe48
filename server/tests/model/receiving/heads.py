"""Model groups: one delivered head per chat, and rows only for senders and users that an entry names.

One chat, one user with one device. The log is given by kinds: `m` another user's message, `o` the user's own message,
`l` the user leaves, `j` the user joins, `g` another user's join that makes the chat large. A worker writes the named
rows and the sender's row, then the head, then looks up routes and pushes. Up to and including `g` entries go by routes,
later ones on the channel; joins and leaves also go by the routes of the users that they name. A worker dies at any step,
or loses its partition and finishes its current run. Redis loses routes and checkpoint. An entry may stay unpublished
until the relay republishes it. A device may read the log while it is offline.

The look-back of a worker without a checkpoint covers the whole log here, and recent entries in the code.

Bounds: the log and the faults of the scenario.

Abstracted as in `small.py`, `large.py` and `connection.py`, which model old sockets, lost subscriptions and slow range
reads. A push reaches its gateway at once or not at all.
"""

from model.receiving.group_device import (
    AWAY,
    COMMIT,
    HEAD,
    LIVE,
    LOOKUP,
    MARK,
    PHASES,
    PUBLISH,
    PUSH,
    REGISTERED,
    ROWS,
    GroupDevice,
    Mutant,
    State,
    Steps,
    Work,
    members_of,
)
from model.receiving.promises import Promise


class Heads(GroupDevice):
    def steps(self, state: State) -> Steps:
        yield from self._commits(state)
        yield from self._relay(state)
        yield from self.device_steps(state)
        if state.work is None:
            for n in members_of(state.kafka)[:1]:
                taken = state._replace(kafka=state.kafka & ~(1 << n), work=self._take(state, n))
                yield ("the worker takes", n), taken
        else:
            label, work, after = self._works(state, state.work)
            yield ("the worker:", label), after._replace(work=work)
        if state.zombie:
            label, work, after = self._works(state, state.zombie)
            yield ("the worker that lost its partition:", label), after._replace(zombie=work)
        yield from self._faults(state)

    def _commits(self, state: State) -> Steps:
        if state.log_head < self.size:
            n = state.log_head + 1
            committed = state._replace(log_head=n)
            yield ("entry", n, "commits, is published"), committed._replace(kafka=state.kafka | 1 << n)
            if state.left.unpublished:
                left = state.left._replace(unpublished=state.left.unpublished - 1)
                yield ("entry", n, "commits, is not published"), committed._replace(left=left)

    def _relay(self, state: State) -> Steps:
        """Act only while nothing else can: the relay waits longer than delivery takes."""
        n = state.checked + 1
        if n > state.log_head or state.log_head < self.size or state.work or state.zombie or state.kafka:
            return
        if n <= state.mark:
            yield ("the relay finds", n, "covered"), state._replace(checked=n)
        else:
            yield ("the relay republishes", n), state._replace(kafka=1 << n)

    def _take(self, state: State, n: int) -> Work:
        if 0 <= n <= state.mark:
            return Work(n, n, (COMMIT,))
        alone = n if self.mutant is Mutant.NO_LOOK_BACK else 1
        return Work(state.mark + 1 if state.mark >= 0 else alone, n, self.todo)

    def _works(self, state: State, work: Work) -> tuple[str, Work | None, State]:
        what, rest = work.todo[0], work._replace(todo=work.todo[1:])
        label = f"{what} {work.first} to {work.last}"
        if what == HEAD and state.head < work.first - 1:
            # The head shows a gap: nothing is written, and the run starts after the head.
            return f"finds head {state.head}", Work(state.head + 1, work.last, self.todo), state
        if what == MARK and 0 <= state.mark < work.first - 1:
            return f"finds checkpoint {state.mark}", Work(state.mark + 1, work.last, self.todo), state
        if what == LOOKUP:
            rest = rest._replace(found=state.device.has_route)
        return label, rest if rest.todo else None, self._done(state, work, what)

    def _done(self, state: State, work: Work, what: str) -> State:
        run = range(work.first, work.last + 1)
        if what == ROWS:
            named = max([n for n in run if self.log[n - 1] in "lj"], default=0)
            own = max([n for n in run if self.log[n - 1] == "o"], default=0)
            return state._replace(named=max(state.named, named), own=max(state.own, own))
        if what == HEAD:
            return state._replace(head=max(state.head, work.last))
        if what in (PUSH, PUBLISH):
            return self._pushed(state, work, run, is_channel=what == PUBLISH)
        return state._replace(mark=max(state.mark, work.last)) if what == MARK else state

    def _pushed(self, state: State, work: Work, run: range, *, is_channel: bool) -> State:
        for n in run:
            by_channel = self._is_on_channel(state, n)
            if is_channel:
                wanted = by_channel and state.device.is_on
            else:
                is_named = self.log[n - 1] in "lj" and self.mutant is not Mutant.JOIN_ON_THE_CHANNEL
                wanted = work.found and self.may_see(n) and (not by_channel or is_named)
            if wanted:
                state = self.received(state, n)
            if is_channel or not by_channel:
                state = state._replace(pushed=state.pushed | 1 << n)
        return state

    def _is_on_channel(self, state: State, n: int) -> bool:
        if self.mutant is Mutant.AS_OF_NOW:
            return self.is_large(state.log_head)
        return self.is_large(n if self.mutant is Mutant.GROWTH_ON_THE_CHANNEL else n - 1)

    def _faults(self, state: State) -> Steps:
        left = state.left
        if left.worker_deaths and state.work:
            fewer = left._replace(worker_deaths=left.worker_deaths - 1)
            again = state.kafka | 1 << state.work.last
            yield ("the worker dies",), state._replace(work=None, kafka=again, left=fewer)
        if left.rebalances and state.work and state.zombie is None:
            fewer = left._replace(rebalances=left.rebalances - 1)
            again = state.kafka | 1 << state.work.last
            moved = state._replace(work=None, zombie=state.work, kafka=again, left=fewer)
            yield ("the partition goes to another worker",), moved
        if left.wipes:
            fewer = left._replace(wipes=left.wipes - 1)
            device = state.device._replace(has_route=False)
            if device.phase not in (AWAY, LIVE):
                device = device._replace(phase=REGISTERED, has_route=True, row=-1, head=-1)
            wiped = state._replace(mark=-1, device=device, left=fewer)
            yield ("Redis loses its data",), wiped

    def broken(self, state: State) -> str | None:
        if state.fault:
            return state.fault
        if any(state.named < n for n in range(1, state.head + 1) if self.log[n - 1] in "lj"):
            return Promise.PROVEN
        device = state.device
        if device.phase == LIVE and device.has_route and not device.grows:
            due = [n for n in members_of(state.pushed) if self.may_see(n)]
            if any(not device.held >> n & 1 for n in due):
                return Promise.ARRIVED
        return None

    def broken_by_step(self, before: State, after: State) -> None:
        """No rule."""

    def broken_at_end(self, state: State) -> str | None:
        wanted = sum(1 << n for n in range(1, self.size + 1) if self.may_see(n))
        if state.device.held != wanted:
            return Promise.ARRIVED
        last_own = self.log.rfind("o") + 1
        last_named = max(self.log.rfind("l"), self.log.rfind("j")) + 1
        is_right = (state.head, state.named, state.own) == (self.size, last_named, last_own)
        return None if is_right else Promise.ROWS_RIGHT

    def show(self, state: State) -> str:
        device = state.device
        rows = f"row named {state.named}, own {state.own}, head {state.head}, checkpoint {state.mark}"
        channel = ", subscribed" if device.is_on else ""
        where = f"device at {device.position} [{PHASES[device.phase]}{channel}]"
        return f"log {self.log[: state.log_head]} | {rows} | {where}"

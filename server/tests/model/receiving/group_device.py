"""The device of `heads.py` and its gateway: resume, subscribe, receive pushes. With the types that both files use."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from model.explore import Label
from model.receiving.promises import Promise

AWAY, INSTALLED, REGISTERED, ROWS_READ, HEADS_READ, SUBSCRIBED, READ, LIVE = range(8)
PHASES = ("away", "installed", "registered", "rows read", "heads read", "subscribed", "read", "live")
ROWS, HEAD, LOOKUP, PUSH, PUBLISH, MARK, COMMIT = (
    "rows",
    "head",
    "look-up",
    "push",
    "publish",
    "checkpoint",
    "commit",
)
TODO = (ROWS, HEAD, LOOKUP, PUSH, PUBLISH, MARK, COMMIT)


class Mutant(StrEnum):
    HEAD_BEFORE_ROWS = "the head is written before the rows of the users that the entries name"
    LOOKUP_FIRST = "routes are looked up, then the head is written"
    NO_LOOK_BACK = "a worker without a checkpoint starts with its own entry"
    MARK_FIRST = "the checkpoint is written before the push"
    READ_BEFORE_REGISTER = "rows and heads are read before the route is registered"
    INTERVALS_FIRST = "membership intervals are read before the head"
    NO_SECOND_READ = "the head is not read again after the subscription"
    SUBSCRIBE_BY_ROW = "a device subscribes only where its row says `large`"
    GROWTH_UNHEARD = "a device that is notified that the chat became large does not subscribe"
    GROWTH_OLD = "a push that says `large` is ignored by a device that already has its entries"
    LEAVE_OLD = "a leave that the device already has does not end its subscription"
    AS_OF_NOW = "an entry is pushed by the current size of the chat, not as of its sequence"
    GROWTH_ON_THE_CHANNEL = "the entry that makes the chat large is published on the channel only"
    NOT_READ_AGAIN = "a device that is notified that the chat became large does not read the head"
    JOIN_ON_THE_CHANNEL = "joins and leaves of a large chat are published on the channel only"
    HEAD_ALONE = "only the head counts, not the newer of row and head"
    HEADS_FIRST = "heads are read before rows"


STEPS_OF = {
    Mutant.HEAD_BEFORE_ROWS: (HEAD, ROWS, LOOKUP, PUSH, PUBLISH, MARK, COMMIT),
    Mutant.LOOKUP_FIRST: (ROWS, LOOKUP, HEAD, PUSH, PUBLISH, MARK, COMMIT),
    Mutant.MARK_FIRST: (ROWS, HEAD, LOOKUP, MARK, PUSH, PUBLISH, COMMIT),
}


@dataclass(frozen=True)
class Scenario:
    log: str
    drops: int = 0
    worker_deaths: int = 0
    rebalances: int = 0
    wipes: int = 0
    unpublished: int = 0
    reads_ahead: int = 0


class Left(NamedTuple):
    """Faults that may still occur."""

    drops: int
    worker_deaths: int
    rebalances: int
    wipes: int
    unpublished: int
    reads_ahead: int


class Device(NamedTuple):
    """`row`, `head`: as the resume read them; -1 before that. `grows`: steps left after a push that says `large`."""

    position: int = 0
    held: int = 0
    phase: int = AWAY
    row: int = -1
    head: int = -1
    intervals: int = 0
    buffer: int = 0
    is_on: bool = False
    has_route: bool = False
    grows: int = 0
    is_in: bool = False


class Work(NamedTuple):
    """A run `first` to `last` and its remaining steps. `found`: the device had a route at the look-up."""

    first: int
    last: int
    todo: tuple[str, ...]
    found: bool = False


class State(NamedTuple):
    """`kafka`, `pushed`: sets of sequences as bits. `mark`: the checkpoint, -1 if there is none.

    `checked`: the relay has seen a checkpoint up to here.
    """

    log_head: int
    kafka: int
    named: int
    own: int
    head: int
    mark: int
    checked: int
    work: Work | None
    zombie: Work | None
    device: Device
    pushed: int
    left: Left
    fault: Promise | None = None


type Steps = Iterator[tuple[Label, State]]


class GroupDevice:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario, self.mutant = scenario, mutant
        self.log, self.size = scenario.log, len(scenario.log)
        self.grows_at = self.log.find("g") + 1
        changes = [kind for kind in self.log if kind in "lj"]
        self.starts_in = not changes or changes[0] == "l"
        self.todo = STEPS_OF.get(mutant, TODO) if mutant else TODO
        self.is_in = [self._is_in(n) for n in range(self.size + 1)]

    def _is_in(self, n: int) -> bool:
        changes = [kind for kind in self.log[:n] if kind in "lj"]
        return changes[-1] == "j" if changes else self.starts_in

    def may_see(self, n: int) -> bool:
        return self.is_in[n] or self.is_in[n - 1]

    def is_large(self, n: int) -> bool:
        return 0 < self.grows_at <= n

    def initial(self) -> Iterable[State]:
        it = self.scenario
        left = Left(it.drops, it.worker_deaths, it.rebalances, it.wipes, it.unpublished, it.reads_ahead)
        return [State(0, 0, 0, 0, 0, -1, 0, None, None, Device(), 0, left)]

    def received(self, state: State, n: int) -> State:
        device, large = state.device, self.is_large(n)
        if device.phase == AWAY:
            return state
        if device.phase != LIVE:
            return state._replace(device=device._replace(buffer=device.buffer | 1 << n))
        if n <= device.position:
            if self.log[n - 1] == "l" and device.is_on and self.mutant is not Mutant.LEAVE_OLD:
                resumes = device._replace(is_on=False, grows=0, phase=REGISTERED, row=-1, head=-1)
                return state._replace(device=resumes)
            is_new = self.mutant not in (Mutant.GROWTH_OLD, Mutant.GROWTH_UNHEARD)
            return self._told(state) if large and is_new else state
        if n == device.position + 1 and device.is_in:
            state = self._sent(state, (n,), n)
        else:
            state = self._sent_up_to(state, n, state.log_head)
        return self._told(state) if large and self.mutant is not Mutant.GROWTH_UNHEARD else state

    def _told(self, state: State) -> State:
        """Subscribe a member's device to the channel, then read the head."""
        device = state.device
        is_needed = device.is_in and not device.is_on and not device.grows
        return state._replace(device=device._replace(grows=2)) if is_needed else state

    def _sent_up_to(self, state: State, up_to: int, as_of: int) -> State:
        """Send the range up to `up_to`, intersected with the intervals as of the entry `as_of`."""
        wanted = range(state.device.position + 1, up_to + 1)
        seen = [n for n in wanted if (self.may_see(n) if n <= as_of else self.is_in[as_of])]
        return self._sent(state, seen, up_to)

    def _sent(self, state: State, sequences: Iterable[int], up_to: int) -> State:
        device, fault = state.device, state.fault
        for n in sequences:
            if not self.may_see(n):
                fault = fault or Promise.WITHIN
            elif device.held >> n:
                fault = fault or Promise.IN_ORDER
            device = device._replace(held=device.held | 1 << n)
        position = max(device.position, up_to)
        device = device._replace(position=position, is_in=self.is_in[position])
        if not device.is_in:
            device = device._replace(is_on=False, grows=0)
        return state._replace(device=device, fault=fault)

    def device_steps(self, state: State) -> Steps:
        device, left = state.device, state.left
        if device.phase == AWAY:
            phase = INSTALLED if self.mutant is Mutant.READ_BEFORE_REGISTER else REGISTERED
            start = device._replace(phase=phase, has_route=phase == REGISTERED)
            yield ("the device connects",), state._replace(device=start)
            if left.reads_ahead and state.log_head > device.position:
                read = self._sent_up_to(state, state.log_head, state.log_head)
                fewer = left._replace(reads_ahead=left.reads_ahead - 1)
                yield ("the device reads the log up to", state.log_head), read._replace(left=fewer)
            return
        if left.drops:
            dropped = Device(device.position, device.held)
            fewer = left._replace(drops=left.drops - 1)
            yield ("the device loses its connection",), state._replace(device=dropped, left=fewer)
        if device.phase < LIVE:
            yield self._resumes(state)
        elif not device.has_route:
            again = device._replace(has_route=True, phase=REGISTERED, grows=0, row=-1, head=-1)
            yield ("a heartbeat finds no route",), state._replace(device=again)
        elif device.grows == 2:
            yield ("the device subscribes",), state._replace(device=device._replace(is_on=True, grows=1))
        elif device.grows == 1:
            is_read = self.mutant is not Mutant.NOT_READ_AGAIN
            end = max(state.head, device.position) if is_read else device.position
            read = self._sent_up_to(state, end, state.log_head)
            done = read._replace(device=read.device._replace(grows=0))
            yield ("the device reads head", state.head), done

    def _resumes(self, state: State) -> tuple[Label, State]:
        device, phase = state.device, state.device.phase
        if phase == INSTALLED:
            if device.row < 0:
                read = device._replace(row=state.named, head=state.head)
                return ("row and head are read",), state._replace(device=read)
            registered = device._replace(phase=READ, has_route=True)
            return ("the route is registered",), state._replace(device=registered)
        if phase in (REGISTERED, ROWS_READ):
            return self._reads(state)
        if phase in (HEADS_READ, SUBSCRIBED):
            return self._subscribes(state)
        return ("the gateway sends, replays and is live",), self._goes_live(state)

    def _reads(self, state: State) -> tuple[Label, State]:
        device, heads_first = state.device, self.mutant is Mutant.HEADS_FIRST
        after = ROWS_READ if device.phase == REGISTERED else HEADS_READ
        if (device.phase == REGISTERED) is not heads_first:
            as_of = state.log_head if self.mutant is Mutant.INTERVALS_FIRST else 0
            read = device._replace(phase=after, row=state.named, intervals=as_of)
            return ("the row is read:", state.named), state._replace(device=read)
        read = device._replace(phase=after, head=state.head)
        return ("the head is read:", state.head), state._replace(device=read)

    def _subscribes(self, state: State) -> tuple[Label, State]:
        device = state.device
        if device.phase == SUBSCRIBED:
            head = device.head if self.mutant is Mutant.NO_SECOND_READ else state.head
            again = device._replace(phase=READ, head=head)
            return ("the head is read again:", head), state._replace(device=again)
        known = device.row if self.mutant is Mutant.SUBSCRIBE_BY_ROW else max(device.row, device.head)
        if self.is_large(known) and self._is_placed_in(device) and not device.is_on:
            subscribed = device._replace(phase=SUBSCRIBED, is_on=True)
            return ("the subscription is confirmed",), state._replace(device=subscribed)
        return ("nothing to subscribe to",), state._replace(device=device._replace(phase=READ))

    def _is_placed_in(self, device: Device) -> bool:
        """Return whether the user is a member, by the row. A device that is ahead of the head asks the log."""
        if device.position > max(device.head, device.row):
            return self.is_in[device.position]
        return self.is_in[device.row]

    def _goes_live(self, state: State) -> State:
        device = state.device
        end = max(device.row, device.head) if self.is_in[device.row] else device.row
        if self.mutant is Mutant.HEAD_ALONE:
            end = device.head
        is_in = self._is_placed_in(device)
        live = state._replace(
            device=device._replace(phase=LIVE, row=-1, head=-1, intervals=0, buffer=0, is_in=is_in)
        )
        if device.row > 0 or self.starts_in:
            as_of = device.intervals if self.mutant is Mutant.INTERVALS_FIRST else state.log_head
            live = self._sent_up_to(live, end, as_of) if end > device.position else live
        if not live.device.is_in:
            live = live._replace(device=live.device._replace(is_on=False))
        for n in members_of(device.buffer):
            live = self.received(live, n)
        return live


def members_of(bits: int) -> list[int]:
    return [n for n in range(1, bits.bit_length()) if bits >> n & 1]

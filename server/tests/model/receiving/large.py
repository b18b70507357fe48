"""Model a large chat: one row, one channel, and a subscription that the gateway waits for.

One gateway with up to two devices of members. The worker of the chat's partition raises the counter and publishes
once. Commands of a gateway to Redis use one connection, in order: subscribe, unsubscribe after its last device has
disconnected, subscribe again; confirmations return in order. Redis may lose the subscription, with everything in
flight on that connection; the gateway detects it later and subscribes again. Devices that connect meanwhile do not wait.
After the confirmation, the gateway compares every device with the counter: a live one receives its missing entries,
and for a resuming one the counter is stored. The gateway may die: then its devices connect to another one that has
not subscribed yet.

Bounds: entries, devices and faults of the scenario.

Abstracted as in `small.py`. A published entry reaches a subscribed gateway in the same step; entries lost in flight
are those published just after the loss. Members: `membership.py`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from model.explore import Label
from model.receiving.promises import Promise

AWAY, INSTALLED, WAITING, CONFIRMED, READ, SENT, LIVE = range(7)
PHASES = ("away", "installed", "waiting", "confirmed", "read", "sent", "live")

COUNT, PUBLISH, COMMIT = range(3)
SUBSCRIBE, UNSUBSCRIBE = "subscribe", "unsubscribe"


class Mutant(StrEnum):
    PUBLISH_FIRST = "the entry is published on the channel, then the head is raised"
    COUNTER_GOES_BACK = "the head is written without its condition"
    COMMIT_FIRST = "the offset is committed before the effect"
    COUNTER_FIRST = "the head is read, then the channel is subscribed to"
    UNCONFIRMED = "the head is read without waiting for the confirmation"
    SECOND_GOES_ON = "a second device does not wait for the pending confirmation"
    ANY_CONFIRMATION = "a confirmation of an earlier subscription is accepted"
    WEAK_READ = "the head is read with eventual consistency"
    BUFFER_DROPPED = "the buffer is not replayed"
    LOST_UNNOTICED = "a lost subscription is renewed, and no device is compared with the head"
    LOST_UNCONFIRMED = (
        "after a lost subscription, devices are compared with the head before the new one is confirmed"
    )
    LOST_SKIPS_RESUMING = (
        "after a lost subscription is confirmed again, only live devices are compared with the head"
    )
    LATE_UNSUBSCRIBE = "a gateway unsubscribes although a device has connected meanwhile"


@dataclass(frozen=True)
class Scenario:
    entries: int = 2
    devices: int = 1
    drops: int = 0
    worker_deaths: int = 0
    gateway_deaths: int = 0
    rebalances: int = 0
    losses: int = 0


class Left(NamedTuple):
    """Faults that may still occur."""

    drops: int
    worker_deaths: int
    gateway_deaths: int
    rebalances: int
    losses: int


class Device(NamedTuple):
    position: int = 0
    phase: int = AWAY
    target: int = 0
    buffer: tuple[int, ...] = ()


class Channel(NamedTuple):
    """The gateway's connection to Redis.

    `wanted` is the number of its subscription among those `asked_for`, 0 for none. `asked` and `confirmed` are in
    flight in each direction. `is_on` is the state in Redis, `is_sure` and `is_broken` the state that the gateway can
    know. `is_owed`: the subscription was lost, and devices are to be compared once it is confirmed.
    """

    wanted: int = 0
    asked_for: int = 0
    asked: tuple[tuple[str, int], ...] = ()
    confirmed: tuple[int, ...] = ()
    is_on: bool = False
    is_sure: bool = False
    is_broken: bool = False
    is_owed: bool = False


class Work(NamedTuple):
    n: int
    step: int = 0


class State(NamedTuple):
    offset: int
    counter: int
    channel: Channel
    devices: tuple[Device, ...]
    work: Work | None
    zombie: Work | None
    left: Left


type Steps = Iterator[tuple[Label, State]]


class Large:
    def __init__(self, scenario: Scenario, mutant: Mutant | None = None) -> None:
        self.scenario = scenario
        self.mutant = mutant
        publishes_first = mutant is Mutant.PUBLISH_FIRST
        self.order = (PUBLISH, COUNT, COMMIT) if publishes_first else (COUNT, PUBLISH, COMMIT)

    def initial(self) -> Iterable[State]:
        scenario = self.scenario
        left = Left(
            scenario.drops,
            scenario.worker_deaths,
            scenario.gateway_deaths,
            scenario.rebalances,
            scenario.losses,
        )
        return [State(0, 0, Channel(), (Device(),) * scenario.devices, None, None, left)]

    def steps(self, state: State) -> Steps:
        for d, device in enumerate(state.devices):
            yield from self._device(state, d, device)
        yield from self._redis(state)
        yield from self._worker(state)
        yield from self._faults(state)

    def _device(self, state: State, d: int, device: Device) -> Steps:
        phase = device.phase
        if phase == AWAY:
            yield ("device", d, "connects"), _with(state, d, device._replace(phase=INSTALLED))
            return
        if phase == INSTALLED and self.mutant is Mutant.COUNTER_FIRST:
            yield from self._reads(state, d, device, CONFIRMED)
        elif phase == INSTALLED or (phase == CONFIRMED and self.mutant is Mutant.COUNTER_FIRST):
            yield from self._subscribes(state, d, device)
        elif phase == WAITING and (state.channel.is_sure or state.channel.is_owed):
            after = READ if self.mutant is Mutant.COUNTER_FIRST else CONFIRMED
            yield ("device", d, "waited long enough"), _with(state, d, device._replace(phase=after))
        elif phase == CONFIRMED:
            yield from self._reads(state, d, device, READ)
        elif phase == READ:
            ahead = range(device.position + 1, device.target + 1)
            quiet = device._replace(phase=SENT, target=0)
            yield ("device", d, "gets what is ahead"), self._sent(state, d, quiet, ahead)
        elif phase == SENT:
            kept = () if self.mutant is Mutant.BUFFER_DROPPED else device.buffer
            ahead = range(device.position + 1, max(kept, default=0) + 1)
            live = device._replace(phase=LIVE, buffer=())
            yield ("device", d, "gets the buffer and is live"), self._sent(state, d, live, ahead)
        if state.left.drops:
            left = state.left._replace(drops=state.left.drops - 1)
            gone = _with(state, d, Device(device.position))._replace(left=left)
            yield ("device", d, "loses its connection"), gone

    def _subscribes(self, state: State, d: int, device: Device) -> Steps:
        """The first device subscribes; devices that connect meanwhile wait for the same confirmation."""
        channel = state.channel
        goes_on = self.mutant is Mutant.UNCONFIRMED or (
            self.mutant is Mutant.SECOND_GOES_ON and channel.wanted
        )
        after = CONFIRMED if goes_on else WAITING
        asked = channel if channel.wanted else _asked(channel)
        waiting = _with(state, d, device._replace(phase=after))
        yield ("device", d, "needs the channel"), waiting._replace(channel=asked)

    def _reads(self, state: State, d: int, device: Device, after: int) -> Steps:
        for counter in range(state.counter + 1) if self.mutant is Mutant.WEAK_READ else (state.counter,):
            read = device._replace(phase=after, target=counter)
            yield ("the counter is read for device", d, "as", counter), _with(state, d, read)

    def _redis(self, state: State) -> Steps:
        channel = state.channel
        if channel.is_broken:
            yield ("the gateway notices, and asks again",), self._noticed(state)
            return
        if channel.asked:
            (what, number), *rest = channel.asked
            confirmed = (*channel.confirmed, number) if what == SUBSCRIBE else channel.confirmed
            after = channel._replace(is_on=what == SUBSCRIBE, asked=tuple(rest), confirmed=confirmed)
            yield ("Redis does", what, number), state._replace(channel=after)
        if channel.confirmed:
            number, *others = channel.confirmed
            counts = number == channel.wanted or self.mutant is Mutant.ANY_CONFIRMATION
            is_sure = channel.is_sure or (counts and channel.wanted > 0)
            after = channel._replace(confirmed=tuple(others), is_sure=is_sure)
            yield ("subscription", number, "is confirmed"), state._replace(channel=after)
        if channel.is_owed and (channel.is_sure or self.mutant is Mutant.LOST_UNCONFIRMED):
            yield ("devices are compared with the counter", state.counter), self._compared(state)
        if channel.wanted and all(device.phase == AWAY for device in state.devices):
            yield ("the gateway unsubscribes",), state._replace(channel=_left(channel))
        if (
            self.mutant is Mutant.LATE_UNSUBSCRIBE
            and channel.is_sure
            and state.left.drops < self.scenario.drops
        ):
            forgotten = channel._replace(asked=(*channel.asked, (UNSUBSCRIBE, channel.wanted)), is_sure=False)
            yield ("the gateway unsubscribes, too late",), state._replace(channel=forgotten)

    def _noticed(self, state: State) -> State:
        fresh = Channel(asked_for=state.channel.asked_for)
        if not any(device.phase > INSTALLED for device in state.devices):
            return state._replace(channel=fresh)
        is_owed = self.mutant is not Mutant.LOST_UNNOTICED
        return state._replace(channel=_asked(fresh)._replace(is_owed=is_owed))

    def _compared(self, state: State) -> State:
        """Compare all devices: a resuming one may have read the counter while the gateway received nothing."""
        state = state._replace(channel=state.channel._replace(is_owed=False))
        return self._heard(state, state.counter, is_noted=self.mutant is not Mutant.LOST_SKIPS_RESUMING)

    def _worker(self, state: State) -> Steps:
        if state.work is None and state.offset < self.scenario.entries:
            n = state.offset + 1
            offset = n if self.mutant is Mutant.COMMIT_FIRST else state.offset
            yield ("the worker takes", n), state._replace(work=Work(n), offset=offset)
        if state.work:
            label, work, after = self._works(state, state.work)
            yield ("the worker", *label), after._replace(work=work)
        if state.zombie:
            label, work, after = self._works(state, state.zombie)
            yield ("the worker that lost its partition", *label), after._replace(zombie=work)

    def _works(self, state: State, work: Work) -> tuple[Label, Work | None, State]:
        step, on = self.order[work.step], Work(work.n, work.step + 1)
        if step == COUNT:
            goes_back = self.mutant is Mutant.COUNTER_GOES_BACK
            counter = work.n if goes_back else max(state.counter, work.n)
            return ("counts", work.n), on, state._replace(counter=counter)
        if step == PUBLISH:
            return ("publishes", work.n), on, self._published(state, work.n)
        offset = work.n if work is state.work else state.offset
        return ("commits the offset", work.n), None, state._replace(offset=offset)

    def _published(self, state: State, n: int) -> State:
        return self._heard(state, n) if state.channel.is_on else state

    def _heard(self, state: State, n: int, *, is_noted: bool = True) -> State:
        for d, device in enumerate(state.devices):
            if device.phase == LIVE:
                state = self._sent(state, d, device, range(device.position + 1, n + 1))
            elif device.phase != AWAY and is_noted:
                kept = device._replace(buffer=tuple(sorted({*device.buffer, n})))
                state = _with(state, d, kept)
        return state

    def _sent(self, state: State, d: int, device: Device, sequences: Iterable[int]) -> State:
        return _with(state, d, device._replace(position=max([device.position, *sequences])))

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
            alone = tuple(Device(device.position) for device in state.devices)
            dead = state._replace(channel=Channel(), devices=alone, left=fewer)
            yield ("the gateway dies",), dead
        if left.losses and not state.channel.is_broken and (state.channel.wanted or state.channel.asked):
            fewer = left._replace(losses=left.losses - 1)
            broken = state.channel._replace(asked=(), confirmed=(), is_on=False, is_broken=True)
            yield ("Redis loses the subscription",), state._replace(channel=broken, left=fewer)

    def broken(self, state: State) -> None:
        """No rule: only missing entries are sent."""

    def broken_by_step(self, before: State, after: State) -> None:
        """No rule."""

    def broken_at_end(self, state: State) -> str | None:
        return Promise.ARRIVED if any(d.position < self.scenario.entries for d in state.devices) else None

    def show(self, state: State) -> str:
        devices = [
            f"device {d} at {device.position} [{PHASES[device.phase]}]"
            for d, device in enumerate(state.devices)
        ]
        channel = "on" if state.channel.is_on else "off"
        return " | ".join([f"counter {state.counter}, channel {channel}", *devices])


def _asked(channel: Channel) -> Channel:
    number = channel.asked_for + 1
    asked = (*channel.asked, (SUBSCRIBE, number))
    return channel._replace(wanted=number, asked_for=number, asked=asked, is_sure=False)


def _left(channel: Channel) -> Channel:
    asked = (*channel.asked, (UNSUBSCRIBE, channel.wanted))
    return channel._replace(wanted=0, asked=asked, is_sure=False, is_owed=False)


def _with(state: State, d: int, device: Device) -> State:
    return state._replace(devices=(*state.devices[:d], device, *state.devices[d + 1 :]))

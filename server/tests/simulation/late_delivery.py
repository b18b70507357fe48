"""Races with late delivery: a worker has no Redis or is stopped while a member is removed.

A removed member receives no later entry that would reveal a gap. So only the removed member's device shows an entry
that was deferred and never pushed.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from simulation.device import Device

if TYPE_CHECKING:
    from simulation.final_race import FinalRace, RaceTask

_HANDLED_S: Final = 0.6
"""By then a sent message has usually passed the worker."""
_RELAYED_S: Final = 7.0
"""By then the relay has republished it."""
_NEWCOMERS: Final = 5


def heir_hears_less(race: "FinalRace") -> "list[RaceTask]":
    """The worker writes a leave without Redis, commits its offset and dies; another worker gets the later entries."""
    user, dies_s = race.chance.choice(race.others()), _HANDLED_S + race.chance.random() * 0.5
    return [
        (0.0, partial(_cut_workers_off, race)),
        (race.at_once(), race.parts(user)),
        (dies_s, partial(_replace_workers, race)),
        *((dies_s + race.soon(), race.says(to_group=True)) for _ in range(2)),
    ]


def late_then_leave(race: "FinalRace") -> "list[RaceTask]":
    """An entry waits for Redis, and the next one is a leave. Devices without positions connect one after the other."""
    user, back_s = race.chance.choice(race.others()), _HANDLED_S + race.chance.random() * 0.5
    first_s, apart_s = back_s + 0.1 + race.chance.random() * 0.1, 0.04 + race.chance.random() * 0.06
    newcomers = [
        (first_s + number * apart_s, partial(race.world.device, user)) for number in range(_NEWCOMERS)
    ]
    return [
        (0.0, partial(_cut_workers_off, race)),
        (race.at_once(), race.says(to_group=True)),
        (back_s, race.world.redis.cut_off.clear),
        (back_s + race.at_once(), race.parts(user)),
        *newcomers,
    ]


def leave_read_first(race: "FinalRace") -> "list[RaceTask]":
    """The member reads the leave in the log and reconnects before the worker delivers it; other members keep sending."""
    user, chance = race.chance.choice(race.others()), race.chance
    devices = [device for device in race.world.devices if device.user == user]
    race.go(devices)
    comes_s = 2 * _HANDLED_S + chance.random() * 0.2
    again_s = comes_s + 0.3 + chance.random() * 0.3
    stands_s = again_s + 0.3 + chance.random() * 0.3
    return [
        (0.0, race.says(to_group=True)),
        (_HANDLED_S + race.at_once(), race.parts(user)),
        (_HANDLED_S + race.at_once(), partial(_stop_workers, race, stands_s)),
        (comes_s, partial(_all, devices, is_in=True)),
        (again_s, partial(_all, devices, is_in=False)),
        (again_s + race.at_once(), partial(_all, devices, is_in=True)),
        *((_HANDLED_S + stands_s + race.soon() * 2, race.says(to_group=True)) for _ in range(3)),
    ]


def grows_late(race: "FinalRace") -> "list[RaceTask]":
    """The entry that makes the chat large waits for the relay.

    A member reads a later leave in the log before it arrives.
    """
    user, chance = race.chance.choice(race.others()), race.chance
    devices = [device for device in race.world.devices if device.user == user]
    parts_s = 0.3 + chance.random() * 0.2
    reads_s = parts_s + _HANDLED_S + chance.random() * 0.3
    back_s = reads_s + _HANDLED_S
    return [
        (0.0, partial(_cut_workers_off, race)),
        (race.at_once(), race.grows()),
        (parts_s, race.parts(user)),
        (reads_s, partial(_all, devices, is_in=False)),
        (reads_s + race.at_once(), partial(_all, devices, is_in=True)),
        (back_s, race.world.redis.cut_off.clear),
        *((back_s + _RELAYED_S + race.soon() * 4, race.says(to_group=True)) for _ in range(3)),
    ]


def _all(devices: list[Device], *, is_in: bool) -> None:
    for device in devices:
        device.want(is_in=is_in)


def _cut_workers_off(race: "FinalRace") -> None:
    race.world.redis.cut_off.update(worker for worker in race.world.workers if worker is not None)


def _replace_workers(race: "FinalRace") -> None:
    world = race.world
    world.redis.cut_off.clear()
    for place in range(len(world.workers)):
        world.kill(world.workers, place)
        world.start_worker(place)


def _stop_workers(race: "FinalRace", seconds: float) -> None:
    for worker in race.world.workers:
        if worker is not None:
            worker.stop_for(seconds)

"""Knots in which delivery is late: the worker is without Redis, or stands still, while somebody is taken out.

Who was taken out gets nothing more that would show him a hole. So whatever is left for later is seen by him alone.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from simulation.device import Device

if TYPE_CHECKING:
    from simulation.final_race import FinalRace, RaceTask

_HANDLED_S: Final = 0.6
"""By then what was said has been through the worker, mostly."""
_RELAYED_S: Final = 7.0
"""By then the relay has published it again."""
_NEWCOMERS: Final = 5


def heir_hears_less(knot: "FinalRace") -> "list[RaceTask]":
    """A leave is written without Redis and its offset committed; then its worker dies, and another gets what follows."""
    who, dies_s = knot.chance.choice(knot.others()), _HANDLED_S + knot.chance.random() * 0.5
    return [
        (0.0, partial(_cut_workers_off, knot)),
        (knot.at_once(), knot.parts(who)),
        (dies_s, partial(_replace_workers, knot)),
        *((dies_s + knot.soon(), knot.says(to_group=True)) for _ in range(2)),
    ]


def late_then_leave(knot: "FinalRace") -> "list[RaceTask]":
    """Something waits for Redis; what follows it is a leave. Devices that know nothing come in, one by one."""
    who, back_s = knot.chance.choice(knot.others()), _HANDLED_S + knot.chance.random() * 0.5
    first_s, apart_s = back_s + 0.1 + knot.chance.random() * 0.1, 0.04 + knot.chance.random() * 0.06
    newcomers = [(first_s + number * apart_s, partial(knot.town.device, who)) for number in range(_NEWCOMERS)]
    return [
        (0.0, partial(_cut_workers_off, knot)),
        (knot.at_once(), knot.says(to_group=True)),
        (back_s, knot.town.redis.cut_off.clear),
        (back_s + knot.at_once(), knot.parts(who)),
        *newcomers,
    ]


def leave_read_first(knot: "FinalRace") -> "list[RaceTask]":
    """He reads of his leave in the log, comes again, and only then is it delivered; others go on talking."""
    who, chance = knot.chance.choice(knot.others()), knot.chance
    his = [device for device in knot.town.devices if device.user == who]
    knot.go(his)
    comes_s = 2 * _HANDLED_S + chance.random() * 0.2
    again_s = comes_s + 0.3 + chance.random() * 0.3
    stands_s = again_s + 0.3 + chance.random() * 0.3
    return [
        (0.0, knot.says(to_group=True)),
        (_HANDLED_S + knot.at_once(), knot.parts(who)),
        (_HANDLED_S + knot.at_once(), partial(_stop_workers, knot, stands_s)),
        (comes_s, partial(_all, his, is_in=True)),
        (again_s, partial(_all, his, is_in=False)),
        (again_s + knot.at_once(), partial(_all, his, is_in=True)),
        *((_HANDLED_S + stands_s + knot.soon() * 2, knot.says(to_group=True)) for _ in range(3)),
    ]


def grows_late(knot: "FinalRace") -> "list[RaceTask]":
    """The entry that makes the chat large waits for the relay; somebody reads that he has left after it, before it comes."""
    who, chance = knot.chance.choice(knot.others()), knot.chance
    his = [device for device in knot.town.devices if device.user == who]
    parts_s = 0.3 + chance.random() * 0.2
    reads_s = parts_s + _HANDLED_S + chance.random() * 0.3
    back_s = reads_s + _HANDLED_S
    return [
        (0.0, partial(_cut_workers_off, knot)),
        (knot.at_once(), knot.grows()),
        (parts_s, knot.parts(who)),
        (reads_s, partial(_all, his, is_in=False)),
        (reads_s + knot.at_once(), partial(_all, his, is_in=True)),
        (back_s, knot.town.redis.cut_off.clear),
        *((back_s + _RELAYED_S + knot.soon() * 4, knot.says(to_group=True)) for _ in range(3)),
    ]


def _all(devices: list[Device], *, is_in: bool) -> None:
    for device in devices:
        device.want(is_in=is_in)


def _cut_workers_off(knot: "FinalRace") -> None:
    knot.town.redis.cut_off.update(worker for worker in knot.town.workers if worker is not None)


def _replace_workers(knot: "FinalRace") -> None:
    town = knot.town
    town.redis.cut_off.clear()
    for place in range(len(town.workers)):
        town.kill(town.workers, place)
        town.start_worker(place)


def _stop_workers(knot: "FinalRace", seconds: float) -> None:
    for worker in knot.town.workers:
        if worker is not None:
            worker.stop_for(seconds)

"""Timers of all connections of a process in one set of time slots, instead of one event-loop timer for each."""

from math import ceil, floor, inf
from typing import final


class TimerEntry:
    """Something that a `TimerWheel` can wake. The wheel owns `slot`; 0 means that no timer is set."""

    __slots__ = ("slot",)

    def __init__(self) -> None:
        self.slot = 0


@final
class TimerWheel[T: TimerEntry]:
    """Timers with a resolution of `turn_s`. No timer fires early; the delay is at most `turn_s` plus the polling interval."""

    def __init__(self, turn_s: float) -> None:
        self._turn_s = turn_s
        self._slots: dict[int, set[T]] = {}

    def set(self, item: T, at: float) -> None:
        """Set the timer of an item, instead of its previous one. `inf` cancels it."""
        slot = 0 if at == inf else max(1, ceil(at / self._turn_s))
        if slot != item.slot:
            self.cancel(item)
            if slot:
                item.slot = slot
                self._slots.setdefault(slot, set()).add(item)

    def cancel(self, item: T) -> None:
        if item.slot:
            items = self._slots[item.slot]
            items.discard(item)
            if not items:
                del self._slots[item.slot]
            item.slot = 0

    def due(self, now: float) -> list[T]:
        """Return the items that are due, the earliest first, and remove their timers."""
        last = floor(now / self._turn_s)
        found = [item for slot in sorted(self._slots) if slot <= last for item in self._slots.pop(slot)]
        for item in found:
            item.slot = 0
        return found

    def __len__(self) -> int:
        return sum(map(len, self._slots.values()))

"""When whom to look at again: one set of slots for all connections of a process, instead of a timer for each.

Pure. An item stands in one slot; what is due is given out once, and says itself when it wants to be looked at next.
"""

from math import ceil, floor, inf
from typing import Protocol, final


class HasTimerSlot(Protocol):
    """`slot` belongs to the timers; 0: waits for nothing."""

    slot: int


@final
class TimerWheel[T: HasTimerSlot]:
    """Nobody is looked at too early, and at most `turn_s` too late if `due` is called that often."""

    def __init__(self, turn_s: float) -> None:
        self._turn_s = turn_s
        self._slots: dict[int, set[T]] = {}

    def set(self, item: T, at: float) -> None:
        """Instead of what was set before."""
        slot = 0 if at == inf else max(1, ceil(at / self._turn_s))
        if slot != item.slot:
            self.cancel(item)
            if slot:
                item.slot = slot
                self._slots.setdefault(slot, set()).add(item)

    def cancel(self, item: T) -> None:
        if item.slot:
            waiting = self._slots[item.slot]
            waiting.discard(item)
            if not waiting:
                del self._slots[item.slot]
            item.slot = 0

    def due(self, now: float) -> list[T]:
        """Those whose time has come, the earliest first; they wait for nothing until they are set again."""
        last = floor(now / self._turn_s)
        found = [item for slot in sorted(self._slots) if slot <= last for item in self._slots.pop(slot)]
        for item in found:
            item.slot = 0
        return found

    def __len__(self) -> int:
        return sum(map(len, self._slots.values()))

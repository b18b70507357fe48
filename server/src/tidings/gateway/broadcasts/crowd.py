"""Devices that look at one inbox, by their users' moments, and the walk through them that takes its time. No I/O.

A user's moment within the seconds over which a broadcast is spread comes from his hash, and is another for each broadcast:
so many devices, so many pushes in each tenth of a second, and it is not always the same users who are told first.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, Protocol, final

from tidings.gateway.seat import ConnectedDevice
from tidings.kernel.ids import UserId, stable_hash

MOMENTS: Final = 6_000
SLICE_S: Final = 0.1
"""Who has his moment in the same slice is told together."""

type PushBatch = Callable[[list[ConnectedDevice]], Awaitable[bool]]
"""To the devices of one slice; False: there is nothing more to tell."""


def spread_slot(user: UserId) -> int:
    """Independent of the part in which he is for ramps: of the users of a step some have every moment."""
    return stable_hash(f"{user} moment") % MOMENTS


@final
class InboxWatchers:
    """`announced`: the log as the device was last given it in a list, or found it counted at first; None: not yet."""

    def __init__(self) -> None:
        self.announced: dict[ConnectedDevice, int | None] = {}
        self._at: dict[int, dict[ConnectedDevice, None]] = {}

    def __bool__(self) -> bool:
        return bool(self.announced)

    def enter(self, device: ConnectedDevice) -> None:
        if device not in self.announced:
            self.announced[device] = None
            self._at.setdefault(spread_slot(device.user), {})[device] = None

    def leave(self, device: ConnectedDevice) -> None:
        if device in self.announced:
            del self.announced[device]
            moment = spread_slot(device.user)
            del self._at[moment][device]
            if not self._at[moment]:
                del self._at[moment]

    def answered(self, device: ConnectedDevice, up_to: int, *, has_list: bool) -> None:
        before = self.announced.get(device)
        if device in self.announced and (before is None or has_list):
            self.announced[device] = max(up_to, before or 0)

    def least_announced(self) -> int | None:
        """None: nobody was answered yet; whoever will be is given what is there by now."""
        return min((each for each in self.announced.values() if each is not None), default=None)

    def between(self, low: int, high: int, shift: int) -> list[ConnectedDevice]:
        """Whose moment, shifted, is in `[low, high)`."""
        return [seat for moment in range(low, high) for seat in self._at.get((moment - shift) % MOMENTS, ())]


class MonotonicClock(Protocol):
    def monotonic(self) -> float: ...


@final
class SpreadPush:
    """Through a crowd, one slice after the other. Who is late makes up for it at twice the pace at most."""

    def __init__(
        self,
        spread_s: float,
        timer: MonotonicClock,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._spread_s = spread_s
        self._timer = timer
        self._sleep = sleep

    async def __call__(self, watchers: InboxWatchers, notification: str, give: PushBatch) -> None:
        began, slices = self._timer.monotonic(), max(1, round(self._spread_s / SLICE_S))
        for number, (low, high) in enumerate(_slices(slices), 1):
            seats = watchers.between(low, high, stable_hash(notification))
            if seats and not await give(seats):
                return
            if number < slices:
                due = began + number * self._spread_s / slices
                await self._sleep(max(due - self._timer.monotonic(), SLICE_S / 2))


def _slices(count: int) -> Iterator[tuple[int, int]]:
    for number in range(count):
        yield number * MOMENTS // count, (number + 1) * MOMENTS // count

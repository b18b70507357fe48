"""Taking a gateway out of service: nobody new, everybody told when to reconnect, a wait, then the close.

The devices do the spreading: each is told its own moment, so the other gateways see an even stream.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from tidings.gateway.socket.ports import Listener, Socket, SocketCloseCode

_NOTIFIED_PER_TURN = 256

type NotifyDrain = Callable[[Socket, int], None]
"""Sends a device the frame that asks it to reconnect in so many milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainOptions:
    """`spread_s`: over how long the devices leave. `grace_s`: how long the last ones may take."""

    spread_s: float = 10.0
    grace_s: float = 2.0
    close_code: int = SocketCloseCode.GOING_AWAY
    close_reason: str = "this gateway is going away: reconnect"


@dataclass(frozen=True, slots=True)
class DrainResult:
    """How it went: told to leave; left by themselves; had to be closed."""

    notified: int
    disconnected: int
    closed: int


def spread_delays_ms(count: int, spread_s: float, draw: Callable[[], float]) -> list[int]:
    """When each of so many leaves: evenly over the spread, each at a random place in its own slot."""
    slot_ms = spread_s * 1_000 / max(count, 1)
    return [round((number + draw()) * slot_ms) for number in range(count)]


@final
class Drain:
    """Once per listener."""

    def __init__(self, listener: Listener, notify: NotifyDrain, options: DrainOptions) -> None:
        self._listener = listener
        self._notify = notify
        self._options = options

    async def run(self) -> DrainResult:
        """Returns when no connection is left."""
        self._listener.stop_accepting()
        told = list(self._listener.sockets)
        await self._notify_all(told)
        await self._wait()
        closed = len(self._listener.sockets)
        await self._listener.close(self._options.close_code, self._options.close_reason)
        return DrainResult(notified=len(told), disconnected=len(told) - closed, closed=closed)

    async def _notify_all(self, sockets: Sequence[Socket]) -> None:
        """In random order, or those who connected last would always wait longest."""
        moments = spread_delays_ms(len(sockets), self._options.spread_s, random.random)
        random.shuffle(moments)
        for number, (socket, after_ms) in enumerate(zip(sockets, moments, strict=True)):
            self._notify(socket, after_ms)
            if number % _NOTIFIED_PER_TURN == _NOTIFIED_PER_TURN - 1:
                await asyncio.sleep(0)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._options.spread_s + self._options.grace_s):
                await self._listener.all_closed()
        except TimeoutError:
            return

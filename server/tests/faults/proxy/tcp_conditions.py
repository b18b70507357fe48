"""The active faults of a `TcpProxy` and its byte counts, shared by all its connections."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from faults.proxy.tcp_faults import Bandwidth, Blackhole, Direction, Freeze, Latency, Refuse, TcpFault

if TYPE_CHECKING:
    from faults.proxy.event_log import ProxyEventLog


@dataclass(slots=True)
class TcpFlow:
    """Bytes in one direction, over all connections: read from one side, written to the other, lost."""

    taken_bytes: int = 0
    passed_bytes: int = 0
    lost_bytes: int = 0

    @property
    def waiting_bytes(self) -> int:
        return self.taken_bytes - self.passed_bytes - self.lost_bytes


@final
class TcpConditions:
    """The active faults. They change in the proxy's loop; other threads read the counts under the lock."""

    def __init__(self, board: "ProxyEventLog") -> None:
        self.board = board
        self.flows = {Direction.TO_UPSTREAM: TcpFlow(), Direction.TO_CLIENT: TcpFlow()}
        self._faults: list[TcpFault] = []
        self._changed = asyncio.Event()

    def set(self, faults: list[TcpFault]) -> None:
        self._faults = faults
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def refuses(self) -> bool:
        return any(isinstance(fault, Refuse) for fault in self._faults)

    def latency_s(self, way: Direction) -> float:
        return sum(f.seconds for f in self._faults if isinstance(f, Latency) and way in f.direction)

    def bytes_per_s(self, way: Direction) -> int | None:
        bounds = [f.bytes_per_s for f in self._faults if isinstance(f, Bandwidth) and way in f.direction]
        return min(bounds, default=None)

    def blackhole_bytes(self, way: Direction) -> int | None:
        depths = [f.after_bytes for f in self._faults if isinstance(f, Blackhole) and way in f.direction]
        return min(depths, default=None)

    def is_frozen(self, way: Direction) -> bool:
        return any(isinstance(fault, Freeze) and way in fault.direction for fault in self._faults)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on the active faults holds."""
        while not condition():
            await self._changed.wait()

"""An active fault: which requests it matches, how often it applies, what it hit and holds."""

import asyncio
from typing import TYPE_CHECKING, Self, final

from faults.proxy.held_requests import HeldRequest, HeldRequests

if TYPE_CHECKING:
    from faults.proxy.dynamo_request import Request
    from faults.proxy.event_log import ProxyEventLog
    from faults.proxy.fault import Fault
    from faults.proxy.frequency import Frequency
    from faults.proxy.matching import Match


@final
class InstalledFault:
    """An active fault. As a context manager it is removed at the end, which releases everything that it holds."""

    def __init__(
        self, fault: "Fault", match: "Match", dose: "Frequency", holds: HeldRequests, board: "ProxyEventLog"
    ) -> None:
        self.fault = fault
        self.holds = holds
        self.seen = 0
        self.hits = 0
        self.is_removed = False
        self._match = match
        self._dose = dose
        self._board = board

    def catches(self, request: "Request") -> bool:
        """Count a request in the proxy's loop, and return whether the fault hits it."""
        if self.is_removed or not (self._match.holds(request) and self.fault.fits(request)):
            return False
        with self._board:
            self.seen += 1
            strikes = self._dose.strikes(self.seen)
            self.hits += strikes
        return strikes

    @property
    def held(self) -> tuple[HeldRequest, ...]:
        """Return the requests that are held now, in order of arrival."""
        return self.holds.now()

    def wait_held(self, count: int = 1, *, timeout_s: float = 60) -> tuple[HeldRequest, ...]:
        """Wait until `count` requests are held, and return them."""
        what = f"{count} requests held by {self.fault}"
        self._board.wait(lambda: len(self.held) >= count, timeout_s=timeout_s, what=what)
        return self.held

    async def until_held(self, count: int = 1, *, timeout_s: float = 60) -> tuple[HeldRequest, ...]:
        """Wait as `wait_held` does, without blocking the event loop of the test."""
        return await asyncio.to_thread(self.wait_held, count, timeout_s=timeout_s)

    def release(self) -> None:
        """Release all requests that are held now. Later ones are held again."""
        for held in self.held:
            held.release()

    def remove(self) -> None:
        """Remove the fault and release all held requests. Idempotent."""
        with self._board:
            self.is_removed = True
        self.holds.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

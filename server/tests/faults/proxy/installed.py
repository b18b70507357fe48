"""A fault at work: whom it is meant for, how often it strikes, what it hit and what it holds."""

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
    """As a context manager it is removed at the end, which lets go of everything it still holds."""

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
        """In the proxy's loop: count it, and say whether it is to be hit."""
        if self.is_removed or not (self._match.holds(request) and self.fault.fits(request)):
            return False
        with self._board:
            self.seen += 1
            strikes = self._dose.strikes(self.seen)
            self.hits += strikes
        return strikes

    @property
    def held(self) -> tuple[HeldRequest, ...]:
        """What is kept back right now, in order of arrival."""
        return self.holds.now()

    def wait_held(self, count: int = 1, *, timeout_s: float = 60) -> tuple[HeldRequest, ...]:
        """Wait until so many are kept back, and return them."""
        what = f"{count} requests held by {self.fault}"
        self._board.wait(lambda: len(self.held) >= count, timeout_s=timeout_s, what=what)
        return self.held

    async def until_held(self, count: int = 1, *, timeout_s: float = 60) -> tuple[HeldRequest, ...]:
        """`wait_held` for tests whose own loop has to send what is waited for."""
        return await asyncio.to_thread(self.wait_held, count, timeout_s=timeout_s)

    def release(self) -> None:
        """Let go of all that is held now; what comes later is held again."""
        for held in self.held:
            held.release()

    def remove(self) -> None:
        """Strike no more, and let go of all that is held. Twice is harmless."""
        with self._board:
            self.is_removed = True
        self.holds.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

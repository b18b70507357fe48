"""What a fault is, and what it can do with a request that it got hold of."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faults.proxy.calls import Call
    from faults.proxy.dynamo_request import Request
    from faults.proxy.held_requests import HeldRequest
    from faults.proxy.installed import InstalledFault
    from faults.proxy.pipeline import RequestPipeline
    from faults.proxy.reply import Reply


class Fault(ABC):
    """Subclasses are frozen dataclasses: what a fault does is data, what it did stands in InstalledFault."""

    __slots__ = ()

    def fits(self, request: "Request") -> bool:  # noqa: ARG002 - most faults fit any request
        """Whether such a request can suffer this at all; what does not fit is not counted either."""
        return True

    @abstractmethod
    async def apply(self, exchange: "Exchange") -> "Reply":
        """What the client gets."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request in the hands of a fault. `nth` is the number of the hit, from 1."""

    request: "Request"
    call: "Call"
    nth: int
    installed: "InstalledFault" = field(repr=False)
    way: "RequestPipeline" = field(repr=False)
    rest: tuple["InstalledFault", ...] = field(repr=False)

    async def forward(self, request: "Request | None" = None) -> "Reply":
        """On through the faults that were installed later, to the engine."""
        return await self.way.go(request or self.request, self.call, self.rest)

    async def hold(self) -> None:
        """Wait until the test lets go; raises DroppedError if it drops the request instead."""
        await self.installed.holds.take(self.request, self.call).gone()

    def repeat_when_released(self) -> None:
        """Keep a copy, which goes to the engine by itself: its client has its answer, or is gone."""
        copy = self.way.log.open(self.request, is_copy=True)
        copy.faults = (self.installed.fault,)
        held = self.installed.holds.take(self.request, copy)
        self.way.spawn(self.way.finish(self._send_copy(held, copy), copy))

    async def _send_copy(self, held: "HeldRequest", copy: "Call") -> "Reply":
        await held.gone()
        return await self.way.go(self.request, copy, self.rest)

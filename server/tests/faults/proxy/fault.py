"""The interface of a fault, and what it can do with a request."""

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
    """A fault. Subclasses are frozen dataclasses that describe its effect; `InstalledFault` has its state."""

    __slots__ = ()

    def fits(self, request: "Request") -> bool:  # noqa: ARG002 - most faults fit any request
        """Return whether the fault can affect this request. Requests that do not fit are not counted."""
        return True

    @abstractmethod
    async def apply(self, exchange: "Exchange") -> "Reply":
        """Apply the fault and return the reply for the client."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that a fault acts on. `nth` is the number of the hit, from 1."""

    request: "Request"
    call: "Call"
    nth: int
    installed: "InstalledFault" = field(repr=False)
    way: "RequestPipeline" = field(repr=False)
    rest: tuple["InstalledFault", ...] = field(repr=False)

    async def forward(self, request: "Request | None" = None) -> "Reply":
        """Forward the request through the faults that were installed later, to the engine."""
        return await self.way.go(request or self.request, self.call, self.rest)

    async def hold(self) -> None:
        """Wait until the test releases the request. Raises `DroppedError` if the test drops it."""
        await self.installed.holds.take(self.request, self.call).gone()

    def repeat_when_released(self) -> None:
        """Keep a copy that is sent to the engine on release, independently of the client and its answer."""
        copy = self.way.log.open(self.request, is_copy=True)
        copy.faults = (self.installed.fault,)
        held = self.installed.holds.take(self.request, copy)
        self.way.spawn(self.way.finish(self._send_copy(held, copy), copy))

    async def _send_copy(self, held: "HeldRequest", copy: "Call") -> "Reply":
        await held.gone()
        return await self.way.go(self.request, copy, self.rest)

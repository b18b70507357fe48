"""How long a connection is waited for, and how many there may be. Around uvicorn's protocol, which bounds neither.

A request that is not whole in time is answered 408 and its connection closed, however the bytes trickle. Who comes
when the house is full is told so by a problem; those who were there before are served.
"""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, override

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tidings.api import problems
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import new_ulid

_CROWDED_S = 2.0
"""Who is to be refused gets so long to ask: an answer before the question is lost on most clients."""
_CROWD = 256
"""So many are waited for in order to refuse them; who comes on top of that is cut off without a word."""


@dataclass(frozen=True, slots=True)
class Bounds:
    receive_s: float
    max_connections: int
    docs_root: str


class _Patient(HttpToolsProtocol):
    bounds: ClassVar[Bounds]
    _timer: asyncio.TimerHandle | None = None
    _is_begun = _has_headers = _is_crowded = False

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        over = len(self.connections) - self.bounds.max_connections
        self._is_crowded = over > 0
        self._arm()
        if over > _CROWD:
            transport.abort()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        """A request that comes whole, as nearly all do, costs no timer."""
        super().data_received(data)
        # a blank line between requests begins none, yet has stopped the clock of idle connections
        if (
            self._timer is None
            and (self._is_begun or self._answering() is None)
            and not self.transport.is_closing()
        ):
            self._arm()

    @override
    def on_message_begin(self) -> None:
        self._is_begun, self._has_headers = True, False
        super().on_message_begin()

    @override
    def on_headers_complete(self) -> None:
        self._has_headers = True
        if self._is_crowded:
            self.app = self._refuse_crowd
        super().on_headers_complete()

    @override
    def on_message_complete(self) -> None:
        self._is_begun = False
        self._disarm()
        super().on_message_complete()

    def _arm(self) -> None:
        wait_s = min(self.bounds.receive_s, _CROWDED_S) if self._is_crowded else self.bounds.receive_s
        self._timer = self.loop.call_later(wait_s, self._expire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            self._arm()  # it is we who don't read on
            return
        if self._may_answer():
            self.transport.write(self._too_slow())
        if (cycle := self._answering()) is not None:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()

    def _answering(self) -> RequestResponseCycle | None:
        cycle: RequestResponseCycle | None = (
            self.cycle
        )  # None before the first request, whatever its type says
        return None if cycle is None or cycle.response_complete else cycle

    def _may_answer(self) -> bool:
        """Nothing is said to who has asked nothing, nor after an answer that did not wait for the body."""
        return self._is_begun and not (self._has_headers and self.cycle.response_started)

    def _too_slow(self) -> bytes:
        message = f"The request was not whole after {self.bounds.receive_s:g} seconds."
        told = problems.told(TidingsError(Code.REQUEST_TOO_SLOW, message), new_ulid(), self.bounds.docs_root)
        status = HTTPStatus(told.status_code)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode(), b"connection: close"]
        lines += [name + b": " + value for name, value in told.raw_headers]
        return b"\r\n".join([*lines, b"", bytes(told.body)])

    async def _refuse_crowd(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI is dicts
        error = TidingsError(Code.OVERLOADED, "There are too many connections.")
        told = problems.told(error, new_ulid(), self.bounds.docs_root)
        told.headers["connection"] = "close"
        await told(scope, receive, send)


def bounded(given: Bounds) -> type[HttpToolsProtocol]:
    class Bounded(_Patient):
        bounds = given

    return Bounded

"""Requests and answers that are held until a test releases them, so that tests control order instead of time."""

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from faults.proxy.calls import Call
    from faults.proxy.dynamo_request import Body, Request
    from faults.proxy.event_log import ProxyEventLog
    from faults.proxy.loop_thread import LoopThread


class DroppedError(Exception):
    """The test dropped the held request."""


@final
class HeldRequest:
    """A held request or answer. `call` records its outcome, `body` identifies it."""

    def __init__(self, request: "Request", call: "Call", holds: "HeldRequests") -> None:
        self.call = call
        self._request = request
        self._holds = holds
        self._gate = holds.loop_thread.loop.create_future()

    @property
    def body(self) -> "Body":
        return self._request.body

    def release(self) -> None:
        """Continue with the request."""
        self._holds.forget(self)
        self._holds.loop_thread.soon(lambda: self._open(None))

    def drop(self) -> None:
        """Drop the request permanently. A client that still waits is reset."""
        self._holds.forget(self)
        self._holds.loop_thread.soon(lambda: self._open(DroppedError()))

    def settle(self, *, timeout_s: float = 60) -> None:
        """Release the request and wait until the engine has answered it."""
        self.release()
        self._holds.board.wait(lambda: self.call.is_done, timeout_s=timeout_s, what=f"the end of {self.call}")

    async def gone(self) -> None:
        """Wait in the proxy's loop until the request is released. Raises `DroppedError` if it is dropped."""
        try:
            await self._gate
        finally:
            self._holds.forget(self)

    def _open(self, error: DroppedError | None) -> None:
        if self._gate.done():
            return
        if error is None:
            self._gate.set_result(None)
        else:
            self._gate.set_exception(error)


@final
class HeldRequests:
    """The requests that one installed fault holds, in order of arrival."""

    def __init__(self, loop_thread: "LoopThread", board: "ProxyEventLog") -> None:
        self.loop_thread = loop_thread
        self.board = board
        self._held: list[HeldRequest] = []
        self._is_closed = False

    def now(self) -> tuple[HeldRequest, ...]:
        with self.board.reading:
            return tuple(self._held)

    def take(self, request: "Request", call: "Call") -> HeldRequest:
        """Hold a request; call it in the proxy's loop.

        Race: a test removes the fault while a request arrives. After `close` the request is released at once, because
        no call would release it later.
        """
        held = HeldRequest(request, call, self)
        with self.board:
            if not self._is_closed:
                self._held.append(held)
                return held
        held.release()
        return held

    def forget(self, held: HeldRequest) -> None:
        with self.board:
            if held in self._held:
                self._held.remove(held)

    def close(self) -> None:
        with self.board:
            self._is_closed = True
            rest = tuple(self._held)
        for held in rest:
            held.release()

"""How an open connection behaves, whichever library carries it: delivering, being too slow, closing, ending.

The adapters' sockets inherit it, beside what their library wants them to be.
"""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from tidings.gateway.socket.frames import LastFrameCache
from tidings.gateway.socket.options import ListenOptions
from tidings.gateway.socket.ports import (
    ErrorReporter,
    ListenerStats,
    MessageHandler,
    OnOpen,
    Socket,
    SocketCloseCode,
    UpgradeRequest,
)

_MAX_REASON_BYTES = 123


class ListenerContext(Protocol):
    """The listener, as its sockets see it."""

    @property
    def options(self) -> ListenOptions: ...
    @property
    def tally(self) -> ListenerStats: ...
    @property
    def on_open(self) -> OnOpen: ...
    @property
    def report(self) -> ErrorReporter: ...
    @property
    def last_frame(self) -> LastFrameCache: ...

    def opened(self, socket: Socket) -> None: ...
    def closed(self, socket: Socket) -> None: ...


class SocketMixin:
    """`_code` is what `on_close` will say, set by whoever closes first."""

    upgrade: UpgradeRequest
    _is_open: bool
    _received_at: float
    _context: ListenerContext
    _transport: asyncio.Transport | None
    _receiver: MessageHandler | None
    _code: int | None
    _timer: asyncio.TimerHandle | None

    @property
    def received_at(self) -> float:
        """A flag is cheaper to raise for every frame than a clock is to read."""
        if self._is_open:
            self._is_open = False
            self._received_at = monotonic()
        return self._received_at

    @property
    def buffered_bytes(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def close(self, code: int, reason: str = "") -> None:
        if self._code is None and self._transport is not None:
            self._code = code
            self._schedule_abort()
            self._send_close(code, truncate_reason(reason))

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _send_close(self, code: int, reason: str) -> None:
        raise NotImplementedError

    def _begin(self, transport: asyncio.Transport, socket: Socket) -> None:
        """From here on more than the bound in the transport's buffer calls `pause_writing`."""
        self._transport = transport
        transport.set_write_buffer_limits(high=self._context.options.send_bound_bytes)
        self._context.opened(socket)
        try:
            self._receiver = self._context.on_open(socket, self.upgrade)
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this connection only
            self._at_fault(error)

    def _deliver(self, receive: Callable[[bytes], None], data: bytes) -> None:
        try:
            receive(data)
        except Exception as error:  # noqa: BLE001 - as above
            self._at_fault(error)

    def _count_part(self) -> bool:
        """Tell the receiver of a frame that is no message. False: the connection is closed, or was by this.

        A peer that is closed for sending too many of them is read no more: else it would go on costing as much
        until it is cut.
        """
        if self._code is not None or self._receiver is None:
            return False
        try:
            self._receiver.on_part()
        except Exception as error:  # noqa: BLE001 - as above
            self._at_fault(error)
        is_open = self._code is None
        if not is_open and self._transport is not None:
            self._transport.pause_reading()
        return is_open

    def _at_fault(self, error: Exception) -> None:
        self._context.tally.receiver_faults += 1
        self._context.report("a receiver failed", error)
        self.close(SocketCloseCode.INTERNAL)

    def _too_slow(self) -> None:
        """Called out of a write: what is buffered stays, the close frame queues behind it, nothing follows."""
        if self._code is None:
            self._context.tally.too_slow += 1
            self.close(self._context.options.slow_close_code, self._context.options.slow_close_reason)

    def _schedule_abort(self) -> None:
        """A peer that does not take our last bytes, or never answers a close, does not keep the connection."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._context.options.linger_s, self.abort)

    def _end(self, socket: Socket) -> None:
        if self._timer is not None:
            self._timer.cancel()
        receiver, code = self._receiver, self._code
        self._transport = self._receiver = self._timer = None
        self._context.closed(socket)
        if receiver is not None:
            try:
                receiver.on_close(SocketCloseCode.ABNORMAL if code is None else code)
            except Exception as error:  # noqa: BLE001 - nobody above could do better
                self._context.report("a receiver failed at its end", error)


def truncate_reason(reason: str) -> str:
    """A close frame is a control frame: 125 bytes with the code."""
    return reason.encode()[:_MAX_REASON_BYTES].decode(errors="ignore")

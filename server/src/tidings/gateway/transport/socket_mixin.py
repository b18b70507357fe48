"""Text frames as a server writes them: unmasked, so the same bytes serve every receiver."""

import asyncio
import codecs
from collections.abc import Callable
from time import monotonic
from typing import Protocol, final

from tidings.gateway.transport.ports import (
    ErrorReporter,
    ListenerStats,
    ListenOptions,
    MessageHandler,
    OnOpen,
    Socket,
    SocketCloseCode,
    UpgradeRequest,
)

_TEXT = 0x81
_LENGTH_16 = 126
_LENGTH_64 = 127


def text_frame(payload: bytes) -> bytes:
    return _header(len(payload)) + payload


def _header(size_bytes: int) -> bytes:
    if size_bytes < _LENGTH_16:
        return bytes((_TEXT, size_bytes))
    if size_bytes < 1 << 16:
        return bytes((_TEXT, _LENGTH_16)) + size_bytes.to_bytes(2)
    return bytes((_TEXT, _LENGTH_64)) + size_bytes.to_bytes(8)


@final
class LastFrameCache:
    """Keeps the frame of the payload that was sent last: in a fan-out the next receiver gets the same one."""

    def __init__(self) -> None:
        self._payload = b""
        self._frame = text_frame(b"")

    def of(self, payload: bytes) -> bytes:
        if payload is not self._payload:
            self._payload, self._frame = payload, text_frame(payload)
        return self._frame


_Decoder = codecs.getincrementaldecoder("utf-8")


class ProtocolViolationError(Exception):
    """The peer did what it may not; `code` is what the connection is closed with."""

    def __init__(self, code: SocketCloseCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def check_utf8(data: bytes) -> None:
    """Of a message that came in one frame."""
    try:
        data.decode()
    except UnicodeDecodeError:
        raise _invalid_text() from None


def _invalid_text() -> ProtocolViolationError:
    return ProtocolViolationError(SocketCloseCode.INVALID_TEXT, "text is UTF-8")


@final
class FragmentBuffer:
    """A message that comes in several frames. Wrong bytes are found in the fragment that brings them."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._whole = bytearray()
        self._decoder = _Decoder()

    def add(self, data: bytes, *, is_last: bool) -> bytes | None:
        """The whole message with its last part."""
        if len(self._whole) + len(data) > self._max_bytes:
            raise ProtocolViolationError(
                SocketCloseCode.TOO_BIG, f"a message has at most {self._max_bytes} bytes"
            )
        try:
            self._decoder.decode(data, final=is_last)
        except UnicodeDecodeError:
            raise _invalid_text() from None
        self._whole += data
        return bytes(self._whole) if is_last else None


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
        transport.set_write_buffer_limits(high=self._context.options.max_send_buffer_bytes)
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
            self._timer = loop.call_later(self._context.options.close_timeout_s, self.abort)

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

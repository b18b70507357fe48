"""Shared parts of the sockets of both WebSocket libraries: frames, UTF-8 checks, closing, and their register."""

import asyncio
import codecs
from collections.abc import Callable
from time import monotonic
from typing import final

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
from tidings.kernel.fair_shares import FairShares
from tidings.limits.rules import address_key

_TEXT = 0x81
_LENGTH_16 = 126
_LENGTH_64 = 127


def text_frame(payload: bytes) -> bytes:
    """Encode a text frame. A server does not mask, so all receivers can share the bytes."""
    return _header(len(payload)) + payload


def _header(size_bytes: int) -> bytes:
    if size_bytes < _LENGTH_16:
        return bytes((_TEXT, size_bytes))
    if size_bytes < 1 << 16:
        return bytes((_TEXT, _LENGTH_16)) + size_bytes.to_bytes(2)
    return bytes((_TEXT, _LENGTH_64)) + size_bytes.to_bytes(8)


@final
class LastFrameCache:
    """Cache the frame of the last payload: in a fan-out the next receiver gets the same payload."""

    def __init__(self) -> None:
        self._payload = b""
        self._frame = text_frame(b"")

    def of(self, payload: bytes) -> bytes:
        if payload is not self._payload:
            self._payload, self._frame = payload, text_frame(payload)
        return self._frame


_Decoder = codecs.getincrementaldecoder("utf-8")


class ProtocolViolationError(Exception):
    """The peer violated the protocol. The connection is closed with `code`."""

    def __init__(self, code: SocketCloseCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def check_utf8(data: bytes) -> None:
    """Check the text of a message that arrived in one frame."""
    try:
        data.decode()
    except UnicodeDecodeError:
        raise _invalid_text() from None


def _invalid_text() -> ProtocolViolationError:
    return ProtocolViolationError(SocketCloseCode.INVALID_TEXT, "text is UTF-8")


@final
class FragmentBuffer:
    """Collect a message that arrives in several frames. Each fragment is checked when it arrives."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._whole = bytearray()
        self._decoder = _Decoder()

    def add(self, data: bytes, *, is_last: bool) -> bytes | None:
        """Add a fragment. Return the whole message with its last fragment. Raises `ProtocolViolationError`."""
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


@final
class OpenSockets:
    """The open sockets of one listener, and what they share. `report` receives failures of message handlers."""

    def __init__(self, options: ListenOptions, on_open: OnOpen, report: ErrorReporter) -> None:
        self.options = options
        self.on_open = on_open
        self.report = report
        self.tally = ListenerStats()
        self.last_frame = LastFrameCache()
        self.all: set[Socket] = set()
        self._of_address: FairShares[str] = FairShares(options.max_connections_per_address)
        self._emptied: asyncio.Event | None = None

    @property
    def is_full(self) -> bool:
        return len(self.all) >= self.options.max_connections

    def has_room_for(self, address: str) -> bool:
        """Return whether an address may open one more connection."""
        return self._of_address.held(address_key(address)) < self._of_address.each

    def opened(self, socket: Socket) -> None:
        self.tally.opened += 1
        self.all.add(socket)
        self._of_address.count(address_key(socket.upgrade.client))

    def closed(self, socket: Socket) -> None:
        self.tally.closed += 1
        self.all.discard(socket)
        self._of_address.release(address_key(socket.upgrade.client))
        if self._emptied is not None and not self.all:
            self._emptied.set()

    async def all_closed(self) -> None:
        """Wait until no socket is open."""
        if self.all:
            self._emptied = self._emptied or asyncio.Event()
            # Race: a socket opens after the last one has closed and before the waiter runs. Callers therefore stop
            # accepting before they wait.
            self._emptied.clear()
            await self._emptied.wait()


_MAX_REASON_BYTES = 123


class SocketMixin:
    """Closing and error handling of a socket. `_code` is the code that `on_close` reports; the first close sets it."""

    upgrade: UpgradeRequest
    _has_received: bool
    _received_at: float
    _context: OpenSockets
    _transport: asyncio.Transport | None
    _receiver: MessageHandler | None
    _code: int | None
    _timer: asyncio.TimerHandle | None

    @property
    def received_at(self) -> float:
        # A flag for each frame is cheaper than a clock read for each frame.
        if self._has_received:
            self._has_received = False
            self._received_at = monotonic()
        return self._received_at

    @property
    def buffered_bytes(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def close(self, code: int, reason: str = "") -> None:
        # Race: both sides close, or the gateway closes for two reasons. The first close sets the code.
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
        """Open the socket. From now on, more than the limit in the transport's buffer calls `pause_writing`."""
        self._transport = transport
        transport.set_write_buffer_limits(high=self._context.options.max_send_buffer_bytes)
        self._context.opened(socket)
        try:
            self._receiver = self._context.on_open(socket, self.upgrade)
        except Exception as error:  # noqa: BLE001 - a failure ends only this connection
            self._at_fault(error)

    def _deliver(self, receive: Callable[[bytes], None], data: bytes) -> None:
        try:
            receive(data)
        except Exception as error:  # noqa: BLE001 - as above
            self._at_fault(error)

    def _count_part(self) -> bool:
        """Report a frame that is not a whole message. Return False if the connection is closed.

        If the handler closes the connection because of too many such frames, reading stops: the peer would otherwise
        cost as much until the abort.
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
        self._context.report("a message handler failed", error)
        self.close(SocketCloseCode.INTERNAL)

    def _too_slow(self) -> None:
        """Close a slow consumer. Called during a write: buffered data stays, and the close frame follows it."""
        if self._code is None:
            self._context.tally.too_slow += 1
            self.close(self._context.options.slow_close_code, self._context.options.slow_close_reason)

    def _schedule_abort(self) -> None:
        """Abort after the linger time, for a peer that does not read the last bytes or does not answer the close."""
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
            except Exception as error:  # noqa: BLE001 - no caller above could handle it
                self._context.report("a message handler failed to close", error)


def truncate_reason(reason: str) -> str:
    """Truncate a close reason: a control frame has at most 125 bytes, including the code."""
    return reason.encode()[:_MAX_REASON_BYTES].decode(errors="ignore")

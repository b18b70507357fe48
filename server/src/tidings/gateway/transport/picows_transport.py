"""Transport with picows, whose frame parser and writer are compiled. The default.

picows does not check UTF-8, fragments, reserved bits and some close codes, and does not limit its buffers. This file does.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import cast, final, override

from picows import (
    WSAutoPingStrategy,
    WSFrame,
    WSListener,
    WSMsgType,
    WSTransport,
    WSUpgradeResponse,
    WSUpgradeResponseWithListener,
)
from picows.picows import WSCloseHandshake, WSCloseInfo, WSProtocol  # type: ignore[attr-defined]  # compiled, missing in its stub

from tidings.gateway.transport.ports import Socket, SocketCloseCode, UpgradeRequest
from tidings.gateway.transport.socket_mixin import (
    FragmentBuffer,
    OpenSockets,
    ProtocolViolationError,
    SocketMixin,
    check_utf8,
)
from tidings.gateway.transport.upgrade import rebuild_request

_TEXT, _BINARY, _CONTINUATION = WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION
_PING, _PONG, _CLOSE = WSMsgType.PING, WSMsgType.PONG, WSMsgType.CLOSE
_READ_BUFFER_BYTES = 2_048
_COPIED_UP_TO_BYTES = 8_192
_HEADER_BYTES = 14
_CODES = range(1_000, 5_000)
_NEVER_SENT = {SocketCloseCode.NONE_GIVEN, SocketCloseCode.ABNORMAL}


@final
class PicowsBackend:
    """The `TransportBackend` of picows."""

    def send_all(self, sockets: Iterable[Socket], data: bytes) -> None:
        """Call picows directly: with a thousand receivers, each further object is a further cache miss."""
        if len(data) > _COPIED_UP_TO_BYTES:
            for socket in sockets:
                socket.send(data)
            return
        for socket in cast("Iterable[PicowsSocket]", sockets):
            # Race: the peer closes, and a push comes before the connection is lost and the device leaves the hub.
            if (ws := socket.ws) is not None:
                ws.send(_TEXT, data)

    def open(
        self, transport: asyncio.Transport, context: OpenSockets, upgrade: UpgradeRequest, rest: bytes
    ) -> None:
        socket = PicowsSocket(context, upgrade)
        protocol = WSProtocol(
            host_port=None,
            ws_path=None,
            is_client_side=False,
            ws_listener_factory=lambda _: _answer(socket, upgrade),
            logger=_PicowsListener(socket),
            disconnect_on_exception=True,
            websocket_handshake_timeout=None,
            enable_auto_ping=False,
            auto_ping_idle_timeout=1,
            auto_ping_reply_timeout=1,
            auto_ping_strategy=WSAutoPingStrategy.PING_WHEN_IDLE,
            # Pings are answered here, so that they count as received frames.
            enable_auto_pong=False,
            max_frame_size=context.options.max_message_bytes,
            extra_headers=None,
            read_buffer_init_size=_READ_BUFFER_BYTES,
        )
        # uvloop chooses its way of reading by the type of the protocol when reading starts.
        transport.pause_reading()
        transport.set_protocol(protocol)
        transport.resume_reading()
        protocol.connection_made(transport)
        _feed(protocol, rebuild_request(upgrade, extensions=None) + rest)


def _answer(socket: "PicowsSocket", upgrade: UpgradeRequest) -> WSUpgradeResponseWithListener:
    chosen = {} if upgrade.subprotocol is None else {"Sec-WebSocket-Protocol": upgrade.subprotocol}
    response: WSUpgradeResponse = WSUpgradeResponse.create_101_response(chosen)
    return WSUpgradeResponseWithListener(response, socket)


def _feed(protocol: WSProtocol, data: bytes) -> None:
    """Pass data to the protocol as if it came from the network."""
    while data:
        room = protocol.get_buffer(-1)
        size = min(len(room), len(data))
        room[:size] = data[:size]
        protocol.buffer_updated(size)
        data = data[size:]


@final
class PicowsSocket(SocketMixin, WSListener):
    """One connection. picows calls its `on_ws_…`, `pause_writing` and `resume_writing` methods."""

    # The other base class is compiled, and slots are much faster than a dictionary there.
    __slots__ = (
        "_code",
        "_context",
        "_fragments",
        "_has_received",
        "_on_message",
        "_received_at",
        "_receiver",
        "_timer",
        "_transport",
        "send",
        "upgrade",
        "ws",
    )

    send: Callable[[bytes], None]
    _on_message: Callable[[bytes], None]

    def __init__(self, context: OpenSockets, upgrade: UpgradeRequest) -> None:
        self._context = context
        self.upgrade = upgrade
        self._has_received = True
        self._received_at = 0.0
        self.send = self._on_message = _ignore
        self.ws: WSTransport | None = None
        self._transport = self._receiver = self._code = self._timer = None
        self._fragments: FragmentBuffer | None = None

    @override
    def on_ws_connected(self, transport: WSTransport) -> None:
        self.ws = transport
        self.send = partial(_send, transport)
        self._begin(transport.underlying_transport, self)
        if self._receiver is not None:
            self._on_message = self._receiver.on_message

    @override
    def on_ws_disconnected(self, transport: WSTransport) -> None:
        if self._code is None and transport.is_close_frame_sent:
            self._code = _number(transport.close_handshake.sent)
        self.ws = self._fragments = None
        self.send = self._on_message = _ignore
        self._end(self)

    def library_closes(self) -> None:
        """Handle a frame that picows cannot parse and closes for.

        picows would still deliver a frame that is too long once it is complete. It also parses one frame ahead, so a
        close frame before the invalid one may still wait for its answer.
        """
        ws = self.ws
        if ws is None or self._code is not None:
            return
        self._on_message = _ignore
        self._schedule_abort()
        closing = cast("WSCloseHandshake | None", ws.close_handshake)
        if closing is not None and closing.recv is not None:
            self._code = _number(closing.recv) or SocketCloseCode.NONE_GIVEN
            ws.send_close(_number(closing.recv) or SocketCloseCode.NORMAL)  # type: ignore[arg-type]  # as below

    @override
    def pause_writing(self) -> None:
        self._too_slow()

    @override
    def resume_writing(self) -> None:
        pass

    @override
    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        # Nearly every frame is a complete text message, so that case is handled here without a further call.
        self._has_received = True
        try:
            is_plain = not (frame.rsv1 or frame.rsv2 or frame.rsv3)
            if is_plain and frame.fin and frame.msg_type is _TEXT and self._fragments is None:
                data = frame.get_payload_as_bytes()
                if not data.isascii():
                    check_utf8(data)
                self._on_message(data)
            else:
                self._handle(transport, frame)
        except ProtocolViolationError as violation:
            self.close(violation.code, violation.reason)
        except Exception as error:  # noqa: BLE001 - whatever the receiver raised
            self._at_fault(error)

    def _handle(self, ws: WSTransport, frame: WSFrame) -> None:
        """Handle any frame other than a message in one frame."""
        kind = frame.msg_type
        if frame.rsv1 or frame.rsv2 or frame.rsv3:
            raise ProtocolViolationError(SocketCloseCode.PROTOCOL_ERROR, "reserved bits must be 0")
        if kind == _CLOSE:
            self._peer_closes(ws, frame)
        elif self._code is not None:
            pass
        elif kind in (_PING, _PONG):
            if self._count_part() and kind == _PING:
                ws.send_pong(frame.get_payload_as_bytes())
        elif kind == _BINARY:
            raise ProtocolViolationError(SocketCloseCode.UNSUPPORTED, "only text is supported")
        elif frame.fin or self._count_part():
            self._gather(frame, is_first=kind == _TEXT)

    def _gather(self, frame: WSFrame, *, is_first: bool) -> None:
        if is_first is (self._fragments is not None):
            raise ProtocolViolationError(SocketCloseCode.PROTOCOL_ERROR, "fragments are out of order")
        fragments = self._fragments or FragmentBuffer(self._context.options.max_message_bytes)
        whole = fragments.add(frame.get_payload_as_bytes(), is_last=bool(frame.fin))
        self._fragments = fragments if whole is None else None
        if whole is not None:
            self._on_message(whole)

    def _peer_closes(self, ws: WSTransport, frame: WSFrame) -> None:
        """Answer with the same code, then close the connection: the server closes first."""
        payload = frame.get_payload_as_bytes()
        code = int.from_bytes(payload[:2]) if payload else SocketCloseCode.NONE_GIVEN
        if payload and (code not in _CODES or code in _NEVER_SENT):
            self.close(SocketCloseCode.PROTOCOL_ERROR, "invalid close code")
        elif self._code is None:
            self._code = code
            ws.send(_CLOSE, payload[:2] or None)
        self.ws = None
        self.send = self._on_message = _ignore
        ws.disconnect()
        self._schedule_abort()

    @override
    def _send_close(self, code: int, reason: str) -> None:
        if self.ws is not None:
            self._on_message = _ignore
            self.ws.send_close(code, reason.encode())  # type: ignore[arg-type]  # any number does


def _send(ws: WSTransport, data: bytes) -> None:
    """Send a message. For a long one, `send` would pass a view of its header buffer, which the next call overwrites."""
    if len(data) <= _COPIED_UP_TO_BYTES:
        ws.send(_TEXT, data)
    else:
        ws.send_reuse_external_bytearray(_TEXT, bytearray(_HEADER_BYTES) + data, _HEADER_BYTES)


def _number(close: WSCloseInfo | None) -> int:
    """Return the close code, 0 if there is none. picows declares an enum, but passes any number."""
    return 0 if close is None else int(cast("int", close.code))


def _ignore(_: bytes) -> None:
    """Ignore a message before the start or after the end of the connection."""


@final
class _PicowsListener:
    """Replaces picows' logger, which picows would create and use for each connection.

    The logger is also the only way to learn of an invalid frame before picows sends the close.
    """

    __slots__ = ("_socket",)

    def __init__(self, socket: PicowsSocket) -> None:
        self._socket = socket

    def isEnabledFor(self, _: int) -> bool:  # noqa: N802 - the name in logging
        return False

    def error(self, *_: object, **__: object) -> None:
        self._socket.library_closes()

    exception = error

    def info(self, *_: object, **__: object) -> None: ...

    log = debug = warning = info

"""Transport with the I/O-free protocol of `websockets`, on the event loop's own transports.

It is pure Python: slower than picows, but available on every platform, and it can compress.
"""

import asyncio
from collections.abc import Iterable
from typing import Literal, cast, final, override

from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from tidings.gateway.transport.listener import TransportBackend
from tidings.gateway.transport.ports import ListenOptions, Socket, SocketCloseCode, UpgradeRequest
from tidings.gateway.transport.socket_mixin import (
    FragmentBuffer,
    OpenSockets,
    ProtocolViolationError,
    SocketMixin,
    check_utf8,
)
from tidings.gateway.transport.upgrade import rebuild_request
from tidings.kernel.errors import Code, TidingsError


@final
class WebsocketsBackend:
    """The `TransportBackend` of `websockets`."""

    def send_all(self, sockets: Iterable[Socket], data: bytes) -> None:
        for socket in sockets:
            socket.send(data)

    def open(
        self, transport: asyncio.Transport, context: OpenSockets, upgrade: UpgradeRequest, rest: bytes
    ) -> None:
        socket = WebsocketsSocket(context, upgrade)
        transport.set_protocol(socket)
        socket.connection_made(transport)
        if rest:
            socket.data_received(rest)


@final
class _Protocol(ServerProtocol):
    @override
    def recv_frame(self, frame: Frame) -> None:
        """Accept a close in the middle of a message: a peer that leaves need not complete it."""
        if frame.opcode is Opcode.CLOSE:
            self.current_size = None
        super().recv_frame(frame)


def _opened(upgrade: UpgradeRequest, options: ListenOptions) -> ServerProtocol:
    """Return a protocol after its handshake. The handshake's answer is its first data to send."""
    protocol = _Protocol(
        extensions=[_compression()] if options.compresses else None,
        subprotocols=[Subprotocol(upgrade.subprotocol)] if upgrade.subprotocol else None,
        max_size=options.max_message_bytes,
    )
    protocol.receive_data(rebuild_request(upgrade, upgrade.extensions))
    [request] = protocol.events_received()
    protocol.send_response(protocol.accept(cast("Request", request)))
    return protocol


def _release(protocol: ServerProtocol) -> None:
    """Break the reference cycles of a closed protocol: its parser is a generator that refers to it, as does a traceback.

    Otherwise only the garbage collector would free the memory, and it runs rarely in a process with many old objects.
    """
    protocol.parser.close()
    protocol.parser_exc = protocol.handshake_exc = None


def _compression() -> ServerPerMessageDeflateFactory:
    """Compress without context takeover: a window of 32 KB would cost more than the connection."""
    return ServerPerMessageDeflateFactory(
        server_no_context_takeover=True,
        client_no_context_takeover=True,
        server_max_window_bits=12,
        client_max_window_bits=12,
        compress_settings={"memLevel": 5},
    )


@final
class WebsocketsSocket(SocketMixin, asyncio.Protocol):
    """One connection; the protocol of its transport."""

    def __init__(self, context: OpenSockets, upgrade: UpgradeRequest) -> None:
        self._context = context
        self.upgrade = upgrade
        self._has_received = True
        self._received_at = 0.0
        self._protocol = _opened(upgrade, context.options)
        self._transport = self._receiver = self._code = self._timer = None
        self._fragments: FragmentBuffer | None = None

    def send(self, data: bytes) -> None:
        if self._code is None and self._transport is not None:
            if self._protocol.extensions:
                self._protocol.send_text(data)
                self._write(self._protocol.data_to_send())
            else:
                self._transport.write(self._context.last_frame.of(data))

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = cast("asyncio.Transport", transport)
        stream.writelines(self._protocol.data_to_send())
        self._begin(stream, self)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._fragments = None
        _release(self._protocol)
        self._end(self)

    @override
    def pause_writing(self) -> None:
        self._too_slow()

    @override
    def data_received(self, data: bytes) -> None:
        # The library parses all frames at once and prepares its answers: pongs, then a close. The gateway's answers to
        # the messages are written in between, in the order of the frames.
        self._has_received = True
        self._protocol.receive_data(data)
        answers = self._protocol.data_to_send()
        for frame in self._protocol.events_received():
            if isinstance(frame, Frame):
                self._handle(frame, answers)
        self._take_over_close()
        self._write(answers)

    def _handle(self, frame: Frame, answers: list[bytes]) -> None:
        is_message = frame.fin and frame.opcode in (Opcode.TEXT, Opcode.CONT, Opcode.BINARY)
        is_counted = is_message or frame.opcode is Opcode.CLOSE or self._count_part()
        if frame.opcode is Opcode.PING:
            pong = answers.pop(0)
            if is_counted:
                self._write([pong])
        if self._code is not None or not is_counted:
            return
        try:
            if frame.opcode is Opcode.BINARY:
                self.close(SocketCloseCode.UNSUPPORTED, "only text is supported")
            elif frame.opcode in (Opcode.TEXT, Opcode.CONT):
                self._gather(bytes(frame.data), is_last=frame.fin)
        except ProtocolViolationError as violation:
            self.close(violation.code, violation.reason)

    def _gather(self, data: bytes, *, is_last: bool) -> None:
        if self._fragments is None and is_last:
            check_utf8(data)
            whole: bytes | None = data
        else:
            self._fragments = self._fragments or FragmentBuffer(self._context.options.max_message_bytes)
            whole = self._fragments.add(data, is_last=is_last)
        if whole is not None:
            self._fragments = None
            if self._receiver is not None:
                self._deliver(self._receiver.on_message, whole)

    def _take_over_close(self) -> None:
        """Record a close by the peer or by the library after a violation. Its answer is already prepared."""
        if self._code is None and self._protocol.close_expected():
            close = self._protocol.close_rcvd or self._protocol.close_sent
            self._code = SocketCloseCode.ABNORMAL if close is None else close.code
            self._schedule_abort()

    @override
    def _send_close(self, code: int, reason: str) -> None:
        if not self._protocol.close_expected():
            self._protocol.send_close(code, reason)
            self._write(self._protocol.data_to_send())

    def _write(self, answers: list[bytes]) -> None:
        """Write the library's data. An empty item closes the connection."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        for data in answers:
            if data:
                transport.write(data)
            elif self._protocol.close_rcvd is None and transport.can_write_eof():
                # A full close with unread bytes would reset the connection and lose the last bytes sent.
                transport.write_eof()
            else:
                transport.close()


type BackendName = Literal["picows", "websockets"]


def load_backend(name: BackendName, *, compresses: bool = False) -> TransportBackend:
    if name == "websockets":
        return WebsocketsBackend()
    if compresses:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "gateway.compression: picows does not compress",
            hint='Set gateway.socket_library to "websockets", or gateway.compression to "off".',
        )
    from tidings.gateway.transport.picows_transport import PicowsBackend  # noqa: PLC0415 - picows is optional

    return PicowsBackend()

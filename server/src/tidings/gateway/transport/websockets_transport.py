"""WebSockets by `websockets`, its protocol without I/O, on the loop's own transports.

Pure Python: slower than picows, on every platform, and it can compress.
"""

import asyncio
import socket as tcp_socket
from collections.abc import Callable, Iterable
from typing import Literal, cast, final, override

from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from tidings.gateway.transport.handshake import HandshakeProtocol
from tidings.gateway.transport.listener import TransportBackend
from tidings.gateway.transport.ports import ListenOptions, Socket, SocketCloseCode, UpgradeRequest
from tidings.gateway.transport.socket_mixin import (
    FragmentBuffer,
    ListenerContext,
    ProtocolViolationError,
    SocketMixin,
    check_utf8,
)
from tidings.gateway.transport.upgrade import rebuild_request
from tidings.kernel.errors import Code, TidingsError


@final
class WebsocketsBackend:
    """The `TransportBackend`."""

    async def attach(
        self, sock: tcp_socket.socket, make: Callable[[], HandshakeProtocol], options: ListenOptions
    ) -> None:
        loop = asyncio.get_running_loop()
        limits = {} if options.tls is None else {"ssl_handshake_timeout": options.handshake_timeout_s}
        await loop.connect_accepted_socket(make, sock, ssl=options.tls, **limits)

    def send_all(self, sockets: Iterable[Socket], data: bytes) -> None:
        for socket in sockets:
            socket.send(data)

    def open(
        self, transport: asyncio.Transport, large_chats: ListenerContext, upgrade: UpgradeRequest, rest: bytes
    ) -> None:
        socket = WebsocketsSocket(large_chats, upgrade)
        transport.set_protocol(socket)
        socket.connection_made(transport)
        if rest:
            socket.data_received(rest)


@final
class _Protocol(ServerProtocol):
    @override
    def recv_frame(self, frame: Frame) -> None:
        """A close in the middle of a message is no violation: who leaves need not finish."""
        if frame.opcode is Opcode.CLOSE:
            self.current_size = None
        super().recv_frame(frame)


def _opened(upgrade: UpgradeRequest, options: ListenOptions) -> ServerProtocol:
    """Past the handshake; its answer is the first thing to send."""
    protocol = _Protocol(
        extensions=[_compression()] if options.compresses else None,
        subprotocols=[Subprotocol(upgrade.subprotocol)] if upgrade.subprotocol else None,
        max_size=options.max_message_bytes,
    )
    protocol.receive_data(rebuild_request(upgrade, upgrade.extensions))
    [request] = protocol.events_received()
    protocol.send_response(protocol.accept(cast("Request", request)))
    return protocol


def _let_go(protocol: ServerProtocol) -> None:
    """Its parser is a generator that holds it, as does the traceback of a violation: else only the collector, which
    comes rarely to a process of many long-lived objects, would give back the memory of those who have left.
    """
    protocol.parser.close()
    protocol.parser_exc = protocol.handshake_exc = None


def _compression() -> ServerPerMessageDeflateFactory:
    """No memory of earlier messages: at 32 KB a window, it would cost more than the connection."""
    return ServerPerMessageDeflateFactory(
        server_no_context_takeover=True,
        client_no_context_takeover=True,
        server_max_window_bits=12,
        client_max_window_bits=12,
        compress_settings={"memLevel": 5},
    )


@final
class WebsocketsSocket(SocketMixin, asyncio.Protocol):
    """A connection, as the loop's transport sees it."""

    def __init__(self, large_chats: ListenerContext, upgrade: UpgradeRequest) -> None:
        self._context = large_chats
        self.upgrade = upgrade
        self._is_open = True
        self._received_at = 0.0
        self._protocol = _opened(upgrade, large_chats.options)
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
        _let_go(self._protocol)
        self._end(self)

    @override
    def pause_writing(self) -> None:
        self._too_slow()

    @override
    def data_received(self, data: bytes) -> None:
        """The library reads all frames at once and has its answers ready: pongs, then a close. Ours to the
        messages go in between, where they belong.
        """
        self._is_open = True
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
                self.close(SocketCloseCode.UNSUPPORTED, "only text is spoken here")
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
        """The peer closed, or the library found a violation: its answer is among what is to be sent."""
        if self._code is None and self._protocol.close_expected():
            said = self._protocol.close_rcvd or self._protocol.close_sent
            self._code = SocketCloseCode.ABNORMAL if said is None else said.code
            self._schedule_abort()

    @override
    def _send_close(self, code: int, reason: str) -> None:
        if not self._protocol.close_expected():
            self._protocol.send_close(code, reason)
            self._write(self._protocol.data_to_send())

    def _write(self, answers: list[bytes]) -> None:
        """An empty one is the end."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        for data in answers:
            if data:
                transport.write(data)
            elif self._protocol.close_rcvd is None and transport.can_write_eof():
                # A full close with bytes unread would be a reset, which eats what we said last.
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
    from tidings.gateway.transport.picows_transport import PicowsBackend  # noqa: PLC0415 - as the docstring says

    return PicowsBackend()

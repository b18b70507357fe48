"""The WebSocket listener: its TCP socket, the accept loop, handshakes and open sockets."""

import asyncio
import errno
import socket as tcp_socket
from collections.abc import Callable, Collection, Iterable
from typing import Protocol, final

from tidings.gateway.transport.handshake import HandshakeDeps, HandshakeProtocol, HandshakeTracker
from tidings.gateway.transport.ports import (
    AdmissionCheck,
    ErrorReporter,
    ListenerStats,
    ListenOptions,
    OnOpen,
    Socket,
    TcpOptions,
    UpgradeRefusal,
    UpgradeRequest,
    admit_all,
)
from tidings.gateway.transport.socket_mixin import OpenSockets
from tidings.gateway.transport.upgrade import is_proxy
from tidings.kernel.errors import Code
from tidings.limits.rules import address_key

_ACCEPTS_PER_TURN = 64
_OUT_OF_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_RETRY_S = 0.5


def open_listening_socket(host: str, port: int, options: TcpOptions) -> tcp_socket.socket:
    """Open the listening socket. Accepted sockets inherit its options."""
    family = tcp_socket.AF_INET6 if ":" in host else tcp_socket.AF_INET
    is_both = host == "::" and tcp_socket.has_dualstack_ipv6()
    made = tcp_socket.create_server(
        (host, port),
        family=family,
        backlog=options.backlog,
        reuse_port=options.reuse_port,
        dualstack_ipv6=is_both,
    )
    made.setblocking(False)  # noqa: FBT003 - the standard library's signature
    _set(made, options)
    return made


def _set(made: tcp_socket.socket, options: TcpOptions) -> None:
    made.setsockopt(tcp_socket.SOL_SOCKET, tcp_socket.SO_SNDBUF, options.send_buffer_bytes)
    made.setsockopt(tcp_socket.SOL_SOCKET, tcp_socket.SO_RCVBUF, options.receive_buffer_bytes)
    made.setsockopt(tcp_socket.SOL_SOCKET, tcp_socket.SO_KEEPALIVE, 1)
    wanted = {
        "TCP_NODELAY": 1,
        "TCP_KEEPIDLE": options.keepalive_idle_s,
        "TCP_KEEPINTVL": options.keepalive_every_s,
        "TCP_KEEPCNT": options.keepalive_probes,
        # A peer that acknowledges nothing for this time is unreachable, even if it announces a zero window.
        "TCP_USER_TIMEOUT": options.unacknowledged_s * 1_000,
    }
    for name, value in wanted.items():
        if (option := getattr(tcp_socket, name, None)) is not None:
            made.setsockopt(tcp_socket.IPPROTO_TCP, option, value)


@final
class Acceptor:
    """Accept TCP connections and pass each to `take` with the address of its peer."""

    def __init__(self, sock: tcp_socket.socket, take: Callable[[tcp_socket.socket, str], None]) -> None:
        self._sock = sock
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        self._is_paused = True
        self.resume()

    def resume(self) -> None:
        # Race: the listener closes before the retry timer of `_pause` fires. The event loop must not watch a closed
        # socket.
        if self._is_open and self._is_paused:
            self._is_paused = False
            self._loop.add_reader(self._sock, self._ready)

    def pause(self) -> None:
        self._is_paused = True
        self._loop.remove_reader(self._sock)

    def close(self) -> None:
        if self._is_open:
            self.pause()
            self._is_open = False
            self._sock.close()

    def _ready(self) -> None:
        # Accept a bounded number per turn of the event loop, so that a storm does not starve open connections.
        for _ in range(_ACCEPTS_PER_TURN):
            try:
                accepted, address = self._sock.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return
            except OSError as error:
                self._pause(error)
                return
            accepted.setblocking(False)  # noqa: FBT003 - as above
            self._take(accepted, str(address[0]))

    def _pause(self, error: OSError) -> None:
        """Pause accepting. Without file descriptors the socket stays readable, and the loop would spin."""
        if error.errno not in _OUT_OF_RESOURCES:
            raise error
        self.pause()
        self._loop.call_later(_RETRY_S, self.resume)


_CLOSES_PER_TURN = 256


class TransportBackend(Protocol):
    """A WebSocket library."""

    def send_all(self, sockets: Iterable[Socket], data: bytes) -> None:
        """Send one message to several sockets of this library, faster than `send` on each."""
        ...

    def open(
        self, transport: asyncio.Transport, context: OpenSockets, upgrade: UpgradeRequest, rest: bytes
    ) -> None:
        """Answer the upgrade and make the transport a WebSocket. `rest` was received after the request."""
        ...


@final
class WebSocketListener:
    """Accept WebSocket connections on one address. `on_error` receives failures of message handlers and of `admit`."""

    def __init__(
        self,
        library: TransportBackend,
        options: ListenOptions,
        on_open: OnOpen,
        *,
        on_error: ErrorReporter,
        admit: AdmissionCheck = admit_all,
    ) -> None:
        self._library = library
        self._options = options
        self._open = OpenSockets(options, on_open, on_error)
        self._handshakes: HandshakeTracker[HandshakeProtocol] = HandshakeTracker(
            options.max_handshakes, options.max_handshakes_per_address, HandshakeProtocol.drop
        )
        self._handshake_deps = HandshakeDeps(self._open, self._handshakes, admit, self._accept)
        self._acceptor: Acceptor | None = None
        self._port = options.port
        self._attaching: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        return self._port

    @property
    def sockets(self) -> Collection[Socket]:
        """The sockets that are open or closing."""
        return self._open.all

    @property
    def tally(self) -> ListenerStats:
        return self._open.tally

    async def start(self) -> None:
        sock = open_listening_socket(self._options.host, self._options.port, self._options.tcp)
        self._port = sock.getsockname()[1]
        self._acceptor = Acceptor(sock, self._accepted)

    def stop_accepting(self) -> None:
        """Refuse new connections and handshakes in progress. Open sockets stay."""
        if self._acceptor is not None:
            self._acceptor.close()
            self._acceptor = None
        retry_after_ms = self._options.full_retry_ms[0]
        draining = UpgradeRefusal(
            503, Code.OVERLOADED, "This gateway is going away", retry_after_ms=retry_after_ms
        )
        for handshake in self._handshakes.all():
            handshake.refuse(draining)

    async def close(self, code: int, reason: str = "") -> None:
        """Stop accepting, close every socket, and return when the last one is closed, within the linger time."""
        self.stop_accepting()
        for number, socket in enumerate(list(self._open.all)):
            socket.close(code, reason)
            if number % _CLOSES_PER_TURN == 0:
                await asyncio.sleep(0)
        await self.all_closed()
        for handshake in self._handshakes.all():
            handshake.abort()
        await asyncio.gather(*self._attaching, return_exceptions=True)

    async def all_closed(self) -> None:
        """Wait until no socket is open."""
        await self._open.all_closed()

    def _accepted(self, sock: tcp_socket.socket, peer: str) -> None:
        handshake = HandshakeProtocol(self._handshake_deps, sock)
        self._handshakes.add(handshake, None if is_proxy(peer, self._options.rules) else address_key(peer))
        self.tally.handshakes_dropped = self._handshakes.dropped
        task = asyncio.get_running_loop().create_task(self._attach(sock, handshake))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    async def _attach(self, sock: tcp_socket.socket, handshake: HandshakeProtocol) -> None:
        """Make a transport of an accepted connection, including the TLS handshake.

        It is the event loop's own transport: that of aiofastnet, picows' default, misses resets on uvloop.
        """
        loop, options = asyncio.get_running_loop(), self._options
        limits = {} if options.tls is None else {"ssl_handshake_timeout": options.handshake_timeout_s}
        try:
            await loop.connect_accepted_socket(lambda: handshake, sock, ssl=options.tls, **limits)
        except OSError:
            # The TLS handshake failed or the peer hung up: not an error of this process.
            self._not_attached(sock, handshake)
        except Exception as error:  # noqa: BLE001 - a failure of the library ends only this connection
            self._open.report("a connection could not be set up", error)
            self._not_attached(sock, handshake)

    def _not_attached(self, sock: tcp_socket.socket, handshake: HandshakeProtocol) -> None:
        self.tally.handshakes_failed += 1
        sock.close()
        self._handshakes.discard(handshake)

    def _accept(self, transport: asyncio.Transport, upgrade: UpgradeRequest, rest: bytes) -> None:
        self._library.open(transport, self._open, upgrade, rest)

"""The listening TCP socket, with the options that accepted ones inherit from it; and the accepting itself."""

import asyncio
import errno
import socket as tcp_socket
from collections.abc import Callable, Collection, Iterable
from typing import Protocol, final

from tidings.gateway.transport.handshake import HandshakeProtocol, HandshakeTracker
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
from tidings.gateway.transport.socket_mixin import LastFrameCache, ListenerContext
from tidings.gateway.transport.upgrade import is_proxy
from tidings.kernel.errors import Code
from tidings.kernel.fair_shares import FairShares
from tidings.limits.rules import address_key

_ACCEPTS_PER_TURN = 64
_NO_MORE = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_RETRY_S = 0.5


def open_listening_socket(host: str, port: int, options: TcpOptions) -> tcp_socket.socket:
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
        # A peer that takes nothing for so long is gone, whatever its window says.
        "TCP_USER_TIMEOUT": options.unacknowledged_s * 1_000,
    }
    for name, value in wanted.items():
        if (option := getattr(tcp_socket, name, None)) is not None:
            made.setsockopt(tcp_socket.IPPROTO_TCP, option, value)


@final
class Acceptor:
    """Accept connections and pass them on with the address of their peer."""

    def __init__(self, sock: tcp_socket.socket, take: Callable[[tcp_socket.socket, str], None]) -> None:
        self._sock = sock
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        self._is_paused = True
        self.resume()

    def resume(self) -> None:
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
        """A bounded number, so that a storm of connections leaves the loop to those who are in."""
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
        """Out of file descriptors: the socket stays readable, so look away for a while instead of spinning."""
        if error.errno not in _NO_MORE:
            raise error
        self.pause()
        self._loop.call_later(_RETRY_S, self.resume)


_CLOSES_PER_TURN = 256


class TransportBackend(Protocol):
    """A WebSocket library. `attach` makes a transport of an accepted connection, TLS handshake included;
    `open` answers the upgrade and makes the transport a WebSocket.
    """

    async def attach(
        self, sock: tcp_socket.socket, make: Callable[[], HandshakeProtocol], options: ListenOptions
    ) -> None: ...
    def send_all(self, sockets: Iterable[Socket], data: bytes) -> None: ...
    def open(
        self, transport: asyncio.Transport, large_chats: ListenerContext, upgrade: UpgradeRequest, rest: bytes
    ) -> None: ...


@final
class WebSocketListener:
    """`report` is told of faults in what was given: receivers, admission."""

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
        self.options = options
        self.on_open = on_open
        self.admit = admit
        self.report = on_error
        self.tally = ListenerStats()
        self.last_frame = LastFrameCache()
        self._accepting: Acceptor | None = None
        self._port = options.port
        self._doors: HandshakeTracker[HandshakeProtocol] = HandshakeTracker(
            options.max_handshakes, options.max_handshakes_per_address
        )
        self._of_address: FairShares[str] = FairShares(options.max_connections_per_address)
        self._attaching: set[asyncio.Task[None]] = set()
        self._sockets: set[Socket] = set()
        self._emptied: asyncio.Event | None = None

    @property
    def port(self) -> int:
        return self._port

    @property
    def sockets(self) -> Collection[Socket]:
        return self._sockets

    @property
    def is_full(self) -> bool:
        return len(self._sockets) >= self.options.max_connections

    def has_room_for(self, address: str) -> bool:
        """Whether one address may have one more connection."""
        return self._of_address.held(address_key(address)) < self._of_address.each

    async def start(self) -> None:
        sock = open_listening_socket(self.options.host, self.options.port, self.options.tcp)
        self._port = sock.getsockname()[1]
        self._accepting = Acceptor(sock, self._accepted)

    def send_all(self, sockets: Iterable[Socket], data: bytes) -> None:
        self._library.send_all(sockets, data)

    def stop_accepting(self) -> None:
        if self._accepting is not None:
            self._accepting.close()
            self._accepting = None
        retry_after_ms = self.options.full_retry_ms[0]
        draining = UpgradeRefusal(
            503, Code.OVERLOADED, "This gateway is going away", retry_after_ms=retry_after_ms
        )
        for door in self._doors.all():
            door.refuse(draining)

    async def close(self, code: int, reason: str = "") -> None:
        self.stop_accepting()
        for number, socket in enumerate(list(self._sockets)):
            socket.close(code, reason)
            if number % _CLOSES_PER_TURN == 0:
                await asyncio.sleep(0)
        await self.all_closed()
        for door in self._doors.all():
            door.abort()
        await asyncio.gather(*self._attaching, return_exceptions=True)

    async def all_closed(self) -> None:
        if self._sockets:
            self._emptied = self._emptied or asyncio.Event()
            self._emptied.clear()
            await self._emptied.wait()

    def _accepted(self, sock: tcp_socket.socket, peer: str) -> None:
        door = HandshakeProtocol(self, sock)
        self._doors.add(door, None if is_proxy(peer, self.options.rules) else address_key(peer))
        self.tally.handshakes_dropped = self._doors.dropped
        task = asyncio.get_running_loop().create_task(self._attach(sock, door))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    async def _attach(self, sock: tcp_socket.socket, door: HandshakeProtocol) -> None:
        try:
            await self._library.attach(sock, lambda: door, self.options)
        except OSError:
            # A TLS handshake that failed, a peer that went away: its matter, not ours.
            self._not_attached(sock, door)
        except Exception as error:  # noqa: BLE001 - a fault of the library: told, and this connection ends
            self.report("a connection could not be set up", error)
            self._not_attached(sock, door)

    def _not_attached(self, sock: tcp_socket.socket, door: HandshakeProtocol) -> None:
        self.tally.handshakes_failed += 1
        sock.close()
        self.handshake_done(door)

    def accept(self, transport: asyncio.Transport, upgrade: UpgradeRequest, rest: bytes) -> None:
        self._library.open(transport, self, upgrade, rest)

    def spoke(self, door: HandshakeProtocol) -> None:
        self._doors.spoke(door)

    def handshake_done(self, door: HandshakeProtocol) -> None:
        self._doors.discard(door)

    def opened(self, socket: Socket) -> None:
        self.tally.opened += 1
        self._sockets.add(socket)
        self._of_address.count(address_key(socket.upgrade.client))

    def closed(self, socket: Socket) -> None:
        self.tally.closed += 1
        self._sockets.discard(socket)
        self._of_address.release(address_key(socket.upgrade.client))
        if self._emptied is not None and not self._sockets:
            self._emptied.set()

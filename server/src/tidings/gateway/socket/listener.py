"""A listener: accepts, leads through the door, keeps the open connections, and closes them in the end.

The same for every library; a `TransportBackend` is what differs.
"""

import asyncio
import socket as tcp_socket
from collections.abc import Callable, Collection, Iterable
from typing import Protocol, final

from tidings.gateway.shares import FairShares
from tidings.gateway.socket.conduct import ListenerContext
from tidings.gateway.socket.door import HandshakeProtocol
from tidings.gateway.socket.forwarded import is_proxy
from tidings.gateway.socket.frames import LastFrameCache
from tidings.gateway.socket.handshakes import HandshakeTracker
from tidings.gateway.socket.options import ListenOptions
from tidings.gateway.socket.ports import (
    AdmissionCheck,
    ErrorReporter,
    ListenerStats,
    OnOpen,
    Socket,
    UpgradeRefusal,
    UpgradeRequest,
    admit_all,
)
from tidings.gateway.socket.tcp import Acceptor, open_listening_socket
from tidings.kernel.errors import Code
from tidings.limits.rules import address_key

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

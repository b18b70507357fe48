"""A listener: accepts, leads through the door, keeps the open connections, and closes them in the end.

The same for every library; a `Library` is what differs.
"""

import asyncio
import socket as tcp_socket
from collections.abc import Callable, Collection, Iterable
from typing import Protocol, final

from tidings.gateway.shares import Shares
from tidings.gateway.socket.conduct import Rooms
from tidings.gateway.socket.door import Door
from tidings.gateway.socket.forwarded import is_proxy
from tidings.gateway.socket.frames import LastFrame
from tidings.gateway.socket.handshakes import Handshakes
from tidings.gateway.socket.options import ListenOptions
from tidings.gateway.socket.ports import Admit, OnOpen, Refusal, Report, Socket, Tally, Upgrade, admit_all
from tidings.gateway.socket.tcp import Accepting, listening
from tidings.kernel.errors import Code
from tidings.limits.rules import place_of

_CLOSES_PER_TURN = 256


class Library(Protocol):
    """A WebSocket library. `attach` makes a transport of an accepted connection, TLS handshake included;
    `open` answers the upgrade and makes the transport a WebSocket.
    """

    async def attach(
        self, sock: tcp_socket.socket, make: Callable[[], Door], options: ListenOptions
    ) -> None: ...
    def send_all(self, sockets: Iterable[Socket], data: bytes) -> None: ...
    def open(self, transport: asyncio.Transport, rooms: Rooms, upgrade: Upgrade, rest: bytes) -> None: ...


@final
class SocketListener:
    """`report` is told of faults in what was given: receivers, admission."""

    def __init__(
        self,
        library: Library,
        options: ListenOptions,
        on_open: OnOpen,
        *,
        report: Report,
        admit: Admit = admit_all,
    ) -> None:
        self._library = library
        self.options = options
        self.on_open = on_open
        self.admit = admit
        self.report = report
        self.tally = Tally()
        self.last_frame = LastFrame()
        self._accepting: Accepting | None = None
        self._port = options.port
        self._doors: Handshakes[Door] = Handshakes(options.max_handshakes, options.max_handshakes_per_address)
        self._of_address: Shares[str] = Shares(options.max_connections_per_address)
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
        return self._of_address.held(place_of(address)) < self._of_address.each

    async def start(self) -> None:
        sock = listening(self.options.host, self.options.port, self.options.tcp)
        self._port = sock.getsockname()[1]
        self._accepting = Accepting(sock, self._accepted)

    def send_all(self, sockets: Iterable[Socket], data: bytes) -> None:
        self._library.send_all(sockets, data)

    def stop_accepting(self) -> None:
        if self._accepting is not None:
            self._accepting.close()
            self._accepting = None
        retry_after_ms = self.options.full_retry_ms[0]
        draining = Refusal(503, Code.OVERLOADED, "This gateway is going away", retry_after_ms=retry_after_ms)
        for door in self._doors.all():
            door.turn_away(draining)

    async def close(self, code: int, reason: str = "") -> None:
        self.stop_accepting()
        for number, socket in enumerate(list(self._sockets)):
            socket.close(code, reason)
            if number % _CLOSES_PER_TURN == 0:
                await asyncio.sleep(0)
        await self.all_gone()
        for door in self._doors.all():
            door.abort()
        await asyncio.gather(*self._attaching, return_exceptions=True)

    async def all_gone(self) -> None:
        if self._sockets:
            self._emptied = self._emptied or asyncio.Event()
            self._emptied.clear()
            await self._emptied.wait()

    def _accepted(self, sock: tcp_socket.socket, peer: str) -> None:
        door = Door(self, sock)
        self._doors.add(door, None if is_proxy(peer, self.options.rules) else place_of(peer))
        self.tally.handshakes_dropped = self._doors.dropped
        task = asyncio.get_running_loop().create_task(self._attach(sock, door))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    async def _attach(self, sock: tcp_socket.socket, door: Door) -> None:
        try:
            await self._library.attach(sock, lambda: door, self.options)
        except OSError:
            # A TLS handshake that failed, a peer that went away: its matter, not ours.
            self._not_attached(sock, door)
        except Exception as error:  # noqa: BLE001 - a fault of the library: told, and this connection ends
            self.report("a connection could not be set up", error)
            self._not_attached(sock, door)

    def _not_attached(self, sock: tcp_socket.socket, door: Door) -> None:
        self.tally.handshakes_failed += 1
        sock.close()
        self.left_the_door(door)

    def take_in(self, transport: asyncio.Transport, upgrade: Upgrade, rest: bytes) -> None:
        self._library.open(transport, self, upgrade, rest)

    def spoke(self, door: Door) -> None:
        self._doors.spoke(door)

    def left_the_door(self, door: Door) -> None:
        self._doors.discard(door)

    def came_in(self, socket: Socket) -> None:
        self.tally.opened += 1
        self._sockets.add(socket)
        self._of_address.count(place_of(socket.upgrade.client))

    def went_out(self, socket: Socket) -> None:
        self.tally.closed += 1
        self._sockets.discard(socket)
        self._of_address.give_back(place_of(socket.upgrade.client))
        if self._emptied is not None and not self._sockets:
            self._emptied.set()

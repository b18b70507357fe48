"""A proxy in front of any TCP server, into which a test injects faults; used for Kafka and Redis.

Kafka clients connect to the address that the broker advertises, so the broker must advertise the proxy's port.
"""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, final

from faults.proxy.event_log import ProxyEventLog
from faults.proxy.loop_thread import LoopThread
from faults.proxy.reply import close
from faults.proxy.tcp_conditions import TcpConditions, TcpFlow
from faults.proxy.tcp_faults import Blackhole, Direction, TcpFault
from faults.proxy.tcp_link import Link, Streams


@final
class TcpProxy:
    """Use it as `with TcpProxy("127.0.0.1", 6379) as proxy:` and connect clients to `proxy.port`. Thread-safe.

    The upstream server may start later. `listen_port=0` selects a free port, which stays reserved to the end.
    """

    def __init__(self, upstream_host: str, upstream_port: int, listen_port: int = 0) -> None:
        self._upstream = (upstream_host, upstream_port)
        self._board = ProxyEventLog()
        self._links: set[Link] = set()
        self._installed: list[InstalledTcpFault] = []
        self._server: asyncio.Server | None = None
        self._accepted = 0
        self._claim = _claim(listen_port)
        self.port: int = self._claim.getsockname()[1]
        self._weather = TcpConditions(self._board)
        self._loop_thread = LoopThread("tcp-proxy")
        self._loop_thread.call(self._follow())

    def fault(self, fault: TcpFault) -> "InstalledTcpFault":
        """Inject a fault. It applies to all connections when this returns, until `remove` or the end of `with`."""
        installed = InstalledTcpFault(fault, self)
        self._loop_thread.call(self._install(installed))
        return installed

    def remove(self, installed: "InstalledTcpFault") -> None:
        self._loop_thread.call(self._remove(installed))

    def cut(self, *, reset: bool = False) -> int:
        """Close all connections on both sides, with FIN or RST. Return their number."""
        return self._loop_thread.call(self._cut(reset=reset))

    @property
    def connections(self) -> int:
        """Return the number of open connections."""
        with self._board.reading:
            return len(self._links)

    @property
    def accepted(self) -> int:
        """Return the number of connections accepted so far."""
        with self._board.reading:
            return self._accepted

    def flow(self, way: Direction) -> TcpFlow:
        with self._board.reading:
            return replace(self._weather.flows[way])

    def wait_until(self, condition: Callable[[], bool], *, timeout_s: float = 60) -> None:
        """Wait for a condition on state that the proxy records: connections, bytes."""
        self._board.wait(condition, timeout_s=timeout_s, what=f"the condition; {self._weather.flows}")

    async def until(self, condition: Callable[[], bool], *, timeout_s: float = 60) -> None:
        """Wait as `wait_until` does, without blocking the event loop of the test."""
        await asyncio.to_thread(self.wait_until, condition, timeout_s=timeout_s)

    def stop(self) -> None:
        """Reset all connections. Raises the errors of the proxy's thread."""
        if not self._loop_thread.loop.is_closed():
            self._loop_thread.call(self._shut())
        self._loop_thread.stop()
        self._claim.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _install(self, installed: "InstalledTcpFault") -> None:
        self._installed.append(installed)
        await self._follow()

    async def _remove(self, installed: "InstalledTcpFault") -> None:
        if installed not in self._installed:
            return
        self._installed.remove(installed)
        if isinstance(installed.fault, Blackhole):
            for link in self._links:
                link.leave_blackhole()
        await self._follow()

    async def _follow(self) -> None:
        self._weather.set([installed.fault for installed in self._installed])
        if self._weather.refuses and self._server is not None:
            await _stop_listening(self._server)
            self._server = None
        elif not self._weather.refuses and self._server is None:
            serve = self._loop_thread.serving(self._serve)
            self._server = await asyncio.start_server(serve, sock=_listener(self.port), backlog=1024)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream = await asyncio.open_connection(*self._upstream)
            await self._join((reader, writer), upstream)
        except OSError:
            close(writer, reset=True)
        finally:
            writer.close()

    async def _join(self, client: Streams, upstream: Streams) -> None:
        link = Link(client, upstream, self._weather)
        with self._board:
            self._links.add(link)
            self._accepted += 1
        try:
            await link.run()
        finally:
            with self._board:
                self._links.discard(link)

    async def _cut(self, *, reset: bool) -> int:
        with self._board:
            cut = tuple(self._links)
            self._links.clear()
        for link in cut:
            link.cut(reset=reset)
        return len(cut)

    async def _shut(self) -> None:
        if self._server is not None:
            await _stop_listening(self._server)
        await self._cut(reset=True)


@dataclass(frozen=True, slots=True, eq=False)
class InstalledTcpFault:
    """An active fault. As a context manager it is removed at the end. Removing it twice is harmless."""

    fault: TcpFault
    proxy: TcpProxy

    def remove(self) -> None:
        self.proxy.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


async def _stop_listening(server: asyncio.Server) -> None:
    """Stop accepting, wait until asyncio has passed on the connections that it accepted, and close the server.

    `close` alone would leave such a connection open.
    """
    for sock in server.sockets:
        asyncio.get_running_loop().remove_reader(sock.fileno())
    await asyncio.sleep(0)
    server.close()


def _claim(port: int) -> socket.socket:
    """Reserve the port without listening, so that no other process takes it while connections are refused."""
    with socket.create_server(("127.0.0.1", port)) as probe:  # fails if another process listens on the port
        free_port = probe.getsockname()[1]
    return _bind(free_port)


def _listener(port: int) -> socket.socket:
    # SO_REUSEADDR lets the next proxy use the port while connections that were closed from here are in TIME_WAIT.
    return _bind(port, socket.SO_REUSEADDR)


def _bind(port: int, *options: int) -> socket.socket:
    """Bind a socket. SO_REUSEPORT lets the reserving socket and the listener coexist; other processes cannot bind."""
    sock = socket.socket()
    for option in (socket.SO_REUSEPORT, *options):
        sock.setsockopt(socket.SOL_SOCKET, option, 1)
    sock.bind(("127.0.0.1", port))
    return sock

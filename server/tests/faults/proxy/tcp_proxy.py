"""A proxy in front of any TCP server, with faults that a test puts in and takes out: for Kafka and Redis.

Kafka's clients go where the broker tells them to, so let the broker advertise this proxy's port.
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
    """`with TcpProxy("127.0.0.1", 6379) as proxy:` and give clients `proxy.port`. Thread-safe.

    The upstream need not be there yet. `listen_port=0` takes a free port, and keeps it to the end.
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
        """Put a fault in; it holds for all connections when this returns, until `remove` or the end of `with`."""
        installed = InstalledTcpFault(fault, self)
        self._loop_thread.call(self._install(installed))
        return installed

    def remove(self, installed: "InstalledTcpFault") -> None:
        self._loop_thread.call(self._remove(installed))

    def cut(self, *, reset: bool = False) -> int:
        """End every connection on both sides, with FIN or RST; returns how many."""
        return self._loop_thread.call(self._cut(reset=reset))

    @property
    def connections(self) -> int:
        """How many are open now."""
        with self._board.reading:
            return len(self._links)

    @property
    def accepted(self) -> int:
        """How many were made so far."""
        with self._board.reading:
            return self._accepted

    def flow(self, way: Direction) -> TcpFlow:
        with self._board.reading:
            return replace(self._weather.flows[way])

    def wait_until(self, condition: Callable[[], bool], *, timeout_s: float = 60) -> None:
        """Wait for something that the proxy notes: connections, bytes."""
        self._board.wait(condition, timeout_s=timeout_s, what=f"the condition; {self._weather.flows}")

    async def until(self, condition: Callable[[], bool], *, timeout_s: float = 60) -> None:
        """`wait_until` for tests whose own loop has to bring it about."""
        await asyncio.to_thread(self.wait_until, condition, timeout_s=timeout_s)

    def stop(self) -> None:
        """Reset everything. Raises what failed in the proxy's thread."""
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
    """As a context manager it is removed at the end. Twice is harmless."""

    fault: TcpFault
    proxy: TcpProxy

    def remove(self) -> None:
        self.proxy.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


async def _stop_listening(server: asyncio.Server) -> None:
    """A connection that asyncio has accepted and not yet handed over would be left unclosed by `close` alone."""
    for sock in server.sockets:
        asyncio.get_running_loop().remove_reader(sock.fileno())
    await asyncio.sleep(0)
    server.close()


def _claim(port: int) -> socket.socket:
    """Holds the port without listening, so that nobody else gets it while connections are refused."""
    with socket.create_server(("127.0.0.1", port)) as probe:  # fails if somebody else listens there
        free_port = probe.getsockname()[1]
    return _bind(free_port)


def _listener(port: int) -> socket.socket:
    # where connections linger that were closed from here: SO_REUSEADDR lets the next proxy have the port
    return _bind(port, socket.SO_REUSEADDR)


def _bind(port: int, *options: int) -> socket.socket:
    """SO_REUSEPORT lets the claim and the listener stand side by side; others are kept out by the claim."""
    sock = socket.socket()
    for option in (socket.SO_REUSEPORT, *options):
        sock.setsockopt(socket.SOL_SOCKET, option, 1)
    sock.bind(("127.0.0.1", port))
    return sock

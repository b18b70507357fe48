"""The servers that `bench.gateway` measures. Each echoes, pushes one frame to all on command, and reports its figures."""

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import picows
import uvloop
from websockets.asyncio.server import ServerConnection, broadcast, serve

from tidings.gateway.transport.listener import WebSocketListener
from tidings.gateway.transport.ports import ListenOptions, Socket, UpgradeRequest, UpgradeRules
from tidings.gateway.transport.websockets_transport import BackendName, load_backend

PUSH = b'{"push":{"chat":"01JCQ","sequence":42,"from":"u1","text":"' + b"x" * 140 + b'"}}'
PATH = "/v1/socket"


class Server(Protocol):
    async def start(self) -> int:
        """Start the server and return its port."""
        ...

    def push(self) -> None: ...
    def count(self) -> int: ...


class Port:
    def __init__(self, name: BackendName) -> None:
        options = ListenOptions(
            rules=UpgradeRules(path=PATH),
            max_connections_per_address=50_000,
            max_handshakes_per_address=1_000,
        )
        self._library = load_backend(name)
        self._listener = WebSocketListener(self._library, options, _Echo, on_error=_report)

    async def start(self) -> int:
        await self._listener.start()
        return self._listener.port

    def push(self) -> None:
        self._library.send_all(self._listener.sockets, PUSH)

    def count(self) -> int:
        return len(self._listener.sockets)


class _Echo:
    __slots__ = ("_socket",)

    def __init__(self, socket: Socket, _: UpgradeRequest) -> None:
        self._socket = socket

    def on_message(self, data: bytes) -> None:
        self._socket.send(data)

    def on_part(self) -> None: ...

    def on_close(self, code: int) -> None:
        pass


class BarePicows:
    """picows as in its README. It copies the payload, which any code that keeps it must do."""

    def __init__(self) -> None:
        self._open: set[picows.WSTransport] = set()

    async def start(self) -> int:
        opened = self._open

        class Listener(picows.WSListener):
            def on_ws_connected(self, transport: picows.WSTransport) -> None:
                opened.add(transport)

            def on_ws_disconnected(self, transport: picows.WSTransport) -> None:
                opened.discard(transport)

            def on_ws_frame(self, transport: picows.WSTransport, frame: picows.WSFrame) -> None:
                if frame.msg_type == picows.WSMsgType.TEXT:
                    transport.send(picows.WSMsgType.TEXT, frame.get_payload_as_bytes())

        self._server = await picows.ws_create_server(
            lambda _: Listener(), "127.0.0.1", 0, backlog=4_096, max_frame_size=65_536
        )
        return int(self._server.sockets[0].getsockname()[1])

    def push(self) -> None:
        for transport in self._open:
            transport.send(picows.WSMsgType.TEXT, PUSH)

    def count(self) -> int:
        return len(self._open)


class BareWebsockets:
    """websockets with its own `serve` and `broadcast`."""

    async def start(self) -> int:
        async def echo(connection: ServerConnection) -> None:
            async for message in connection:
                await connection.send(message)

        logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
        self._server = await serve(echo, "127.0.0.1", 0, compression=None, ping_interval=None, backlog=4_096)
        return int(next(iter(self._server.sockets)).getsockname()[1])

    def push(self) -> None:
        broadcast(self._server.connections, PUSH.decode())

    def count(self) -> int:
        return len(self._server.connections)


def _report(what: str, error: BaseException) -> None:
    sys.stderr.write(f"{what}: {error!r}\n")


def resident_kb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4.0


async def _serve(pipe: Connection, server: Server) -> None:
    """Execute commands one at a time. The event loop signals when the pipe has data."""
    asked: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
    asyncio.get_running_loop().add_reader(pipe.fileno(), lambda: asked.put_nowait(pipe.recv()))
    port = await server.start()
    before = grown = (0.0, 0.0)
    while True:
        match await asked.get():
            case ("port",):
                pipe.send(port)
            case ("memory",):
                before = (resident_kb(), time.process_time())
                pipe.send(None)
            case ("opened", count, _):
                await _until(partial(_has, server, count))
                grown = (resident_kb() - before[0], time.process_time() - before[1])
                pipe.send(None)
            case ("grown",):
                pipe.send(grown)
            case ("cpu",):
                pipe.send(time.process_time())
            case ("push",):
                server.push()
                pipe.send(None)


def _has(server: Server, count: int) -> bool:
    return server.count() == count


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - the plain libraries have no event for it
        await asyncio.sleep(0.02)


def _run(pipe: Connection, server: Callable[[], Server]) -> None:
    uvloop.run(_serve(pipe, server()))


def ours(pipe: Connection) -> None:
    _run(pipe, lambda: Port("picows"))


def bare(pipe: Connection) -> None:
    _run(pipe, BarePicows)


def ours_websockets(pipe: Connection) -> None:
    _run(pipe, lambda: Port("websockets"))


def bare_websockets(pipe: Connection) -> None:
    _run(pipe, BareWebsockets)


SERVERS: dict[str, Callable[[Connection], None]] = {
    "picows behind the port": ours,
    "bare picows": bare,
    "websockets behind the port": ours_websockets,
    "bare websockets": bare_websockets,
    "bare picows again": bare,
}

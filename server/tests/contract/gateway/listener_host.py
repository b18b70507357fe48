"""A listener on one of the libraries, with message handlers that record what they receive."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tidings.gateway.transport.listener import TransportBackend, WebSocketListener
from tidings.gateway.transport.ports import (
    AdmissionCheck,
    ListenOptions,
    Socket,
    SocketCloseCode,
    UpgradeRequest,
    admit_all,
)
from tidings.gateway.transport.websockets_transport import BackendName, load_backend

TOO_FAST = 4004


@dataclass
class HostedConnection:
    """One connection. It echoes each message unless `on_text` is set."""

    socket: Socket
    upgrade: UpgradeRequest
    on_text: Callable[["HostedConnection", bytes], None] | None = None
    messages: list[bytes] = field(default_factory=list)
    closes: list[int] = field(default_factory=list)
    parts: int = 0
    most_parts: int = -1

    def on_message(self, data: bytes) -> None:
        self.messages.append(data)
        if self.on_text is None:
            self.socket.send(data)
        else:
            self.on_text(self, data)

    def on_part(self) -> None:
        self.parts += 1
        if self.parts == self.most_parts:
            self.socket.close(TOO_FAST)

    def on_close(self, code: int) -> None:
        self.closes.append(code)


@dataclass
class HostedListener:
    listener: WebSocketListener
    library: TransportBackend
    connections: list[HostedConnection] = field(default_factory=list)
    faults: list[tuple[str, BaseException]] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.listener.port

    @property
    def connection(self) -> HostedConnection:
        """The only connection so far."""
        assert len(self.connections) == 1
        return self.connections[0]


MANY_CLIENTS = ListenOptions(
    close_timeout_s=1.0, max_connections_per_address=5_000, max_handshakes_per_address=1_000
)
"""Limits for tests whose clients all connect from one address."""


@asynccontextmanager
async def hosted(
    name: BackendName,
    options: ListenOptions | None = None,
    *,
    admit: AdmissionCheck = admit_all,
    on_text: Callable[[HostedConnection, bytes], None] | None = None,
) -> AsyncIterator[HostedListener]:
    """Run a listener. A reported fault fails the test, unless the test that provokes it empties `faults`."""

    def on_open(socket: Socket, upgrade: UpgradeRequest) -> HostedConnection:
        host.connections.append(HostedConnection(socket, upgrade, on_text))
        return host.connections[-1]

    def report(what: str, error: BaseException) -> None:
        host.faults.append((what, error))

    options = options or MANY_CLIENTS
    library = load_backend(name)
    listener = WebSocketListener(library, options, on_open, on_error=report, admit=admit)
    host = HostedListener(listener, library)
    await listener.start()
    try:
        yield host
    finally:
        await listener.close(SocketCloseCode.GOING_AWAY)
    assert host.faults == []
    assert len(listener.sockets) == 0
    assert [connection for connection in host.connections if len(connection.closes) != 1] == [], (
        "every connection is closed once"
    )

"""The interface between the gateway and a WebSocket library. No library is imported here."""

import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, Protocol

from tidings.kernel.errors import Code
from tidings.kernel.security import NO_ORIGINS, AllowedOrigins, UntrustedProxyDetector


class SocketCloseCode(IntEnum):
    """The codes of RFC 6455 that the transport itself sends or reports."""

    NORMAL = 1000
    GOING_AWAY = 1001
    PROTOCOL_ERROR = 1002
    UNSUPPORTED = 1003
    NONE_GIVEN = 1005
    ABNORMAL = 1006
    INVALID_TEXT = 1007
    TOO_BIG = 1009
    INTERNAL = 1011
    TRY_AGAIN_LATER = 1013


@dataclass(frozen=True, slots=True)
class UpgradeRequest:
    """A checked upgrade request. `client` is the address of the client, also behind trusted proxies."""

    path: str
    client: str
    origin: str | None
    subprotocol: str | None
    key: str
    extensions: str | None
    user_agent: str | None


@dataclass(frozen=True, slots=True)
class UpgradeRefusal:
    """The HTTP answer to a refused upgrade. `retry_after_ms` is in the body and, rounded up, in a header."""

    status: int
    code: Code
    title: str
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after_ms: int | None = None


class Socket(Protocol):
    """One open connection."""

    @property
    def upgrade(self) -> UpgradeRequest: ...

    @property
    def received_at(self) -> float:
        """When the last frame of any kind arrived, in seconds of `time.monotonic`, to find half-open connections.

        Frames since the last access count as of this one, so read it every few seconds.
        """
        ...

    @property
    def buffered_bytes(self) -> int:
        """Bytes that were sent and that the kernel has not accepted yet."""
        ...

    def send(self, data: bytes) -> None:
        """Send one text message, encoded as UTF-8. Never blocks, and keeps the order.

        Pass the same object for all receivers of a push, so that they share it. If more than the limit is buffered,
        the connection is closed as a slow consumer. After a close nothing is sent: the device resumes.
        """
        ...

    def close(self, code: int, reason: str = "") -> None:
        """Send a close frame, wait for the peer's, then close the connection. Only the first close has an effect."""
        ...

    def abort(self) -> None:
        """Close the connection at once, without a close frame."""
        ...


class MessageHandler(Protocol):
    """Receives the messages of one connection. Called on the event loop; must not block.

    An exception from `on_message` is reported and closes the connection with 1011.
    """

    def on_message(self, data: bytes) -> None:
        """Handle a complete text message: valid UTF-8, within the size limit."""
        ...

    def on_part(self) -> None:
        """Handle a frame that completes no message: a ping, a pong, or a fragment other than the last."""
        ...

    def on_close(self, code: int) -> None:
        """Handle the end; called once, last. `code` is that of the side that closed first (1005: none), else 1006."""
        ...


type OnOpen = Callable[[Socket, UpgradeRequest], MessageHandler]
type AdmissionResult = UpgradeRefusal | None
type AdmissionCheck = Callable[[UpgradeRequest], AdmissionResult | Awaitable[AdmissionResult]]
type ErrorReporter = Callable[[str, BaseException], None]


def admit_all(_: UpgradeRequest) -> AdmissionResult:
    return None


@dataclass(slots=True)
class ListenerStats:
    """Counters since the start, which metrics read."""

    opened: int = 0
    closed: int = 0
    refused: dict[int, int] = field(default_factory=dict)
    handshakes_failed: int = 0
    handshakes_dropped: int = 0
    too_slow: int = 0
    receiver_faults: int = 0

    def refuse(self, status: int) -> None:
        self.refused[status] = self.refused.get(status, 0) + 1


type Network = ipaddress.IPv4Network | ipaddress.IPv6Network
type ForwardedBy = Literal["x-forwarded-for", "forwarded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeRules:
    """Rules for upgrades. Only one forwarding header is trusted: proxies rarely remove the one that they do not write."""

    path: str = "/v1/socket"
    origins: AllowedOrigins = NO_ORIGINS
    allow_missing_origin: bool = True
    subprotocols: tuple[str, ...] = ()
    trusted_proxies: tuple[Network, ...] = ()
    forwarded_by: ForwardedBy = "x-forwarded-for"
    max_head_bytes: int = 8_192
    max_headers: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpOptions:
    """Options of the listening socket, which accepted sockets inherit.

    Small kernel buffers make the other limits effective. With the kernel's defaults, it buffers megabytes for a peer
    that reads nothing, and picows' read buffer grows permanently to twice what the kernel passes at once.
    """

    reuse_port: bool = False
    backlog: int = 4_096
    send_buffer_bytes: int = 65_536
    receive_buffer_bytes: int = 16_384
    keepalive_idle_s: int = 60
    keepalive_every_s: int = 15
    keepalive_probes: int = 4
    unacknowledged_s: int = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOptions:
    """Options of one listener."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None
    rules: UpgradeRules = field(default_factory=UpgradeRules)
    tcp: TcpOptions = field(default_factory=TcpOptions)
    max_message_bytes: int = 65_536
    max_send_buffer_bytes: int = 262_144
    slow_close_code: int = SocketCloseCode.TRY_AGAIN_LATER
    slow_close_reason: str = "too slow: reconnect and resume"
    max_connections: int = 50_000
    max_connections_per_address: int = 200
    max_handshakes: int = 1_000
    max_handshakes_per_address: int = 32
    handshake_timeout_s: float = 5.0
    close_timeout_s: float = 5.0
    full_retry_ms: tuple[int, int] = (5_000, 15_000)
    compresses: bool = False
    unnamed_proxy: UntrustedProxyDetector | None = None

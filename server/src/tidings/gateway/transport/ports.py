"""What the gateway asks of a WebSocket library, and what it hears from it. No library appears here."""

import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, Protocol

from tidings.kernel.errors import Code
from tidings.kernel.security import NO_ORIGINS, AllowedOrigins, UntrustedProxyDetector


class SocketCloseCode(IntEnum):
    """The codes of RFC 6455 that the transport itself gives or reports."""

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
    """The request that a connection began with, after every check. `client` is where it really came from."""

    path: str
    client: str
    origin: str | None
    subprotocol: str | None
    key: str
    extensions: str | None
    user_agent: str | None


@dataclass(frozen=True, slots=True)
class UpgradeRefusal:
    """Why there is no upgrade: an HTTP answer. `retry_after_ms` is told in the body, and rounded up in a header."""

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
        """When the peer was last heard, a frame of any kind, in seconds of `time.monotonic`: for finding half-open
        ones. What came since the last look counts as of this one, so look every few seconds.
        """
        ...

    @property
    def buffered_bytes(self) -> int:
        """What was sent and the kernel has not taken yet."""
        ...

    def send(self, data: bytes) -> None:
        """One text message, UTF-8. Never waits, keeps the order, copies nothing that is worth sharing: give all
        receivers of a push the same object. More than the bound waiting closes the connection with the code for
        slow consumers. After a close, or once the peer is gone, nothing happens: the device resumes.
        """
        ...

    def close(self, code: int, reason: str = "") -> None:
        """Say it, wait a little for the peer to say it too, then hang up. The first close counts."""
        ...

    def abort(self) -> None:
        """Hang up now, with nothing said."""
        ...


class MessageHandler(Protocol):
    """One connection as the gateway's other half sees it. Called on the loop; must not block.

    An exception that leaves `on_message` is reported and closes the connection with 1011.
    """

    def on_message(self, data: bytes) -> None:
        """A whole text message, valid UTF-8, within the bound."""
        ...

    def on_part(self) -> None:
        """A frame that is no message by itself: a ping, a pong, or a fragment that is not the last one."""
        ...

    def on_close(self, code: int) -> None:
        """Once, last. The peer's code if it closed first (1005: none given), ours if we did, else 1006."""
        ...


type OnOpen = Callable[[Socket, UpgradeRequest], MessageHandler]
type AdmissionResult = UpgradeRefusal | None
type AdmissionCheck = Callable[[UpgradeRequest], AdmissionResult | Awaitable[AdmissionResult]]
type ErrorReporter = Callable[[str, BaseException], None]


def admit_all(_: UpgradeRequest) -> AdmissionResult:
    return None


@dataclass(slots=True)
class ListenerStats:
    """What happened since the start, for metrics to read."""

    opened: int = 0
    closed: int = 0
    refused: dict[int, int] = field(default_factory=dict)
    handshakes_failed: int = 0
    handshakes_dropped: int = 0
    too_slow: int = 0
    receiver_faults: int = 0

    def refuse(self, status: int) -> None:
        self.refused[status] = self.refused.get(status, 0) + 1


class Listener(Protocol):
    """Accepts connections on one address."""

    @property
    def port(self) -> int: ...

    @property
    def sockets(self) -> Collection[Socket]:
        """Those that are open, or closing."""
        ...

    @property
    def tally(self) -> ListenerStats: ...

    async def start(self) -> None: ...

    def send_all(self, sockets: Iterable[Socket], data: bytes) -> None:
        """The same message to each of them, which must be of this listener: `send`, in the quickest way."""
        ...

    def stop_accepting(self) -> None:
        """Nobody gets in any more, not even those at the door. Who is in stays."""
        ...

    async def all_closed(self) -> None:
        """Waits until no connection is open."""
        ...

    async def close(self, code: int, reason: str = "") -> None:
        """Stop accepting, close every connection, return when the last one is gone; within the linger time."""
        ...


type Network = ipaddress.IPv4Network | ipaddress.IPv6Network
type ForwardedBy = Literal["x-forwarded-for", "forwarded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeRules:
    """Who may upgrade. Only one forwarding header is believed: a proxy rarely cleans the one it does not write."""

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
    """Of the listening socket; accepted ones inherit them. Small kernel buffers keep the bounds honest: left alone,
    the kernel takes megabytes for a peer that reads nothing, and picows' read buffer grows to twice what the kernel
    hands it at once, for good.
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
    """Everything about one listener."""

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

"""What can be chosen about listening. Values come from the settings; nothing here reads them."""

import ipaddress
import ssl
from dataclasses import dataclass, field
from typing import Literal

from tidings.gateway.socket.ports import SocketCloseCode
from tidings.kernel.origins import NO_ORIGINS, AllowedOrigins
from tidings.kernel.proxies import UntrustedProxyDetector

type Network = ipaddress.IPv4Network | ipaddress.IPv6Network
type ForwardedBy = Literal["x-forwarded-for", "forwarded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeRules:
    """Who may upgrade. Only one forwarding header is believed: a proxy rarely cleans the one it does not write."""

    path: str = "/v1/socket"
    origins: AllowedOrigins = NO_ORIGINS
    allows_no_origin: bool = True
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

    shares_port: bool = False
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
    send_bound_bytes: int = 262_144
    slow_close_code: int = SocketCloseCode.TRY_AGAIN_LATER
    slow_close_reason: str = "too slow: reconnect and resume"
    max_connections: int = 50_000
    max_connections_per_address: int = 200
    max_handshakes: int = 1_000
    max_handshakes_per_address: int = 32
    handshake_s: float = 5.0
    linger_s: float = 5.0
    full_retry_ms: tuple[int, int] = (5_000, 15_000)
    compresses: bool = False
    unnamed_proxy: UntrustedProxyDetector | None = None

"""Settings of the WebSocket edge, `tidings run gateway`: who may connect, and what a connection may take."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

Port = Annotated[int, Meta(ge=0, le=65535)]
Bytes = Annotated[int, Meta(ge=1_024)]
Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]


class GatewaySettings(Struct, frozen=True, kw_only=True):
    """The WebSocket edge, `tidings run gateway`."""

    host: Annotated[str, Meta(description="Where it listens; `::` for IPv4 and IPv6.", min_length=1)] = (
        "127.0.0.1"
    )
    port: Annotated[Port, Meta(description="0: any free one, named in the log.")] = 8081
    reuse_port: Annotated[
        bool,
        Meta(
            description="Several processes listen on one port (SO_REUSEPORT). `--processes` sets it by itself."
        ),
    ] = False
    path: Annotated[str, Meta(description="Where the socket is.", pattern=r"^/\S*$")] = "/v1/socket"
    socket_library: Annotated[
        Literal["picows", "websockets"],
        Meta(description="What carries the WebSockets: `picows` is quicker, `websockets` can compress."),
    ] = "picows"
    compression: Annotated[
        Literal["off", "deflate"],
        Meta(description="`deflate`: for devices that offer it, at much CPU; with `websockets` only."),
    ] = "off"
    allowed_origins: Annotated[
        str | None,
        Meta(
            description="Origins of web pages that may connect, exactly as browsers send them "
            "(https://app.example), several with commas. `http://localhost:*` and `http://127.0.0.1:*` allow every "
            "port of this machine. Unset: no web page."
        ),
    ] = None
    allow_missing_origin: Annotated[
        bool, Meta(description="Whoever sends no origin may connect: apps and servers do not, browsers do.")
    ] = True
    trusted_proxies: Annotated[
        str | None,
        Meta(
            description="Addresses or networks, with commas, whose `forwarded_by` is believed. Unset or `none`: nobody's."
        ),
    ] = None
    forwarded_by: Annotated[
        Literal["x-forwarded-for", "forwarded"],
        Meta(
            description="The one header in which they say for whom they forward; the other is never looked at."
        ),
    ] = "x-forwarded-for"
    tls_certificate: Annotated[
        Path | None, Meta(description="Chain in PEM. Unset: no TLS, which is then the load balancer's.")
    ] = None
    tls_key: Annotated[Path | None, Meta(description="Its key in PEM, if it is not in the same file.")] = None
    max_frame_bytes: Annotated[
        Bytes, Meta(description="A longer message from a device closes its connection.")
    ] = 65_536
    max_send_buffer_bytes: Annotated[
        Bytes,
        Meta(
            description="What may wait for a slow device, beside `kernel_send_bytes`; then it is told to reconnect."
        ),
    ] = 262_144
    kernel_send_bytes: Annotated[Bytes, Meta(description="The kernel's send buffer per connection.")] = 65_536
    kernel_receive_bytes: Annotated[
        Bytes,
        Meta(description="The kernel's receive buffer per connection; four times as much is held at most."),
    ] = 16_384
    max_connections: Annotated[
        Count, Meta(description="Open ones; more are refused. Needs as many open files, and 1,500.")
    ] = 50_000
    max_connections_per_address: Annotated[
        Count,
        Meta(
            description="Open connections from one IPv4 address or IPv6 /64; more receive 503. Raise it for offices "
            "and mobile networks behind one address. Behind a proxy, set `trusted_proxies`."
        ),
    ] = 200
    max_devices_per_user: Annotated[
        Count,
        Meta(description="Devices of one user on one process; one more closes the oldest with 4508."),
    ] = 20
    tenant_share: Annotated[
        float,
        Meta(
            description="Share of `max_connections` and `max_concurrent_resumes` that one tenant may take. "
            "1 where there is one tenant.",
            gt=0,
            le=1,
        ),
    ] = 0.8
    max_handshakes: Annotated[
        Count,
        Meta(
            description="Connections before their upgrade; one more drops the oldest that has sent nothing."
        ),
    ] = 1_000
    max_handshakes_per_address: Annotated[
        Count, Meta(description="The same for one address; not counted for `trusted_proxies`.")
    ] = 32
    handshake_timeout_s: Annotated[
        Seconds, Meta(description="From the connection to the end of the request, TLS included.")
    ] = 5.0
    close_timeout_s: Annotated[
        Seconds, Meta(description="How long a closed connection may take to end; then it is cut.")
    ] = 5.0
    max_connects_per_s: Annotated[
        float, Meta(description="New connections a second; the others are told when to return.", gt=0)
    ] = 500.0
    max_connects_per_s_per_address: Annotated[
        float,
        Meta(description="The same for one address, with five seconds' worth at once.", gt=0),
    ] = 20.0
    connect_burst: Annotated[Count, Meta(description="So many at once before that holds.")] = 500
    drain_spread_s: Annotated[
        Seconds, Meta(description="Over how long the devices of a stopping gateway reconnect elsewhere.")
    ] = 10.0
    lease_s: Annotated[
        Seconds, Meta(description="A device's route lives so long without a heartbeat of its gateway.")
    ] = 30.0
    renew_every_s: Annotated[
        Seconds, Meta(description="How often routes are renewed; a third of `lease_s`, or less.")
    ] = 10.0
    ack_flush_s: Annotated[
        Seconds, Meta(description="An ack waits so long for others of the same user and chat.")
    ] = 1.0
    max_concurrent_resumes: Annotated[
        Count, Meta(description="Devices that are given what they missed at the same time; the next wait.")
    ] = 64
    initial_chats: Annotated[
        Count, Meta(description="Of so many chats, the newest, a new device gets the last entries at once.")
    ] = 20
    initial_entries: Annotated[Count, Meta(description="So many of them.", le=200)] = 20

"""Settings of the WebSocket edge, `tidings run gateway`: which clients may connect, and limits of connections."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

Port = Annotated[int, Meta(ge=0, le=65535)]
Bytes = Annotated[int, Meta(ge=1_024)]
Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]


class GatewaySettings(Struct, frozen=True, kw_only=True):
    """The WebSocket edge, `tidings run gateway`."""

    host: Annotated[
        str, Meta(description="The address to listen on; `::` for IPv4 and IPv6.", min_length=1)
    ] = "127.0.0.1"
    port: Annotated[Port, Meta(description="0: any free port, which is logged.")] = 8081
    reuse_port: Annotated[
        bool,
        Meta(
            description="Several processes listen on one port (SO_REUSEPORT). `--processes` sets it automatically."
        ),
    ] = False
    path: Annotated[str, Meta(description="The path of the WebSocket.", pattern=r"^/\S*$")] = "/v1/socket"
    socket_library: Annotated[
        Literal["picows", "websockets"],
        Meta(description="The WebSocket library: `picows` is faster, `websockets` can compress."),
    ] = "picows"
    compression: Annotated[
        Literal["off", "deflate"],
        Meta(description="`deflate`: for devices that offer it; needs much CPU, and `websockets`."),
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
        bool,
        Meta(
            description="Clients that send no origin may connect. Browsers always send one; apps and servers do not."
        ),
    ] = True
    trusted_proxies: Annotated[
        str | None,
        Meta(
            description="Addresses or networks, with commas, whose `forwarded_by` is trusted. Unset or `none`: no proxy."
        ),
    ] = None
    forwarded_by: Annotated[
        Literal["x-forwarded-for", "forwarded"],
        Meta(description="The header with the client's address; the other one is ignored."),
    ] = "x-forwarded-for"
    tls_certificate: Annotated[
        Path | None,
        Meta(description="Certificate chain in PEM. Unset: no TLS; the load balancer terminates it."),
    ] = None
    tls_key: Annotated[Path | None, Meta(description="The key in PEM, if it is not in the same file.")] = None
    max_frame_bytes: Annotated[
        Bytes, Meta(description="A longer message from a device closes its connection.")
    ] = 65_536
    max_send_buffer_bytes: Annotated[
        Bytes,
        Meta(
            description="Maximum of unsent bytes for a slow device, in addition to `kernel_send_bytes`; above it the device has to reconnect."
        ),
    ] = 262_144
    kernel_send_bytes: Annotated[Bytes, Meta(description="The kernel's send buffer per connection.")] = 65_536
    kernel_receive_bytes: Annotated[
        Bytes,
        Meta(
            description="The kernel's receive buffer per connection; the process buffers at most four times as much."
        ),
    ] = 16_384
    max_connections: Annotated[
        Count, Meta(description="Maximum number of open connections. Needs as many open files, plus 1,500.")
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
        Meta(description="Devices of one user on one process; a further one closes the oldest with 4508."),
    ] = 20
    tenant_share: Annotated[
        float,
        Meta(
            description="Share of `max_connections` and `max_concurrent_resumes` that one tenant may take. "
            "Use 1 for a single tenant.",
            gt=0,
            le=1,
        ),
    ] = 0.8
    max_handshakes: Annotated[
        Count,
        Meta(
            description="Connections before their upgrade; a further one closes the oldest that has sent nothing."
        ),
    ] = 1_000
    max_handshakes_per_address: Annotated[
        Count, Meta(description="The same for one address; not counted for `trusted_proxies`.")
    ] = 32
    handshake_timeout_s: Annotated[
        Seconds, Meta(description="From the connection to the end of the request, TLS included.")
    ] = 5.0
    close_timeout_s: Annotated[
        Seconds, Meta(description="How long a closing handshake may take; then the connection is aborted.")
    ] = 5.0
    max_connects_per_s: Annotated[
        float,
        Meta(description="New connections a second; further ones are refused with a time to retry.", gt=0),
    ] = 500.0
    max_connects_per_s_per_address: Annotated[
        float,
        Meta(description="The same for one address, with a burst of five seconds.", gt=0),
    ] = 20.0
    connect_burst: Annotated[
        Count, Meta(description="Burst of new connections above `max_connects_per_s`.")
    ] = 500
    drain_spread_s: Annotated[
        Seconds, Meta(description="The time over which the devices of a stopping gateway reconnect.")
    ] = 10.0
    lease_s: Annotated[
        Seconds, Meta(description="Lifetime of a device's route without a renewal by its gateway.")
    ] = 30.0
    renew_every_s: Annotated[
        Seconds, Meta(description="How often routes are renewed; a third of `lease_s`, or less.")
    ] = 10.0
    ack_flush_s: Annotated[
        Seconds,
        Meta(
            description="The `delivered` watermark of a user and chat is written at most once in this time, and when "
            "the user disconnects. Senders see the delivery at once."
        ),
    ] = 60.0
    quiet_after_s: Annotated[
        Seconds,
        Meta(
            description="A group without an entry for this time is quiet. Its position is copied into the rows of "
            "members, so that connecting does not read it. The next entry is written to all these rows once."
        ),
    ] = 14 * 86_400.0
    max_concurrent_resumes: Annotated[
        Count, Meta(description="Maximum number of devices that resume at the same time; others wait.")
    ] = 64
    initial_chats: Annotated[
        Count,
        Meta(description="Number of chats, the newest, whose last entries a new device receives at once."),
    ] = 20
    initial_entries: Annotated[Count, Meta(description="Number of these entries for each chat.", le=200)] = 20

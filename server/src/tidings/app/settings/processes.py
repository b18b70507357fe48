"""Settings of processes: telemetry, lifecycle, the REST edge and rate limits."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from tidings.kernel.security import Secret

Port = Annotated[int, Meta(ge=0, le=65535)]
Url = Annotated[str, Meta(pattern=r"^https?://.+$")]
Level = Literal["debug", "info", "warning", "error"]
Rate = Annotated[str, Meta(pattern=r"^[1-9]\d{0,8}/(s|min|h|d)$")]
Burst = Annotated[int, Meta(ge=1, le=10_000_000)]
Seconds = Annotated[float, Meta(gt=0)]


class TelemetrySettings(Struct, frozen=True, kw_only=True):
    """Logs, metrics and traces of a process."""

    log_format: Annotated[
        Literal["auto", "json", "console"],
        Meta(
            description="`json`: one object in each line; `console`: for people, with colours on a terminal "
            "unless NO_COLOR is set; `auto`: `console` if stdout is a terminal, `json` otherwise."
        ),
    ] = "auto"
    log_level: Annotated[Level, Meta(description="The lowest level of Tidings' own log lines.")] = "info"
    library_log_level: Annotated[
        Level, Meta(description="The same for libraries; their debug lines can contain credentials.")
    ] = "warning"
    otlp_endpoint: Annotated[
        Url | None, Meta(description="URL of an OpenTelemetry collector (OTLP over HTTP). Unset: no spans.")
    ] = None
    otlp_headers: Annotated[
        Secret | None,
        Meta(description="Headers for the collector: name=value, several with commas."),
    ] = None
    trace_ratio: Annotated[
        float, Meta(description="The share of new traces that is recorded, 0 to 1.", ge=0, le=1)
    ] = 0.01
    trace_queue_spans: Annotated[
        int,
        Meta(
            description="Maximum number of spans that wait for the collector; then the oldest are dropped.",
            ge=512,
        ),
    ] = 4_096


class ProcessSettings(Struct, frozen=True, kw_only=True):
    """Lifecycle of a process: the admin port, and the time to stop."""

    admin_host: Annotated[
        str,
        Meta(description="The address of `/livez`, `/readyz` and `/metrics`. Not for clients.", min_length=1),
    ] = "127.0.0.1"
    admin_port: Annotated[
        Port | None,
        Meta(
            description="Port of these pages; 0: any free port, which is logged. Unset: 9500 for `api`, "
            "9600 for `gateway`, 9700 for `delivery`, 9710 for `relay`, 9720 for `notifications`, 9730 for `console`, "
            "9740 for `push`, 9750 for `webhooks`, 9760 for `search`, 9770 for `media`. If that is taken: any free "
            "port, with a warning. With `--processes` the first process has it; the others have the next numbers."
        ),
    ] = None
    number: Annotated[
        int,
        Meta(
            description="Which process of `--processes` this is, from 0; set automatically. The admin port is higher by it.",
            ge=0,
        ),
    ] = 0
    drain_s: Annotated[
        float,
        Meta(
            description="How long a stopping process still serves while it is not ready, so that load balancers stop sending.",
            ge=0,
        ),
    ] = 5.0
    stop_s: Annotated[Seconds, Meta(description="How long all components may take to stop.")] = 20.0
    drain_token: Annotated[
        Secret | None,
        Meta(
            description="Allows `POST /drain` at the admin port, which drains and stops the process as SIGTERM does. The "
            "console sends it, so set the same there; at least 16 characters. Unset: only signals drain."
        ),
    ] = None
    watchdog_warn_s: Annotated[
        Seconds, Meta(description="An event loop that is blocked for this long is logged.")
    ] = 5.0
    watchdog_exit_s: Annotated[
        Seconds, Meta(description="An event loop that is blocked for this long ends the process.")
    ] = 30.0


class ApiSettings(Struct, frozen=True, kw_only=True):
    """The REST edge, `tidings run api`."""

    host: Annotated[
        str, Meta(description="The address to listen on. The load balancer terminates TLS.", min_length=1)
    ] = "127.0.0.1"
    port: Annotated[Port, Meta(description="0: any free one, named in the log.")] = 8080
    reuse_port: Annotated[
        bool,
        Meta(
            description="Several processes listen on one port (SO_REUSEPORT). `--processes` sets it automatically."
        ),
    ] = False
    keep_alive_s: Annotated[
        int,
        Meta(
            description="Idle time after which a connection is closed; set it above the load balancer's. "
            "A connection that has shown no valid credential has 5 s, unless it is from `trusted_proxies`.",
            ge=1,
        ),
    ] = 75
    request_timeout_s: Annotated[
        Seconds, Meta(description="A request that is not complete after this time receives 408.")
    ] = 30.0
    max_connections: Annotated[
        int,
        Meta(
            description="Maximum number of open connections. Above it the oldest idle connection without a valid "
            "credential is closed; if there is none, the new connection receives 503.",
            ge=1,
        ),
    ] = 10_000
    max_connections_per_address: Annotated[
        int,
        Meta(
            description="The same for one address (IPv6: one /64). Raise it if many clients share an address; "
            "connections from `trusted_proxies` do not count.",
            ge=1,
        ),
    ] = 500
    max_body_bytes: Annotated[int, Meta(description="A larger body is refused.", ge=1_024)] = 64 * 1024
    max_body_depth: Annotated[int, Meta(description="JSON nested deeper is refused.", ge=2, le=100)] = 16
    max_body_values: Annotated[int, Meta(description="JSON with more values is refused.", ge=16)] = 4_000
    cursor_secret: Annotated[
        Secret | None,
        Meta(
            description="Encrypts the cursors of pages; at least 16 characters, the same in every process. "
            "Several with commas: the first encrypts, all are accepted. Unset: a random secret at each start."
        ),
    ] = None
    trusted_proxies: Annotated[
        str | None,
        Meta(
            description="Addresses or networks, with commas, whose `X-Forwarded-For` is trusted. Unset or `none`: no proxy."
        ),
    ] = None
    allowed_origins: Annotated[
        str | None,
        Meta(
            description="Origins of web pages that may call the API (CORS), exactly as browsers send them "
            "(https://app.example), several with commas. `http://localhost:*` and `http://127.0.0.1:*` allow every "
            "port of this machine. Unset: no web page."
        ),
    ] = None
    serve_docs: Annotated[
        bool,
        Meta(
            description="Serve the explorer at `/docs` and the description at `/openapi.json` without a credential."
        ),
    ] = True
    docs_root: Annotated[
        str,
        Meta(
            description="Put before `errors/{code}`, the link of a problem to the page of its code, which the API serves."
        ),
    ] = "/"
    trust_traceparent: Annotated[
        bool,
        Meta(description="Continue the trace of a caller's `traceparent`; only if all callers are your own."),
    ] = False
    access_log_ratio: Annotated[
        float,
        Meta(
            description="The share of requests that is logged, 0 to 1. Never bodies or credentials.",
            ge=0,
            le=1,
        ),
    ] = 0.0


class LimitsSettings(Struct, frozen=True, kw_only=True):
    """Rate limits: a rate such as `20/s`, `5/min`, `10/h`, and a burst, which is the number at once after a quiet time."""

    tenant_rate: Annotated[Rate, Meta(description="Requests of all users and servers of a tenant.")] = (
        "2000/s"
    )
    tenant_burst: Annotated[Burst, Meta(description="At once.")] = 4_000
    user_rate: Annotated[Rate, Meta(description="Requests of one user, on all devices.")] = "20/s"
    user_burst: Annotated[Burst, Meta(description="At once.")] = 60
    address_rate: Annotated[
        Rate, Meta(description="Requests from one address; an office or a mobile network can be behind it.")
    ] = "100/s"
    address_burst: Annotated[Burst, Meta(description="At once.")] = 400
    chat_user_rate: Annotated[
        Rate,
        Meta(
            description="Chats that one user creates, groups and direct chats together. A chat that exists already is "
            "not counted. A tenant can have its own: `tidings tenant set --rate chat=…`."
        ),
    ] = "200/d"
    chat_user_burst: Annotated[Burst, Meta(description="At once.")] = 100
    code_address_rate: Annotated[Rate, Meta(description="One-time codes requested from an address.")] = "30/h"
    code_address_burst: Annotated[Burst, Meta(description="At once.")] = 10
    code_network_rate: Annotated[Rate, Meta(description="One-time codes requested from an IPv6 /48.")] = (
        "60/h"
    )
    code_network_burst: Annotated[Burst, Meta(description="At once.")] = 20
    code_number_address_rate: Annotated[
        Rate, Meta(description="One-time codes sent to a phone number at the request of one address.")
    ] = "5/h"
    code_number_address_burst: Annotated[Burst, Meta(description="At once.")] = 3
    code_number_rate: Annotated[
        Rate,
        Meta(
            description="One-time codes sent to a phone number at the request of addresses that have not logged in "
            "with it in the last 30 days. An address that has is not counted here."
        ),
    ] = "20/d"
    code_number_burst: Annotated[Burst, Meta(description="At once.")] = 10
    code_prefix_rate: Annotated[
        Rate, Meta(description="One-time codes sent to phone numbers that share their first seven digits.")
    ] = "20/h"
    code_prefix_burst: Annotated[Burst, Meta(description="At once.")] = 20
    code_tenant_rate: Annotated[
        Rate,
        Meta(
            description="One-time codes of a tenant, with a second limit of the same size for addresses that have logged in with "
            "the number before. Limits the cost of a flood. A tenant can have its own: `tidings tenant set --rate code=…`."
        ),
    ] = "100/h"
    code_tenant_burst: Annotated[Burst, Meta(description="At once.")] = 50
    code_installation_rate: Annotated[
        Rate,
        Meta(
            description="One-time codes of all tenants, with a second limit of the same size for addresses that have logged in "
            "with the number before."
        ),
    ] = "5000/d"
    code_installation_burst: Annotated[Burst, Meta(description="At once.")] = 1_000
    redeem_address_rate: Annotated[
        Rate, Meta(description="Attempts to log in with a code, from an address.")
    ] = "60/h"
    redeem_address_burst: Annotated[Burst, Meta(description="At once.")] = 20
    phone_search_rate: Annotated[
        Rate,
        Meta(description="Phone numbers that a user looks up, to find users or to add them to a group."),
    ] = "50/d"
    phone_search_burst: Annotated[Burst, Meta(description="At once.")] = 20
    timeout_s: Annotated[
        Seconds,
        Meta(description="Timeout of Redis; after it the process counts alone for a second."),
    ] = 0.1

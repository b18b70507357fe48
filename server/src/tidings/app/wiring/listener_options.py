"""Derive the options of a gateway from its settings.

Errors that only another look can find (an invalid network, an unreadable certificate, too few open files) are reported
here, before the start.
"""

import ipaddress
import resource
import ssl

from msgspec.structs import replace

from tidings.app.settings import Settings
from tidings.app.settings.gateway import GatewaySettings
from tidings.app.wiring.options import listed_proxies
from tidings.gateway.admission import AdmissionOptions
from tidings.gateway.hub import HubOptions
from tidings.gateway.ports import NodeOptions
from tidings.gateway.resume.catch_up import CatchUpOptions
from tidings.gateway.resume.plan import TailLimits
from tidings.gateway.resume.resume_deps import ResumeOptions
from tidings.gateway.server import DrainOptions
from tidings.gateway.transport.ports import ListenOptions, Network, TcpOptions, UpgradeRules
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import AllowedOrigins, UntrustedProxyDetector
from tidings.platform.telemetry import logs
from tidings_wire.close_codes import CloseCode, close_reason

log = logs.get_logger(__name__)

_FILES_BESIDE = 500
DRAIN_GRACE_S = 2.0
"""How long a device may take to leave after its time to reconnect."""
SETTLE_S = 2.0


def listen_options(given: GatewaySettings, *, slow_close_code: int, slow_close_reason: str) -> ListenOptions:
    return ListenOptions(
        host=given.host,
        port=given.port,
        tls=_tls(given),
        rules=_rules(given),
        tcp=TcpOptions(
            reuse_port=given.reuse_port,
            send_buffer_bytes=given.kernel_send_bytes,
            receive_buffer_bytes=given.kernel_receive_bytes,
        ),
        max_message_bytes=given.max_frame_bytes,
        max_send_buffer_bytes=given.max_send_buffer_bytes,
        slow_close_code=slow_close_code,
        slow_close_reason=slow_close_reason,
        max_connections=given.max_connections,
        max_connections_per_address=given.max_connections_per_address,
        max_handshakes=given.max_handshakes,
        max_handshakes_per_address=given.max_handshakes_per_address,
        handshake_timeout_s=given.handshake_timeout_s,
        close_timeout_s=given.close_timeout_s,
        compresses=given.compression == "deflate",
        unnamed_proxy=UntrustedProxyDetector("gateway.trusted_proxies")
        if given.trusted_proxies is None
        else None,
    )


def admission_options(given: GatewaySettings) -> AdmissionOptions:
    return AdmissionOptions(
        max_connects_per_s=given.max_connects_per_s,
        burst=given.connect_burst,
        per_address_per_s=given.max_connects_per_s_per_address,
    )


def hub_options(given: GatewaySettings) -> HubOptions:
    return HubOptions(
        devices_per_user=given.max_devices_per_user,
        devices_per_tenant=max(1, int(given.max_connections * given.tenant_share)),
    )


def fit_open_file_limit(given: GatewaySettings) -> GatewaySettings:
    """Raise the process's limit of open files as far as allowed, and lower the default bounds to what it allows.

    A full gateway needs files to accept connections that it refuses. A `max_connections` that an operator has set
    and that does not fit is refused: they count on it.
    """
    wanted = given.max_connections + given.max_handshakes + _FILES_BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed == wanted:
        return given
    if given.max_connections != GatewaySettings().max_connections:
        raise _listener_error(
            f"gateway.max_connections: {wanted} open files are needed, {hard} are allowed (ulimit -Hn)"
        )
    beside, handshakes = min(_FILES_BESIDE, hard // 4), min(given.max_handshakes, hard // 4)
    return replace(given, max_handshakes=handshakes, max_connections=hard - handshakes - beside)


def _rules(given: GatewaySettings) -> UpgradeRules:
    return UpgradeRules(
        path=given.path,
        origins=_origins(given.allowed_origins),
        allow_missing_origin=given.allow_missing_origin,
        trusted_proxies=tuple(_network(text) for text in listed_proxies(given.trusted_proxies)),
        forwarded_by=given.forwarded_by,
    )


def _origins(text: str | None) -> AllowedOrigins:
    try:
        return AllowedOrigins.parse(_listed_addresses(text))
    except ValueError as error:
        raise _listener_error(f"gateway.allowed_origins: {error}") from error


def _listed_addresses(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise _listener_error(f"gateway.trusted_proxies: {error}") from None


def _tls(given: GatewaySettings) -> ssl.SSLContext | None:
    if given.tls_certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(given.tls_certificate, given.tls_key)
    except OSError as error:
        raise _listener_error(
            f"gateway.tls_certificate: {given.tls_certificate} can't be used: {error}"
        ) from None
    return context


def _listener_error(text: str) -> TidingsError:
    return TidingsError(Code.SETTINGS_INVALID, text, hint="docs/reference/settings.md lists every setting.")


def with_fitting_limits(settings: Settings) -> Settings:
    """Lower the gateway's default bounds to the open files that this machine allows, and say so."""
    fitting = fit_open_file_limit(settings.gateway)
    if fitting != settings.gateway:
        log.warning(
            "fewer connections than the default: raise the limit of open files, or set gateway.max_connections",
            max_connections=fitting.max_connections,
            max_handshakes=fitting.max_handshakes,
        )
    return replace(settings, gateway=fitting)


def make_drain_options(settings: Settings) -> DrainOptions:
    given = settings.gateway
    needs_s = given.drain_spread_s + DRAIN_GRACE_S + given.close_timeout_s + SETTLE_S
    if needs_s > settings.process.stop_s:
        raise ValueError(
            f"process.stop_s: devices need {needs_s:g} s to leave (gateway.drain_spread_s, gateway.close_timeout_s and "
            f"{DRAIN_GRACE_S + SETTLE_S:g} s), and there are {settings.process.stop_s:g}"
        )
    return DrainOptions(
        spread_s=given.drain_spread_s,
        grace_s=DRAIN_GRACE_S,
        close_code=CloseCode.SERVER_SHUTDOWN,
        close_reason=close_reason(CloseCode.SERVER_SHUTDOWN),
    )


def make_node_options(settings: Settings) -> NodeOptions:
    given = settings.gateway
    if given.renew_every_s > given.lease_s / 2:
        raise ValueError(
            f"gateway.renew_every_s: a lease of {given.lease_s:g} s (gateway.lease_s) is to be renewed at least "
            f"twice in its time, not every {given.renew_every_s:g} s"
        )
    tails = TailLimits(given.initial_chats, given.initial_entries)
    return NodeOptions(
        renew_every_s=given.renew_every_s,
        ack_flush_s=given.ack_flush_s,
        broadcast_spread_s=settings.inboxes.broadcast_spread_s,
        resume=ResumeOptions(
            at_once=given.max_concurrent_resumes,
            tenant_share=given.tenant_share,
            quiet_after_s=given.quiet_after_s,
            tails=tails,
        ),
        ranges=CatchUpOptions(tail=given.initial_entries),
    )

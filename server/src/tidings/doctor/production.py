"""Check what a production installation needs beyond its engines: certificates, alerts and backups."""

import json
import socket
import ssl
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from cryptography import x509

from tidings.app.settings import Settings
from tidings.doctor.model import CheckState, DoctorContext, Finding, ok, skipped

ALERT_GROUPS: Final = ("availability", "delivery", "edges", "engines", "webhooks")
"""Groups of infra/prometheus/rules.yaml, without their prefix `tidings-`."""
_TIMEOUT_S = 5.0
_RENEW_DAYS: Final = 21
_BACKUP_HOURS: Final = 26
_HTTPS, _REDIS = 443, 6379


def check_certificates(context: DoctorContext) -> Iterator[Finding]:
    """Check when the certificates expire: those of `--tls`, of the engines, and the gateway's own file."""
    settings = context.loaded.settings
    places = [*context.tls, *_engine_addresses(settings)]
    if settings.gateway.tls_certificate:
        yield _check_file(settings.gateway.tls_certificate, context.clock.now())
    elif not places:
        yield skipped(
            "certificates", "no TLS in the settings; name a public address, --tls chat.example.com:443"
        )
    for place in places:
        yield _check_address(place, context.clock.now())


def _engine_addresses(settings: Settings) -> Iterator[str]:
    """Yield the addresses of engines that are reached with TLS. AWS renews its own certificates."""
    dynamo = urlsplit(settings.dynamo.endpoint or "")
    if dynamo.scheme == "https":
        yield f"{dynamo.hostname}:{dynamo.port or _HTTPS}"
    if settings.kafka.security_protocol in {"ssl", "sasl_ssl"}:
        yield from (settings.kafka.bootstrap_servers or "").split(",")
    redis = urlsplit(settings.redis.url.reveal() if settings.redis.url else "")
    if redis.scheme == "rediss":
        yield f"{redis.hostname}:{redis.port or _REDIS}"


def _check_address(place: str, now: datetime) -> Finding:
    host, _, port = place.rpartition(":")
    # Only the date is read here. Whether a certificate is trusted is decided by the clients that use it.
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, int(port)), _TIMEOUT_S) as raw,
            tls.wrap_socket(raw, server_hostname=host) as sock,
        ):
            data = sock.getpeercert(binary_form=True)
    except (OSError, ValueError) as error:
        todo = "Is the address right, and does a server with TLS listen there?"
        return Finding("certificates", CheckState.WRONG, f"{place}: {error}", "Clients cannot connect.", todo)
    return _check_date(place, x509.load_der_x509_certificate(data or b""), now)


def _check_file(path: Path, now: datetime) -> Finding:
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        todo = "Set gateway.tls_certificate to a file with a certificate in PEM."
        return Finding("certificates", CheckState.WRONG, f"{path}: {error}", "Gateways do not start.", todo)
    return _check_date(str(path), certificate, now)


def _check_date(what: str, certificate: x509.Certificate, now: datetime) -> Finding:
    days = (certificate.not_valid_after_utc - now).total_seconds() / 86_400
    if days > _RENEW_DAYS:
        return ok("certificates", f"{what} is valid for {days:.0f} days")
    state = CheckState.WRONG if days <= 0 else CheckState.WARNING
    found = f"{what} expired" if days <= 0 else f"{what} expires in {days:.0f} days"
    why = "Clients and processes refuse connections with an expired certificate."
    return Finding(
        "certificates", state, found, why, "Renew it, and find out why it was not renewed automatically."
    )


def check_alerts(context: DoctorContext) -> Iterator[Finding]:
    """Check that Prometheus has the alerts of Tidings, evaluates them, and scrapes processes."""
    if context.prometheus is None:
        yield skipped("alerts", "name your Prometheus: --prometheus http://127.0.0.1:9090")
        return
    try:
        groups = _ask(context.prometheus, "rules")["groups"]
        targets = _ask(context.prometheus, "targets")["activeTargets"]
    except (OSError, ValueError, KeyError) as error:
        why, todo = "Operators do not learn of an outage.", "Is the URL right, and does Prometheus run?"
        yield Finding("alerts", CheckState.WRONG, f"{context.prometheus}: {error}", why, todo)
        return
    yield _check_groups(groups)
    yield _check_targets(targets)


def _ask(prometheus: str, what: str) -> Any:  # noqa: ANN401 - JSON as Prometheus returns it
    url = f"{prometheus.rstrip('/')}/api/v1/{what}"
    if urlsplit(url).scheme not in {"http", "https"}:
        raise ValueError("The URL must start with http:// or https://.")
    with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - the scheme is checked above
        return json.load(answer)["data"]


def _check_groups(groups: list[dict[str, Any]]) -> Finding:
    ours = {str(each["name"]).removeprefix("tidings-"): each for each in groups}
    missing = [f"tidings-{name} is not loaded" for name in ALERT_GROUPS if name not in ours]
    rules = [rule for name in ALERT_GROUPS if name in ours for rule in ours[name]["rules"]]
    broken = [f"{rule['name']}: {rule.get('lastError')}" for rule in rules if rule.get("health") == "err"]
    if missing or broken:
        why = "Operators do not learn of an outage that these alerts report."
        todo = "Load infra/prometheus/rules.yaml as `rule_files`, and reload Prometheus."
        return Finding("alerts", CheckState.WRONG, "not all are loaded", why, todo, missing + broken)
    return ok("alerts", f"{len(rules)} are loaded")


def _check_targets(targets: list[dict[str, Any]]) -> Finding:
    ours = [each for each in targets if each["labels"].get("job") == "tidings"]
    down = [
        f"{each['labels'].get('instance')}: {each['lastError']}" for each in ours if each["health"] == "down"
    ]
    if not ours or down:
        found = (
            f"{len(down)} of {len(ours)} processes do not answer" if ours else "it scrapes no job `tidings`"
        )
        why, todo = "Alerts and dashboards lack their data.", "See docs/howto/monitor-with-prometheus.md."
        return Finding("scraping", CheckState.WRONG, found, why, todo, down)
    return ok("scraping", f"Prometheus reads {len(ours)} processes")


def check_backups(context: DoctorContext) -> Iterator[Finding]:
    """Check the age of the newest snapshot of engines on this machine."""
    settings = context.loaded.settings
    if settings.dynamo.endpoint == "aws":
        yield skipped("backups", "the check of tables reports point-in-time recovery that is off")
        return
    folder = settings.engines.data_dir / "snapshots"
    newest = max((path.stat().st_mtime for path in folder.glob("*.tar")), default=None)
    if newest is None:
        if not settings.engines.on_disk:
            yield skipped("backups", f"no snapshots in {folder}; engines without `on_disk` keep no data")
            return
        yield _no_backup(f"no snapshot in {folder}")
        return
    hours = (context.clock.now() - datetime.fromtimestamp(newest, UTC)).total_seconds() / 3600
    if hours > _BACKUP_HOURS:
        yield _no_backup(f"the newest snapshot is {hours:.0f} hours old")
    else:
        yield ok("backups", f"the newest snapshot is {hours:.0f} hours old")


def _no_backup(found: str) -> Finding:
    why = "If this machine's disk fails, all messages since the last snapshot are lost."
    todo = "Run `tidings engines snapshot` every night and copy the file to another machine."
    return Finding("backups", CheckState.WRONG, found, why, todo)

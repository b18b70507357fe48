"""Each thing that a production installation can lack is found: valid certificates, loaded alerts, young snapshots."""

import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from contract.doctor.conftest import Examine, only, states
from contract.telemetry.running import eventually

from tidings.app.settings.loader import LoadedSettings
from tidings.doctor import production
from tidings.doctor.checks import make_context
from tidings.doctor.model import CheckState, Finding, summarize_findings
from tidings.engines.node_plan import PortAllocator

RULES = Path(__file__).parents[4] / "infra/prometheus/rules.yaml"
needs_prometheus = pytest.mark.skipif(not shutil.which("prometheus"), reason="Prometheus is not installed")


def free_port() -> int:
    return PortAllocator().take(0, "a test")


@contextmanager
def tls_server(valid_days: float) -> Iterator[str]:
    """Serve TLS handshakes with a certificate that expires after the given number of days."""
    leaf = trustme.CA().issue_cert("localhost", not_after=datetime.now(UTC) + timedelta(days=valid_days))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    leaf.configure_cert(context)
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                raw, _ = server.accept()
                context.wrap_socket(raw, server_side=True).close()
            except ssl.SSLError:
                continue
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def certificates(loaded: Callable[..., LoadedSettings], *tls: str, **given: str) -> list[Finding]:
    return list(production.check_certificates(replace(make_context(loaded(**given)), tls=tls)))


@pytest.mark.parametrize(
    ("days", "state"), [(90, CheckState.OK), (5, CheckState.WARNING), (-1, CheckState.WRONG)]
)
def test_the_certificate_of_an_address(
    loaded: Callable[..., LoadedSettings], days: float, state: CheckState
) -> None:
    with tls_server(days) as place:
        assert states(certificates(loaded, place)) == {"certificates": state}


def test_the_certificate_of_an_engine_in_the_settings(loaded: Callable[..., LoadedSettings]) -> None:
    with tls_server(5) as place:
        found = certificates(loaded, REDIS_URL=f"rediss://{place}")
    assert place in only(found, "certificates", CheckState.WARNING).found


def test_an_address_without_tls(loaded: Callable[..., LoadedSettings]) -> None:
    port = free_port()
    only(certificates(loaded, f"127.0.0.1:{port}"), "certificates", CheckState.WRONG)


def test_the_certificate_file_of_the_gateway(loaded: Callable[..., LoadedSettings], tmp_path: Path) -> None:
    path = tmp_path / "gateway.pem"
    leaf = trustme.CA().issue_cert("localhost", not_after=datetime.now(UTC) + timedelta(days=2))
    path.write_bytes(leaf.cert_chain_pems[0].bytes())
    found = certificates(loaded, GATEWAY_TLS_CERTIFICATE=str(path))
    assert "2 days" in only(found, "certificates", CheckState.WARNING).found


def test_without_tls_there_is_nothing_to_check(examine: Examine) -> None:
    assert states(examine("certificates")) == {"certificates": CheckState.SKIPPED}


@contextmanager
def prometheus(folder: Path, *rule_files: Path) -> Iterator[str]:
    config = folder / "prometheus.yml"
    names = ", ".join(f'"{path}"' for path in rule_files)
    config.write_text(f"global: {{evaluation_interval: 1s}}\nrule_files: [{names}]\n")
    port = free_port()
    options = [f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    server = subprocess.Popen(
        ["prometheus", *options, f"--web.listen-address=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: _is_ready(url) or None, "Prometheus")
        yield url
    finally:
        server.terminate()
        server.wait()


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/-/ready"):
            return True
    except OSError:
        return False


def alerts(loaded: Callable[..., LoadedSettings], url: str) -> list[Finding]:
    return list(production.check_alerts(replace(make_context(loaded()), prometheus=url)))


@needs_prometheus
def test_alerts_that_are_loaded_and_processes_that_are_not_scraped(
    loaded: Callable[..., LoadedSettings], tmp_path: Path
) -> None:
    with prometheus(tmp_path, RULES) as url:
        found = alerts(loaded, url)
    assert states(found) == {"alerts": CheckState.OK, "scraping": CheckState.WRONG}


@needs_prometheus
def test_alerts_that_are_not_loaded(loaded: Callable[..., LoadedSettings], tmp_path: Path) -> None:
    with prometheus(tmp_path) as url:
        details = only(alerts(loaded, url)[:1], "alerts", CheckState.WRONG).details
    assert details == [f"tidings-{name} is not loaded" for name in production.ALERT_GROUPS]


def test_a_prometheus_that_does_not_answer(loaded: Callable[..., LoadedSettings]) -> None:
    only(alerts(loaded, f"http://127.0.0.1:{free_port()}"), "alerts", CheckState.WRONG)


def test_a_prometheus_that_is_not_named(examine: Examine) -> None:
    assert states(examine("alerts")) == {"alerts": CheckState.SKIPPED}


@pytest.mark.parametrize(("hours", "state"), [(3, CheckState.OK), (30, CheckState.WRONG)])
def test_the_age_of_the_newest_snapshot(
    examine: Examine, tmp_path: Path, hours: float, state: CheckState
) -> None:
    folder = tmp_path / ".tidings" / "snapshots"
    folder.mkdir(parents=True)
    for name, age in (("old", 90.0), ("new", hours)):
        (folder / f"{name}.tar").touch()
        at = time.time() - age * 3600
        os.utime(folder / f"{name}.tar", (at, at))
    given = {"ENGINES_DATA_DIR": str(tmp_path / ".tidings"), "ENGINES_ON_DISK": "true"}
    assert states(examine("backups", **given)) == {"backups": state}


def test_engines_on_disk_without_a_snapshot(examine: Examine) -> None:
    only(examine("backups", ENGINES_ON_DISK="true"), "backups", CheckState.WRONG)
    assert states(examine("backups")) == {"backups": CheckState.SKIPPED}


def test_one_warning_is_singular() -> None:
    found = [Finding("python", CheckState.WARNING, "old")]
    assert str(summarize_findings(found)) == "0 wrong, 1 warning, 0 ok"
    assert str(summarize_findings(found * 2)) == "0 wrong, 2 warnings, 0 ok"

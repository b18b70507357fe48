"""The console shows processes by their admin ports, series of their metrics, and the settings with their sources."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.console_app import ConsoleApp
from fixtures.use_cases import UseCaseEnv

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import Secret
from tidings.operators.doctor_runner import FRESH_MS, DoctorRunner
from tidings.operators.model import Role
from tidings.operators.process_monitor import ProcessMonitor
from tidings.platform.lifecycle.admin import AdminOptions, AdminResponse, AdminServer, fetch_admin_page

READY = b'{"ready": true, "phase": "running", "process": "gateway", "instance": "g1", "problems": [], "components": {}}'
DRAINING = (
    b'{"ready": false, "phase": "draining", "process": "gateway", "instance": "g1", "problems": ["drains"]}'
)


class Minute(SystemClock):
    """A clock that the test moves."""

    at_ms = 1_793_500_000_000

    def now_ms(self) -> int:
        return self.at_ms


async def test_processes_and_their_metrics_are_followed() -> None:
    pages = {
        "/readyz": READY,
        "/metrics": b"tidings_socket_open 3\ntidings_http_requests_total 100\nother 1\n",
    }
    server = AdminServer(
        AdminOptions(),
        {
            "/readyz": lambda: AdminResponse(200, "application/json", pages["/readyz"]),
            "/metrics": lambda: AdminResponse(200, "text/plain", pages["/metrics"]),
        },
    )
    server.start()
    address, clock = f"127.0.0.1:{server.port}", Minute()
    monitor = ProcessMonitor([address, "127.0.0.1:1"], clock, fetch_admin_page)
    await monitor.poll()
    up, down = monitor.processes()
    assert (up.kind, up.phase, up.is_ready, up.error) == ("gateway", "running", True, None)
    assert down.error
    assert not down.is_ready
    clock.at_ms += 10_000
    pages |= {"/readyz": DRAINING, "/metrics": b"tidings_socket_open 1\ntidings_http_requests_total 150\n"}
    await monitor.poll()
    assert (monitor.processes()[0].phase, monitor.processes()[0].problems) == ("draining", ["drains"])
    clock.at_ms += 10_000
    pages["/metrics"] = b"tidings_socket_open 1\ntidings_http_requests_total 20\n"
    await monitor.poll()
    found = {each.name: [value for _, value in each.points] for each in monitor.series((), 3600)}
    assert found["tidings_socket_open"] == [3, 1, 1]
    assert found["tidings_http_requests_total"] == pytest.approx([5.0, 2.0]), (
        "a restarted process counts from 0"
    )
    assert set(found) == {"tidings_socket_open", "tidings_http_requests_total"}
    (only,) = monitor.series(["tidings_socket_open"], 15)
    assert [value for _, value in only.points] == [1, 1]
    assert only.labels == {"process": "gateway", "address": address}
    server.stop()
    await monitor.poll()
    lost = monitor.processes()[0]
    assert (lost.kind, lost.is_ready) == ("gateway", False)
    assert lost.error


async def test_settings_are_listed_with_their_source(console: ConsoleApp) -> None:
    operator = await console.caller(Role.OPERATOR)
    found = {each["name"]: each for each in (await operator("GET", "/admin/v1/settings")).json()["settings"]}
    assert found["api.port"] == {"name": "api.port", "value": "8080", "source": "default"}
    assert (await operator("GET", "/admin/v1/processes")).json() == {"processes": []}
    names = (await operator("GET", "/admin/v1/series/names")).json()["names"]
    assert {each["kind"] for each in names} == {"gauge", "rate"}


TOKEN = Secret("the-token-of-the-drains")


class Gateway:
    """An admin port that answers as a gateway does, and counts the drains."""

    def __init__(self, token: Secret | None) -> None:
        self.drains = 0
        self.server = AdminServer(
            AdminOptions(drain_token=token),
            {
                "/readyz": lambda: AdminResponse(200, "application/json", DRAINING if self.drains else READY),
                "/metrics": lambda: AdminResponse(
                    200, "text/plain", b"tidings_socket_open 3\ntidings_socket_devices 2\n"
                ),
            },
            self._on_drain,
        )
        self.server.start()
        self.address = f"127.0.0.1:{self.server.port}"

    def _on_drain(self) -> None:
        self.drains += 1


@pytest.fixture
def gateways() -> Iterator[list[Gateway]]:
    """A gateway with the console's token, one without a token, and one with another token."""
    found = [Gateway(TOKEN), Gateway(None), Gateway(Secret("another token of drains"))]
    yield found
    for each in found:
        each.server.stop()


async def test_a_gateway_is_drained_only_with_its_token(
    gateways: list[Gateway], use_cases: UseCaseEnv
) -> None:
    monitor = ProcessMonitor([each.address for each in gateways], SystemClock(), fetch_admin_page, TOKEN)
    console = ConsoleApp(use_cases, monitor=monitor)
    operator = await console.caller(Role.OPERATOR)
    await monitor.poll()
    listed = (await operator("GET", "/admin/v1/gateways")).json()
    assert listed["may_drain"] is True
    assert [each["process"]["address"] for each in listed["gateways"]] == [each.address for each in gateways]
    assert (listed["gateways"][0]["open_connections"], listed["gateways"][0]["devices"]) == (3, 2)
    answers = [await operator("POST", f"/admin/v1/gateways/{each.address}/drain") for each in gateways]
    assert [each.status_code for each in answers] == [202, 400, 400]
    assert [each.drains for each in gateways] == [1, 0, 0]
    assert "drain_token" in answers[1].json()["hint"]
    shown = (await operator("GET", "/admin/v1/gateways")).json()["gateways"][0]
    assert shown["process"]["phase"] == "draining", "it is polled again at once"
    finished = (await console.records(None))[4]
    assert (finished.operation, finished.outcome) == ("drain_gateway", "ok")
    assert finished.after == {"phase": "draining", "instance": "g1"}
    unknown = await operator("POST", "/admin/v1/gateways/10.0.0.1:9600/drain")
    assert (unknown.status_code, unknown.json()["code"]) == (400, Code.REQUEST_INVALID)


async def test_findings_are_those_of_the_doctor_and_kept_for_a_minute(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    code = f"""import json
open({str(runs)!r}, "a").write("x")
print(json.dumps({{"findings": [{{"check": "kafka", "state": "wrong", "found": "no answer"}}]}}))
raise SystemExit(1)"""
    clock = Minute()
    doctor = DoctorRunner([sys.executable, "-c", code], clock)
    report = await doctor.report()
    assert report.findings == [{"check": "kafka", "state": "wrong", "found": "no answer"}]
    clock.at_ms += FRESH_MS
    await doctor.report()
    assert runs.read_text() == "x"
    clock.at_ms += 1
    assert (await doctor.report()).checked_at_ms == clock.at_ms
    assert runs.read_text() == "xx"


async def test_a_doctor_without_findings_is_an_error(console: ConsoleApp) -> None:
    operator = await console.caller(Role.OPERATOR)
    (found,) = (await operator("GET", "/admin/v1/findings")).json()["findings"]
    assert found["check"] == "kafka"
    began = time.monotonic()
    with pytest.raises(TidingsError, match="exit code 3"):
        await DoctorRunner([sys.executable, "-c", "raise SystemExit(3)"], SystemClock()).report()
    assert time.monotonic() - began < 30

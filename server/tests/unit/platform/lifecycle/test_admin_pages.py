import json
import sys

import pytest
from structlog.testing import capture_logs
from unit.platform.lifecycle.parts import StillClock

from tidings.platform.lifecycle.admin import livez, readyz
from tidings.platform.lifecycle.component import ExitCode
from tidings.platform.lifecycle.process import loop_factory
from tidings.platform.lifecycle.process_status import ComponentReport, ComponentState, Phase, ProcessReport
from tidings.platform.telemetry.logs import ProcessIdentity

ME = ProcessIdentity("gateway", "one")
SINCE = StillClock().now()


def report(*, ok: bool) -> ProcessReport:
    reason = "" if ok else "no broker answered for 12 s; last error: refused"
    kafka = ComponentReport(
        "kafka", ComponentState.STARTED, ok, gates_readiness=True, reason=reason, since=SINCE
    )
    return ProcessReport(Phase.RUNNING, (kafka,))


def test_a_ready_process_answers_200_and_lists_all_components() -> None:
    answer = readyz(ME, report(ok=True), 0.1, 5)
    body = json.loads(answer.body)
    assert answer.status == 200
    assert body["ready"] is True
    assert body["components"]["kafka"]["state"] == "started"
    assert body["problems"] == []


def test_not_ready_names_the_problems() -> None:
    answer = readyz(ME, report(ok=False), 0.1, 5)
    body = json.loads(answer.body)
    assert answer.status == 503
    assert body["problems"] == ["kafka: no broker answered for 12 s; last error: refused"]
    assert body["components"]["kafka"]["since"] == "2026-01-01T00:00:00Z"


def test_a_blocked_loop_is_neither_alive_nor_ready() -> None:
    assert livez(0.1, 5).status == 200
    assert livez(5.5, 5).status == 503
    assert json.loads(livez(5.5, 5).body)["reason"] == "the event loop is blocked for 5.5 s"
    answer = readyz(ME, report(ok=True), 5.5, 5)
    assert answer.status == 503
    assert json.loads(answer.body)["problems"] == ["the event loop is blocked for 5.5 s"]


def test_without_uvloop_the_standard_loop_is_used_and_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loop_factory().__module__.startswith("uvloop")
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with capture_logs() as lines:
        assert loop_factory().__module__.startswith("asyncio")
    assert "uvloop is not installed" in lines[0]["event"]


def test_exit_codes_are_fixed() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "CLEAN": 0,
        "START_FAILED": 1,
        "SETTINGS_INVALID": 2,
        "CRASHED": 70,
        "LATE": 75,
    }

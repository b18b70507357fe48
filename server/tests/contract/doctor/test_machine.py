"""Each thing that can be wrong with machine, settings and processes is found; and the doctor's own manners."""

import json
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from contract.doctor.conftest import Examine, only, states
from contract.telemetry.running import eventually, running

from tidings.app.settings.loader import load
from tidings.cli import diagnosis
from tidings.doctor import checks as examining
from tidings.doctor import machine
from tidings.doctor.checks import make_context
from tidings.doctor.machine import find_port_holder
from tidings.doctor.model import CheckState, Finding
from tidings.engines.node_plan import PortAllocator

_LISTEN = "import socket, sys; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"


def test_a_python_that_is_too_old() -> None:
    found = list(machine.check_python(make_context(load({})), (3, 11, 9)))
    assert "3.11.9" in only(found, "python", CheckState.WRONG).found


def test_a_python_without_uvloop(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert states(examine("python")) == {"python": CheckState.OK}
    monkeypatch.setattr(machine, "find_spec", lambda _: None)
    only(examine("python"), "python", CheckState.WARNING)


def test_settings_that_a_process_would_refuse(examine: Examine) -> None:
    assert states(examine("settings")) == {"settings": CheckState.OK}
    found = examine("settings", API_CURSOR_SECRET="short", GATEWAY_DRAIN_SPREAD_S="100")
    details = only(found, "settings", CheckState.WRONG).details
    assert [line.partition(":")[0] for line in sorted(details)] == ["api.cursor_secret", "process.stop_s"]


def test_more_devices_than_memory_allows_are_reported(examine: Examine) -> None:
    assert states(examine("memory", GATEWAY_MAX_CONNECTIONS="10")) == {"memory": CheckState.OK}
    found = only(examine("memory", GATEWAY_MAX_CONNECTIONS="1000000000"), "memory", CheckState.WARNING)
    assert "1,000,000,000 devices" in found.found


def test_memory_is_not_checked_without_psutil(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "find_spec", lambda _: None)
    assert states(examine("memory")) == {"memory": CheckState.SKIPPED}


def test_more_devices_than_open_files(examine: Examine) -> None:
    few = {"GATEWAY_MAX_CONNECTIONS": "10", "GATEWAY_MAX_HANDSHAKES": "10"}
    assert states(examine("open files", **few)) == {"open files": CheckState.OK}
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] == resource.RLIM_INFINITY:
        pytest.skip("this system knows no bound")
    found = only(examine("open files", GATEWAY_MAX_CONNECTIONS="2000000000"), "open files", CheckState.WRONG)
    assert "2,000,001,500 needed" in found.found


def test_a_bound_of_the_settings_is_only_a_warning_while_tidings_dev_runs(
    examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    client = tmp_path / ".tidings/dev/client.json"
    client.parent.mkdir(parents=True)
    client.write_text('{"admin_ports": {"api": 1}}')
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] == resource.RLIM_INFINITY:
        pytest.skip("this system knows no bound")
    only(examine("open files", GATEWAY_MAX_CONNECTIONS="2000000000"), "open files", CheckState.WARNING)


def test_a_port_in_use(examine: Examine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = examine("ports", API_PORT=str(port), GATEWAY_PORT=str(PortAllocator().take(0, "gateway")))
    assert f"{port}, meant for api, is taken by" in only(found, "ports", CheckState.WRONG).found
    assert states(examine("ports", API_PORT=str(port), GATEWAY_PORT="0", CONSOLE_PORT="0")) == {
        "ports": CheckState.OK
    }


def test_a_port_of_a_tidings_process_is_no_problem(examine: Examine) -> None:
    port = PortAllocator().take(0, "api")
    words = [sys.executable, "-c", _LISTEN, str(port), "tidings", "run", "api"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as ours:
        eventually(lambda: find_port_holder(port), "listener")
        found = examine("ports", API_PORT=str(port), GATEWAY_PORT="0", CONSOLE_PORT="0")
        assert [(each.state, str(ours.pid) in each.found) for each in found] == [(CheckState.OK, True)]


def test_secrets_that_others_can_read(examine: Examine, tmp_path: Path) -> None:
    key = tmp_path / "tidings.key"
    given = {"ENCRYPTION_KEY_FILE": str(key), "ENGINES_DATA_DIR": str(tmp_path)}
    assert "made at first use" in examine("secrets", **given)[0].found
    key.touch(0o600)
    assert states(examine("secrets", **given)) == {"secrets": CheckState.OK}
    key.chmod(0o640)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/keys.json").touch(0o600)
    found = only(examine("secrets", **given), "secrets", CheckState.WRONG)
    assert f"{key} is open to others (mode 0640)" in found.found
    key.unlink()
    (tmp_path / "dev/keys.json").chmod(0o644)
    assert "keys.json" in only(examine("secrets", **given), "secrets", CheckState.WRONG).found


def test_processes_that_are_ready_and_that_are_not(examine: Examine) -> None:
    assert states(examine("processes")) == {"processes": CheckState.SKIPPED}
    closed_port = f"127.0.0.1:{PortAllocator().take(0, 'nobody')}"
    assert closed_port in only(examine("processes", closed_port), "processes", CheckState.WRONG).found
    with running() as well:
        well.wait_for_status("/readyz", 200)
        assert states(examine("processes", f"127.0.0.1:{well.port}")) == {"processes": CheckState.OK}
        given = {"PROCESS_ADMIN_PORT": str(well.port)}
        assert states(examine("processes", **given)) == {"processes": CheckState.OK}
    with running(engines={"dynamo": PortAllocator().take(0, "nobody")}) as unready:
        unready.wait_for_status("/readyz", 503)
        found = only(examine("processes", f"127.0.0.1:{unready.port}"), "processes", CheckState.WRONG)
    assert "is not ready" in found.found


def doctor(directory: Path, *words: str, **environment: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        for name, value in environment.items():
            patch.setenv(f"TIDINGS_{name}", value)
        return CliRunner().invoke(diagnosis.doctor, words)


def test_unreadable_settings_are_a_problem_and_end_the_checks(tmp_path: Path) -> None:
    result = doctor(tmp_path, "--json", API_PORTT="1", GATEWAY_PORT="many")
    findings = json.loads(result.stdout)["findings"]
    assert [each["check"] for each in findings] == ["python", "settings", "the rest"]
    assert len(findings[1]["details"]) == 2
    assert result.exit_code == 1


def _all_say(state: CheckState, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding("engine", state, "as it is", "Because.", "Mend it.", ["one", "two"])
    monkeypatch.setattr(examining, "CHECKS", {"engine": lambda _: [finding]})


@pytest.mark.parametrize(
    ("state", "words", "code"),
    [
        (CheckState.OK, (), 0),
        (CheckState.SKIPPED, ("--strict",), 0),
        (CheckState.WARNING, (), 0),
        (CheckState.WARNING, ("--strict",), 1),
        (CheckState.WRONG, (), 1),
    ],
)
def test_the_exit_code_shows_whether_there_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: CheckState, words: tuple[str, ...], code: int
) -> None:
    _all_say(state, monkeypatch)
    assert doctor(tmp_path, *words).exit_code == code
    assert doctor(tmp_path, "--json", *words).exit_code == code


def test_problems_are_reported_with_reason_and_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _all_say(CheckState.WRONG, monkeypatch)
    shown = doctor(tmp_path).output.splitlines()
    assert [line.strip() for line in shown] == [
        "✗ engine            as it is",
        "one",
        "two",
        "Because.",
        "→ Mend it.",
        "1 wrong, 0 warnings, 0 ok",
    ]


def test_a_failing_check_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(_: object) -> list[Finding]:
        raise RuntimeError("oh")

    well = Finding("after", CheckState.OK, "looked")
    monkeypatch.setattr(examining, "CHECKS", {"broken": breaks, "after": lambda _: [well]})
    findings = json.loads(doctor(tmp_path, "--json").stdout)["findings"]
    assert [(each["check"], each["state"]) for each in findings] == [("broken", "wrong"), ("after", "ok")]

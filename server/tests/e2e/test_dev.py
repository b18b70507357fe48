"""`tidings dev` as a new user runs it: in a terminal, with a keyboard, killed, restarted, with data deleted.

Three starts in one directory. Most tests use the first one, which ends with Ctrl-C. The second one finds the data
of the first and is killed. The third one starts without data.
"""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from contract.telemetry.running import eventually
from e2e.terminal import Terminal
from fixtures.fork_server import TIDINGS

from tidings.app.processes.command import group
from tidings.dev.process_runner import SOURCE
from tidings.engines.node_plan import is_port_free

COMMAND = [*TIDINGS, "dev"]
KINDS = sorted(group.commands.keys() - {"archive"})
"""New kinds of processes are included automatically. `tidings dev` has no messages that are old enough to archive."""
LAST_LINE = r"  stop     Ctrl-C"


@dataclass
class DevEnv:
    """One directory and the processes in it. They run a copy of the code, which a test can change.

    A change of the checkout would also restart the processes of other tests that run `tidings dev`.
    """

    directory: Path
    source: Path
    terminals: list[Terminal] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        ours = {
            name: value for name, value in os.environ.items() if not name.startswith(("TIDINGS_", "NO_COLOR"))
        }
        code = {"PYTHONPATH": str(self.source.parent)}
        return (
            ours | code | {"TIDINGS_API_PORT": "0", "TIDINGS_GATEWAY_PORT": "0", "TIDINGS_CONSOLE_PORT": "0"}
        )

    def start(self, *words: str, **more: str) -> Terminal:
        terminal = Terminal([*COMMAND, *words], self.directory, self.environment | more)
        self.terminals.append(terminal)
        terminal.wait_for(LAST_LINE)
        return terminal

    @property
    def client(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.directory / ".tidings/dev/client.json").read_text())
        return found

    def curl(self, line: str) -> Any:
        done = subprocess.run(
            ["bash", "-c", f"{line} -s -S"], cwd=self.directory, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def dev_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevEnv]:
    source = tmp_path_factory.mktemp("source") / SOURCE.name
    shutil.copytree(SOURCE, source)
    made = DevEnv(tmp_path_factory.mktemp("dev"), source)
    yield made
    for terminal in made.terminals:
        terminal.close()


@pytest.fixture(scope="module")
def first(dev_env: DevEnv) -> Terminal:
    return dev_env.start()


def family(terminal: Terminal) -> list[psutil.Process]:
    """Return all processes that were started, including engines."""
    return psutil.Process(terminal.popen.pid).children(recursive=True)


def process_of(terminal: Terminal, kind: str) -> psutil.Process:
    return next(child for child in family(terminal) if child.cmdline()[-2:] == ["run", kind])


def ports_of(dev_env: DevEnv) -> list[int]:
    client = dev_env.client
    edges = [int(re.findall(r":(\d+)", client[name])[0]) for name in ("api", "gateway")]
    return [*edges, *client["admin_ports"].values()]


def curl_line(terminal: Terminal) -> str:
    return terminal.wait_for(r"curl .*")


def test_the_next_steps_are_printed_in_at_most_eight_lines(first: Terminal) -> None:
    shown = first.text.partition("ready in ")[2].partition(LAST_LINE)[0]
    assert 4 <= shown.count("\n") + 1 <= 8
    assert "/docs" in shown
    assert "ws://127.0.0.1:" in shown


def test_a_first_start_logs_no_error(first: Terminal) -> None:
    printed = first.text.partition("ready in ")[0]
    assert [line for line in printed.splitlines() if re.search(r"│ error ", line)] == []


def test_the_printed_curl_command_works(dev_env: DevEnv, first: Terminal) -> None:
    answer = dev_env.curl(curl_line(first))
    chats = {chat["type"]: chat for chat in answer["chats"]}
    assert chats["group"]["name"] == "Lunch"
    assert chats["direct"]["members"] == ["ben"]


def test_requests_are_shown_in_the_terminal_except_those_that_seed_the_tenant(
    dev_env: DevEnv, first: Terminal
) -> None:
    assert "operation=POST" not in first.text
    user = "cleo"
    dev_env.curl(f"curl -H @.tidings/dev/{user}.header {dev_env.client['api']}/v1/me")
    first.wait_for(r"api +│ info +request  operation=GET /v1/me  status=200")


def test_log_lines_are_short_and_coloured_by_process(first: Terminal) -> None:
    listening = [line for line in first.colourful.splitlines() if "listening" in line]
    colours = {re.sub(r".*?\x1b\[(\d+)m(api|console|gateway) .*", r"\2 \1", line) for line in listening}
    assert len(colours) == 3
    assert not [line for line in first.text.splitlines() if line.startswith("{")]
    assert "component started" not in first.text


def test_full_log_lines_are_stored_in_a_file_for_each_process(dev_env: DevEnv, first: Terminal) -> None:
    del first
    for kind in ("api", "gateway"):
        lines = (dev_env.directory / f".tidings/logs/{kind}.log").read_text().splitlines()
        assert "component started" in {json.loads(line)["event"] for line in lines}


def test_client_credentials_are_in_a_file_that_only_its_owner_can_read(
    dev_env: DevEnv, first: Terminal
) -> None:
    del first
    client = dev_env.client
    for user in ("anna", "ben", "cleo"):
        token, header = client["users"][user]["token"], f".tidings/dev/{user}.header"
        assert dev_env.curl(f"curl -H @{header} {client['api']}/v1/me")["id"] == user
        assert token in (dev_env.directory / header).read_text()
    for path in (dev_env.directory / ".tidings/dev").glob("*.*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_a_second_start_in_the_same_directory_reports_the_first_and_what_to_do(
    dev_env: DevEnv, first: Terminal
) -> None:
    done = subprocess.run(
        COMMAND, cwd=dev_env.directory, env=dev_env.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"process {first.popen.pid}" in done.stderr
    assert dev_env.client["api"] in done.stderr
    assert first.popen.poll() is None


def test_the_doctor_finds_no_problem_while_it_runs(dev_env: DevEnv, first: Terminal) -> None:
    del first
    done = subprocess.run(
        [*COMMAND[:-1], "doctor", "--json"],
        cwd=dev_env.directory,
        env=dev_env.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    findings = json.loads(done.stdout)["findings"]
    assert [each for each in findings if each["state"] == "wrong"] == []
    ready = [each for each in findings if each["check"] == "processes" and each["state"] == "ok"]
    assert len(ready) == len(KINDS)
    assert done.returncode == 0


def test_a_killed_process_is_restarted(dev_env: DevEnv, first: Terminal) -> None:
    before = process_of(first, "gateway")
    starts = first.text.count("process started")
    before.kill()
    first.wait_for(r"gateway died \(SIGKILL\): starting it again")
    first.wait_for("process started", starts + 1)
    assert process_of(first, "gateway") != before
    assert not is_port_free(ports_of(dev_env)[1])


@pytest.mark.long
def test_a_code_change_restarts_the_processes_of_tidings(dev_env: DevEnv, first: Terminal) -> None:
    before = {kind: process_of(first, kind) for kind in KINDS}
    engines = {each for each in family(first) if each not in before.values()}
    starts = first.text.count("process started")
    (dev_env.source / "dev/__init__.py").touch()
    first.wait_for(rf"dev/__init__.py changed: restarting {', '.join(KINDS)}")
    first.wait_for("process started", starts + len(KINDS))
    assert {process_of(first, kind) for kind in before} & set(before.values()) == set()
    assert engines <= set(family(first))


def test_ctrl_c_stops_all_processes(dev_env: DevEnv, first: Terminal) -> None:
    started, ports = family(first), ports_of(dev_env)
    first.ctrl_c()
    assert first.exit_code() == 0
    printed = first.text.rpartition("stopping api, console, gateway")[2]
    assert printed.count("process stopped  exit_code=0") == len(KINDS)
    assert printed.rindex("process stopped") < printed.index("stopped: dynamo, valkey, kafka-1")
    assert [each for each in started if each.is_running()] == []
    assert [port for port in ports if not is_port_free(port)] == []
    assert not (dev_env.directory / ".tidings/dev/client.json").exists()


@pytest.fixture(scope="module")
def kept(dev_env: DevEnv, first: Terminal) -> dict[str, Any]:
    """The keys that the first run stored, read after it has ended."""
    if first.popen.poll() is None:
        first.ctrl_c()
    first.exit_code()
    found: dict[str, Any] = json.loads((dev_env.directory / ".tidings/dev/keys.json").read_text())
    return found


def texts(dev_env: DevEnv, chat: str) -> list[str]:
    page = dev_env.curl(f"curl -H @.tidings/dev/anna.header {dev_env.client['api']}/v1/chats/{chat}/messages")
    return [entry["text"] for entry in page["entries"] if entry["kind"] == "message"]


@pytest.mark.long
def test_a_restart_keeps_all_data_and_kill_9_leaves_no_process(dev_env: DevEnv, kept: dict[str, Any]) -> None:
    second = dev_env.start()
    assert json.loads((dev_env.directory / ".tidings/dev/keys.json").read_text()) == kept
    assert texts(dev_env, dev_env.client["chats"]["direct"]) == ["Hi Anna. Lunch?", "Hello Ben!"]
    started = family(second)
    assert len(started) >= 5
    second.popen.send_signal(signal.SIGKILL)
    eventually(
        lambda: None if any(_lives(each) for each in started) else True, "end of what was started", 60.0
    )


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.long
def test_fresh_deletes_data_and_colours_can_be_disabled(dev_env: DevEnv, kept: dict[str, Any]) -> None:
    third = dev_env.start("--fresh", NO_COLOR="1")
    assert "the data of this directory was deleted" in third.text
    now = json.loads((dev_env.directory / ".tidings/dev/keys.json").read_text())
    assert now["server"] != kept["server"]
    assert sorted(texts(dev_env, dev_env.client["chats"]["group"])) == [
        "Fine with me.",
        "I bring cake.",
        "Lunch at noon?",
    ]
    assert not re.findall(r"\x1b\[(?:3[1-6]|9[1-6])m", third.colourful)
    third.popen.send_signal(signal.SIGTERM)
    assert third.exit_code() == 0

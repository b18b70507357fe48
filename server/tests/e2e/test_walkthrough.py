"""The tutorial for new users: every command on it runs as printed and must answer as shown."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from contract.telemetry.running import eventually
from e2e.docs_runner import DocStep, differences, steps
from fixtures.fork_server import commands_folder, tidings_environment

from tidings.engines.node_plan import PortAllocator

PAGE = (Path(__file__).parents[3] / "docs/tutorials/first-chat-with-curl.md").read_text()
DEADLINE_S = 600.0


class Shell:
    """One bash for the whole page, like the terminal of a reader."""

    def __init__(self, directory: Path, *, deadline_s: float = DEADLINE_S) -> None:
        self._directory, self._ran = directory, 0
        folders = [commands_folder(), Path(sys.executable).parent, os.environ["PATH"]]
        self.environment = tidings_environment({}) | {
            "PATH": ":".join(str(folder) for folder in folders if folder),
            "VIRTUAL_ENV": str(Path(sys.executable).parents[1]),
            "CURL_HOME": str(directory),
            "TIDINGS_API_PORT": str(PortAllocator().take(0, "api")),
            "TIDINGS_GATEWAY_PORT": str(PortAllocator().take(0, "gateway")),
            "TIDINGS_CONSOLE_PORT": str(PortAllocator().take(0, "console")),
            "TIDINGS_PROCESS_DRAIN_S": "0.05",
        }
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=self.environment,
            text=True,
            start_new_session=True,
        )
        self._watch = threading.Timer(deadline_s, self._kill)
        self._watch.start()

    def run(self, commands: str) -> str:
        """Run commands and return their output. Fail if the last one fails. An extra line marks the end of a step."""
        self._ran += 1
        script, end = self._directory / f"step-{self._ran}.sh", f"end of step {self._ran}:"
        script.write_text(commands)
        assert self._bash.stdin
        self._bash.stdin.write(f'source "{script}" </dev/null; printf "\\n{end} %s\\n" $?\n')
        self._bash.stdin.flush()
        output = "".join(self._until(end))
        printed, _, status = output.rpartition(end)
        assert status.strip() == "0", f"{commands}\nended with {status or 'the shell'}:\n{printed}"
        return printed

    def _until(self, end: str) -> Iterator[str]:
        assert self._bash.stdout
        for line in self._bash.stdout:
            yield line
            if line.startswith(end):
                return

    def close(self) -> None:
        self._watch.cancel()
        self._kill()
        self._bash.communicate()

    def _kill(self) -> None:
        """Kill the shell and everything that it started, except the engines, which have their own sessions."""
        os.killpg(self._bash.pid, signal.SIGKILL)


@contextmanager
def opened(tmp_path: Path, folder: str, *, deadline_s: float = DEADLINE_S) -> Iterator[Shell]:
    """Open a shell for a page that starts engines in `folder`; stop the engines at the end."""
    bash = Shell(tmp_path, deadline_s=deadline_s)
    try:
        yield bash
    finally:
        bash.close()
        left = tmp_path / folder
        if left.exists():
            subprocess.run(["tidings", "engines", "stop"], cwd=left, env=bash.environment, check=True)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with opened(tmp_path, "first-chat") as bash:
        yield bash


def follow(shell: Shell, step: DocStep) -> None:
    printed = shell.run(step.script)
    unlike = differences(step, printed)
    if unlike and step.only_reads:
        unlike = eventually(
            lambda: None if differences(step, shell.run(step.commands)) else [],
            f"answer as shown under {step.title!r}; at first: {unlike}",
            deadline_s=10,
        )
    assert unlike == [], f"{step.title}\n{step.commands}\nprinted:\n{printed}"


@pytest.mark.long
def test_every_command_of_the_page_prints_what_the_page_shows(shell: Shell) -> None:
    for step in steps(PAGE):
        follow(shell, step)


STEP = DocStep(
    "7. Send",
    'anna "$API/v1/chats"',
    [
        ("text", "HTTP/1.1 200 …\n"),
        ("json", '{"id": "gAB.3", "at": "2026-11-15T06:15:09.275Z", "text": "hi", "users": ["anna"]}'),
    ],
)
TOLD = 'HTTP/1.1  200 OK\n{"id":"gXY.3","at":"2027-01-01T00:00:00.000Z","text":"hi","users":["anna"]}'


def test_ids_and_times_may_differ_from_the_page() -> None:
    assert differences(STEP, TOLD) == []


@pytest.mark.parametrize(
    ("shown", "instead"),
    [
        ('"text":"hi"', '"text":"ho"'),
        ('"text":"hi"', '"words":"hi"'),
        ('"text":"hi",', ""),
        ('"text":"hi"', '"text":"hi","more":1'),
        ('["anna"]', '["anna","ben"]'),
        ("gXY.3", "gXY.4"),
        ("2027-01-01T00:00:00.000Z", "yesterday"),
        ("200 OK", "201 Created"),
        ("}", "} {}"),
        ('{"id"', '"id"'),
    ],
)
def test_an_answer_that_is_not_as_shown_is_found(shown: str, instead: str) -> None:
    assert shown in TOLD
    assert differences(STEP, TOLD.replace(shown, instead))


def test_only_steps_that_read_are_repeated() -> None:
    asked_again = [step.commands for step in steps(PAGE) if step.only_reads]
    assert 'cleo "$API/v1/chats"\n' in asked_again
    assert not [text for text in asked_again if "-X" in text or "--json" in text or "=$(" in text]


def test_every_step_of_the_page_is_found() -> None:
    assert sum(len(step.shown) for step in steps(PAGE)) == PAGE.count("```json") + PAGE.count("```text")
    assert len(steps(PAGE)) == PAGE.count("```sh") > 25

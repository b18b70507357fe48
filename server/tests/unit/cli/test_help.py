"""`--help` prints complete sentences at any terminal width."""

import pytest
from click.testing import CliRunner

from tidings.cli import COMMANDS, tidings

WIDTH = "60"


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_summary_is_cut(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", WIDTH)
    shown = CliRunner().invoke(tidings, [command, "--help"], terminal_width=int(WIDTH)).output
    commands = shown.partition("Commands:")[2].replace("[OPTIONS] COMMAND [ARGS]...", "")
    assert "..." not in commands


def test_run_names_its_processes() -> None:
    shown = CliRunner().invoke(tidings, ["--help"], terminal_width=200).output
    (line,) = [line for line in shown.splitlines() if line.strip().startswith("run ")]
    for process in ("api", "gateway", "delivery", "relay", "notifications", "push"):
        assert process in line

"""The page on sending broadcasts: every command on it is run as it stands, and must answer as shown."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.page import steps
from e2e.test_walkthrough import Shell, follow

PAGE = (Path(__file__).parents[3] / "docs/howto/send-broadcasts.md").read_text()


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    bash = Shell(tmp_path)
    try:
        yield bash
    finally:
        bash.close()
        subprocess.run(
            ["tidings", "engines", "stop"], cwd=tmp_path / "broadcasts", env=bash.environment, check=True
        )


def test_every_command_of_the_page_works_and_answers_as_shown(shell: Shell) -> None:
    for step in steps(PAGE):
        follow(shell, step)

"""The how-to on restoring: every command runs as printed and must answer as shown."""

from pathlib import Path

import pytest
from e2e.docs_runner import steps
from e2e.test_walkthrough import follow, opened

PAGE = (Path(__file__).parents[3] / "docs/howto/restore-from-a-backup.md").read_text()


@pytest.mark.long
def test_every_command_of_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    with opened(tmp_path, "restore") as shell:
        for step in steps(PAGE):
            follow(shell, step)

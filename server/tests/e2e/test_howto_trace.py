"""The page on finding a message: every command on it is run as it stands, and must answer as shown."""

from pathlib import Path

from e2e.page import steps
from e2e.test_walkthrough import follow, opened

PAGE = (Path(__file__).parents[3] / "docs/howto/trace-a-message.md").read_text()


def test_every_command_of_the_page_works_and_answers_as_shown(tmp_path: Path) -> None:
    with opened(tmp_path, "find") as shell:
        for step in steps(PAGE):
            follow(shell, step)

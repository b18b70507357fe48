"""The table of mutants in the documentation equals the output of the command."""

from pathlib import Path

from click.testing import CliRunner

from tidings_harness.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "harness.md"


def test_the_table_of_mutants_is_current() -> None:
    result = CliRunner().invoke(main, ["mutants"])
    assert result.exit_code == 0
    assert f"<!-- mutants -->\n{result.output}<!-- end -->" in PAGE.read_text()


def test_the_table_of_inbox_mutants_is_current() -> None:
    result = CliRunner().invoke(main, ["notifications", "mutants"])
    assert result.exit_code == 0
    assert f"<!-- notification mutants -->\n{result.output}<!-- end -->" in PAGE.read_text()

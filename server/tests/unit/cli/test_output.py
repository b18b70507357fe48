"""Stored text on an operator's terminal is text: it obeys nothing, links nowhere and breaks no table."""

import json

import pytest
from rich.text import Text

from tidings.cli.output import SafeConsole, SafeTable, echo, echo_json

HOSTILE = (
    "[/x]",
    "[link=https://evil.example]Support[/link]",
    "[bold red]paid[/]",
    ":warning:",
    "\x1b]0;title\x07",
    "\x1b[2J",
    "\x9b2J",
    "\u202egnp.exe",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_shows_stored_text_without_control_characters(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = SafeTable("name", "next")
    table.add_row(text, "whole")
    SafeConsole().print(table)
    shown = capsys.readouterr().out
    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(shown)
    assert "whole" in shown
    if text.isprintable():
        assert text in shown


@pytest.mark.parametrize("text", HOSTILE)
def test_lines_have_no_control_characters(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    echo(text)
    SafeConsole().print(text)
    SafeConsole().print(Text.assemble(("user ", "bold"), text))
    shown = capsys.readouterr().out
    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(shown)
    if text.isprintable():
        assert shown.count(text) == 3


@pytest.mark.parametrize("text", HOSTILE)
def test_json_is_complete_and_ascii(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    echo_json({"name": text})
    shown = capsys.readouterr().out
    assert shown.strip().isascii()
    assert shown.strip().isprintable()
    assert json.loads(shown) == {"name": text}


def test_a_line_feed_does_not_make_a_row_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    table = SafeTable("name")
    table.add_row("anna\nroot  admin")
    SafeConsole().print(table)
    assert len(capsys.readouterr().out.splitlines()) == 2

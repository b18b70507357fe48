"""The page says what the models find."""

import pytest
from model.cases import HELD_WIDE
from model.page import PAGE, tables, with_tables


def test_the_tables_are_current() -> None:
    text = PAGE.read_text()
    assert with_tables(text, tables()) == text, "run `just models --write`"


def test_every_wide_search_was_written_down() -> None:
    text = PAGE.read_text()
    assert [bounds.what for bounds in HELD_WIDE if f"| {bounds.what} |" not in text] == []


def test_a_page_without_a_place_for_a_table_is_told() -> None:
    with pytest.raises(LookupError, match="'held'"):
        with_tables("no tables here", {"held": "| a |"})

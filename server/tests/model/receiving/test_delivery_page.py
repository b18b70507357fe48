"""The page says what the models of receiving find."""

from model.page import with_tables
from model.receiving.cases import HELD_WIDE
from model.receiving.page import PAGE, tables


def test_the_tables_are_current() -> None:
    text = PAGE.read_text()
    assert with_tables(text, tables()) == text, "run `just models --of delivery --write`"


def test_every_wide_search_was_written_down() -> None:
    text = PAGE.read_text()
    assert [bounds.what for bounds in HELD_WIDE if f"| {bounds.what} |" not in text] == []

"""The generated reference pages are current and complete."""

import re
from pathlib import Path

import pytest

import tidings_sdk
from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.patterns import PATTERNS
from tools.reference_pages.pages import PAGES, ROOT, render_all

FILES = render_all()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_page_is_current(path: Path) -> None:
    assert path.read_text() == FILES[path], "run: just docs"


def test_every_table_and_every_pattern_has_its_line() -> None:
    tables, patterns = PAGES["tables"](), PAGES["access-patterns"]()
    assert all(f"\n## {table.name}\n" in tables for table in TABLES)
    assert all(patterns.count(f"\n| `{pattern.name}` |") == 1 for pattern in PATTERNS)


def test_the_sdk_page_has_every_exported_name() -> None:
    assert set(re.findall(r"^## (\w+)$", PAGES["sdk-python"](), re.MULTILINE)) == set(tidings_sdk.__all__)

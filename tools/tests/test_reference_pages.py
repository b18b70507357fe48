"""The generated reference pages are current and complete."""

import re

import tidings_sdk
from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.patterns import PATTERNS
from tools.reference_pages.pages import PAGES, ROOT, render_all


def test_every_generated_page_is_current() -> None:
    stale = [str(path.relative_to(ROOT)) for path, text in render_all().items() if path.read_text() != text]
    assert stale == [], "run: just docs"


def test_every_table_and_every_pattern_has_its_line() -> None:
    tables, patterns = PAGES["tables"](), PAGES["access-patterns"]()
    assert all(f"\n## {table.name}\n" in tables for table in TABLES)
    assert all(patterns.count(f"\n| `{pattern.name}` |") == 1 for pattern in PATTERNS)


def test_the_sdk_page_has_every_exported_name() -> None:
    assert set(re.findall(r"^## (\w+)$", PAGES["sdk-python"](), re.MULTILINE)) == set(tidings_sdk.__all__)

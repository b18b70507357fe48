"""The generated reference pages are those that the code gives."""

from pathlib import Path

import pytest

from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.docs_page import PAGES
from tidings.schema.tables.patterns import PATTERNS

DOCS = Path(__file__).parents[5] / "docs" / "reference"


@pytest.mark.parametrize("name", PAGES)
def test_the_reference_page_is_current(name: str) -> None:
    assert (DOCS / f"{name}.md").read_text() == PAGES[name](), (
        f"run: uv run tidings tables doc {name} > docs/reference/{name}.md"
    )


def test_every_table_and_every_pattern_has_its_line() -> None:
    tables, patterns = PAGES["tables"](), PAGES["access-patterns"]()
    assert all(f"\n## {table.name}\n" in tables for table in TABLES)
    assert all(patterns.count(f"\n| `{pattern.name}` |") == 1 for pattern in PATTERNS)

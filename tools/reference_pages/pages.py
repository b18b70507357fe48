"""The list of generated pages, with the function that makes each."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tidings.api.openapi import COPY, SOURCE
from tools.reference_pages import cost, limits, metrics, sdk, settings, tables, topics

ROOT: Final = Path(__file__).parents[2]
REFERENCE: Final = ROOT / "docs" / "reference"
PAGES: Final[dict[str, Callable[[], str]]] = {
    "access-patterns": tables.patterns_page,
    "cost": cost.cost_page,
    "limits": limits.limits_page,
    "metrics": metrics.metrics_page,
    "sdk-python": sdk.sdk_page,
    "settings": settings.settings_page,
    "tables": tables.tables_page,
    "topics": topics.topics_page,
}
"""By file name in `docs/reference`, without `.md`."""


def render_all() -> dict[Path, str]:
    """Return every file that `just docs` writes, with its content.

    `errors.md` is written by hand; the API serves a copy of it.
    """
    pages = {REFERENCE / f"{name}.md": render() for name, render in PAGES.items()}
    return {**pages, ROOT / COPY: (ROOT / SOURCE).read_text()}

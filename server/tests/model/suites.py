"""The families of models, of sending, receiving and offline checks, with their pages, for `just models`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from model import cases, mutants, offline_checks, page
from model.cases import Bounds
from model.mutants import Break
from model.receiving import cases as receiving_cases
from model.receiving import mutants as receiving_mutants
from model.receiving import page as receiving_page


@dataclass(frozen=True)
class Suite:
    held: tuple[Bounds, ...]
    held_wide: tuple[Bounds, ...]
    breaks: tuple[Break, ...]
    page: Path
    tables: Callable[[], dict[str, str]]


SUITES = {
    "append": Suite(cases.HELD, cases.HELD_WIDE, mutants.BREAKS, page.PAGE, page.tables),
    "delivery": Suite(
        receiving_cases.HELD,
        receiving_cases.HELD_WIDE,
        receiving_mutants.BREAKS,
        receiving_page.PAGE,
        receiving_page.tables,
    ),
    "offline": Suite(
        offline_checks.HELD,
        offline_checks.HELD_WIDE,
        offline_checks.BREAKS,
        offline_checks.PAGE,
        offline_checks.tables,
    ),
}

"""The table of docs/explanation/simulation.md, written from what the simulation finds of its mutants."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from model.page import table, with_tables
from simulation.mutants import Mutant
from simulation.run import Verdict

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "simulation.md"


class Caught(NamedTuple):
    mutant: Mutant
    verdict: Verdict | None
    seeds: int

    @property
    def said(self) -> str:
        if self.verdict is None:
            return f"not caught in {self.seeds:,} seeds"
        return f"{self.verdict.seed + 1}"


def with_table(text: str, found: Iterable[Caught]) -> str:
    head = ("rule", "mutant: instead …", "seeds until caught", "by what")
    return with_tables(text, {"mutants": table(head, map(_row, found))})


def _row(caught: Caught) -> tuple[str, ...]:
    mutant, verdict = caught.mutant, caught.verdict
    by = "" if verdict is None else _short(verdict.breaches[0])
    return mutant.rule, f"`{mutant.name}`: {mutant.instead}", caught.said, by


def _short(breach: str) -> str:
    """Without the names of one seed."""
    return breach.partition(", began")[0][:90].replace("|", " ")

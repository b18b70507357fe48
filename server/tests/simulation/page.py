"""Write the table of docs/explanation/simulation.md from the results of the mutants."""

import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from model.page import table, with_tables
from simulation.mutants import EQUIVALENT, Mutant
from simulation.run import Tally, Verdict

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "simulation.md"


class Caught(NamedTuple):
    mutant: Mutant
    verdict: Verdict | None
    seeds: int

    @property
    def said(self) -> str:
        if self.verdict is None:
            return EQUIVALENT.get(self.mutant.name) or f"not detected in {self.seeds:,} seeds"
        return f"{self.verdict.seed + 1}"


def with_table(text: str, found: Iterable[Caught]) -> str:
    head = ("rule", "mutant: instead …", "seeds until detected", "violation")
    return with_tables(text, {"mutants": table(head, map(_row, found))})


class Run(NamedTuple):
    """A run of consecutive seeds with one version of the scenario."""

    first: int
    tally: Tally
    took_s: float


def with_run(text: str, run: Run) -> str:
    """Add a run to those on the page."""
    head = ("seeds", "count", "failed", "median CPU", "duration", "machine", "commit")
    rows = [tuple(line.strip("| ").split(" | ")) for line in _standing(text)]
    done = len(run.tally.took_ms)
    last = run.first + done - 1
    broken = ", ".join(str(each.seed) for each in run.tally.failed) or "none"
    rows.append(
        (
            f"{run.first:,} to {last:,}",
            f"{done:,}",
            broken,
            f"{run.tally.median_ms} ms",
            f"{run.took_s / 60:.0f} min",
            _machine(),
            _commit(),
        )
    )
    return with_tables(text, {"seeds": table(head, rows)})


def _standing(text: str) -> list[str]:
    lines = text.partition("<!-- seeds -->\n")[2].partition("<!-- end of seeds -->")[0].splitlines()
    return [line for line in lines[2:] if line]


def _machine() -> str:
    return f"{os.cpu_count()} cores of {platform.machine()}, shared; Python {platform.python_version()}"


def _commit() -> str:
    asked = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(asked, cwd=PAGE.parent, capture_output=True, text=True, check=True).stdout.strip()


def _row(caught: Caught) -> tuple[str, ...]:
    mutant, verdict = caught.mutant, caught.verdict
    by = "" if verdict is None else _short(verdict.breaches[0])
    return mutant.rule, f"`{mutant.name}`: {mutant.instead}", caught.said, by


def _short(breach: str) -> str:
    """Return the violation without the names of one seed."""
    return breach.partition(", began")[0][:90].replace("|", " ")

"""Print the figures of a benchmark: a table for readers, then one line of JSON for programs."""

import json
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Several runs of one measurement."""

    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.runs)

    def __str__(self) -> str:
        return f"{self.median:.1f} ({min(self.runs):.1f} to {max(self.runs):.1f})"


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    cells = [head, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for row in cells:
        sys.stdout.write(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
        )


def print_figures(figures: Mapping[str, float]) -> None:
    """Print the figures as JSON, on the last line of the output."""
    rounded = {name: round(value, 2 if abs(value) >= 1 else 4) for name, value in figures.items()}
    sys.stdout.write(json.dumps(rounded) + "\n")

"""What a gateway has done for its devices since its start, as plain numbers for metrics to read."""

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """`held`: pushes that came while a device resumed or read; `old`: those that it had. `ranges`: reads of the log."""

    pushes: int = 0
    entries: int = 0
    held: int = 0
    old: int = 0
    gaps: int = 0
    away: int = 0
    ranges: int = 0
    resumes: int = 0
    resumed_again: int = 0
    resumes_failed: int = 0

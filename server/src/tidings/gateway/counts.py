"""What a gateway has done for its devices since its start, as plain numbers for metrics to read."""

from dataclasses import dataclass


@dataclass(slots=True)
class GatewayStats:
    """`deferred`: pushes that came while a device resumed or read; `old`: those that it had. `ranges`: reads of the log."""

    pushes: int = 0
    entries: int = 0
    deferred: int = 0
    old: int = 0
    gaps: int = 0
    undelivered: int = 0
    ranges: int = 0
    resumes: int = 0
    resume_retries: int = 0
    resumes_failed: int = 0

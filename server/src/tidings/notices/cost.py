"""What a broadcast costs, and what it would cost to copy it to each user: from the ledgers, in write units. Pure."""

from typing import NamedTuple

DOLLARS_PER_UNIT = 0.625 / 1_000_000
BROADCAST_UNITS = 6
"""The key 1, the content in a transaction 4, the entry of the log 1; an item of up to 1 KB each."""
STEP_UNITS = 1
COPY_UNITS = 4
"""The row of a user and his counts, in one transaction."""


class CostEstimate(NamedTuple):
    write_units: int
    dollars: float
    copied_write_units: int
    copied_dollars: float


def estimate_cost(users: int, steps: int = 1) -> CostEstimate:
    """What users do with it is theirs: about a write for each who reads it."""
    units, copied = BROADCAST_UNITS + STEP_UNITS * (steps - 1), BROADCAST_UNITS + COPY_UNITS * users
    return CostEstimate(
        units, round(units * DOLLARS_PER_UNIT, 6), copied, round(copied * DOLLARS_PER_UNIT, 6)
    )

"""What a worker has done, as plain numbers: whoever scrapes reads them."""

from dataclasses import dataclass


@dataclass(slots=True)
class DeliveryStats:
    """`late`: entries whose truth was written and nothing else, because Redis did not answer; they come again."""

    handled: int = 0
    repeated: int = 0
    filled: int = 0
    pushed: int = 0
    stale: int = 0
    kept: int = 0
    rung: int = 0
    unreached: int = 0
    late: int = 0

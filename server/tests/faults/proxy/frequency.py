"""How often a fault applies, as a function of the number of the matching request (1, 2, 3 …).

Frequencies have no state, so an instance can be shared, and a seed reproduces the same faults.
"""

import random
from dataclasses import dataclass
from typing import Protocol


class Frequency(Protocol):
    """Decide whether the nth matching request is hit."""

    def strikes(self, nth: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class Always:
    """Hit every matching request until the fault is removed."""

    def strikes(self, nth: int) -> bool:
        return nth > 0


@dataclass(frozen=True, slots=True)
class Times:
    """Hit the first `count` matching requests, or the first `count` after skipping `after`."""

    count: int
    after: int = 0

    def strikes(self, nth: int) -> bool:
        return self.after < nth <= self.after + self.count


@dataclass(frozen=True, slots=True)
class Every:
    """Hit every kth matching request."""

    k: int

    def strikes(self, nth: int) -> bool:
        return nth % self.k == 0


@dataclass(frozen=True, slots=True)
class Chance:
    """Hit each matching request with this probability, derived from the seed and its number."""

    probability: float
    seed: int

    def strikes(self, nth: int) -> bool:
        return draw(self.seed, nth).random() < self.probability


@dataclass(frozen=True, slots=True)
class Between:
    """A duration in seconds from a range, derived from the seed and the number of the hit."""

    low_s: float
    high_s: float
    seed: int

    def seconds(self, nth: int) -> float:
        return draw(self.seed, nth).uniform(self.low_s, self.high_s)


def draw(seed: int, nth: int) -> random.Random:
    return random.Random(f"{seed}/{nth}")


ALWAYS = Always()

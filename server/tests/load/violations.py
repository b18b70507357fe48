"""What a checker found."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass
class Violations[R: StrEnum]:
    """The first example of each broken rule, and how many there are."""

    first: dict[R, object] = field(default_factory=dict)
    counts: Counter[R] = field(default_factory=Counter)

    def add(self, rule: R, example: object) -> None:
        self.first.setdefault(rule, example)
        self.counts[rule] += 1

    @property
    def found(self) -> dict[R, str]:
        return {rule: f"{self.counts[rule]} times, first: {example}" for rule, example in self.first.items()}

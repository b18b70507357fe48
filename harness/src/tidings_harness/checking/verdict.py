"""The result of the checker: for each rule the number of violations and some examples."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import Final

import numpy as np

from tidings_harness.history.events import Flags, Numbers

_EXAMPLES: Final = 10


class Rule(StrEnum):
    ONE_ENTRY = "one entry per sequence"
    ONE_SEQUENCE = "one sequence per message"
    EVERYTHING = "every device receives every entry"
    NO_HOLES = "in order, without holes"
    NOTHING_TWICE = "no duplicates"
    NOTHING_ELSE = "nothing outside a membership"
    FORWARD = "watermarks go forward"
    FAILED_IS_FAILED = "rejected sends never appear"
    UNREAD = "unread counts are exact"
    MUTED_IS_SILENT = "muted members send nothing"
    BANNED_IS_OUT = "banned users do not join"
    ERASED_IS_EMPTY = "erased messages are empty"
    OTHERS_STAY = "an erasure changes nothing else"
    ERASED_IS_OUT = "erased users are refused"


@dataclass(frozen=True, slots=True)
class Violation[R: StrEnum]:
    rule: R
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a history.

    `unsettled` are sends with an unknown outcome: they may be delivered to all members or to none. `unquiet` are devices
    that were not connected at the end, for which completeness is not checked.
    """

    events: int
    sends: int
    acked: int
    unsettled: int
    deliveries: int
    devices: int
    unquiet: int
    rows: int
    breaches: tuple[Violation[Rule], ...] = ()
    torn: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        return not self.breaches

    @property
    def lost(self) -> int:
        return self._count(Rule.EVERYTHING)

    @property
    def doubled(self) -> int:
        return self._count(Rule.NOTHING_TWICE) + self._count(Rule.ONE_SEQUENCE)

    @property
    def broken(self) -> set[Rule]:
        return {breach.rule for breach in self.breaches}

    def _count(self, rule: Rule) -> int:
        return sum(breach.count for breach in self.breaches if breach.rule is rule)


def merge_verdicts(epochs: Sequence[Verdict]) -> Verdict:
    """Combine the verdicts of a run with restores. The last history contains all sends."""
    last = epochs[-1]
    if len(epochs) == 1:
        return last
    return replace(
        last,
        events=sum(each.events for each in epochs),
        deliveries=sum(each.deliveries for each in epochs),
        rows=sum(each.rows for each in epochs),
        breaches=tuple(breach for each in epochs for breach in each.breaches),
        torn=tuple(torn for each in epochs for torn in each.torn),
    )


def violations(
    rule: Rule, where: Flags | Numbers, describe: Callable[[int], str]
) -> Iterable[Violation[Rule]]:
    """Return a violation for each flag or position: all are counted, and some are described."""
    places = np.flatnonzero(where) if where.dtype == np.bool_ else where
    if len(places):
        yield Violation(rule, len(places), tuple(describe(int(place)) for place in islice(places, _EXAMPLES)))

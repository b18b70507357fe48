"""Read and write units by access pattern, as DynamoDB's published rules make them from item sizes.

Computed, so that it costs nothing to ask for and holds on every engine; but for pages of a Query, whose many items
nobody weighs. `measured_…` is what the engine itself says, for clients that ask it to (`measure`); the tests hold one
against the other.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.responses import Consumed
from tidings.platform.telemetry.metrics import Metrics


@dataclass(slots=True, eq=False)
class PatternCounters:
    """Counts since the start; they only go up.

    `estimated` is the number of calls whose units had to be guessed, mostly from below: the item that a write
    changed, or what a projection left out, was not seen. Tries that went unanswered are not in the units.
    """

    pattern: str
    operation: str
    calls: int = 0
    retries: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    estimated: int = 0
    measured_table_units: float = 0.0
    measured_index_units: float = 0.0
    errors: Counter[str] = field(default_factory=Counter)

    def read(self, units: float, consumed: Iterable[Consumed] = (), *, is_exact: bool) -> None:
        self.read_units += units
        self._note(consumed, is_exact=is_exact)

    def write(self, units: float, consumed: Iterable[Consumed] = (), *, is_exact: bool) -> None:
        self.write_units += units
        self._note(consumed, is_exact=is_exact)

    def _note(self, consumed: Iterable[Consumed], *, is_exact: bool) -> None:
        if not is_exact:
            self.estimated += 1
        for part in consumed:
            table = part.Table.CapacityUnits if part.Table else part.CapacityUnits
            self.measured_table_units += table
            self.measured_index_units += part.CapacityUnits - table

    def count(self, error: DynamoError) -> None:
        self.errors[type(error).__name__] += 1


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure to export. `error` is empty for all but the counts of errors."""

    name: str
    pattern: str
    operation: str
    value: float
    error: str = ""


EXPORTED = (
    "calls",
    "retries",
    "read_units",
    "write_units",
    "estimated",
    "measured_table_units",
    "measured_index_units",
)


class CapacityLedger:
    """All rows of a client. Iterate it for what metrics export."""

    def __init__(self) -> None:
        self._rows: dict[str, PatternCounters] = {}

    def __getitem__(self, pattern: str) -> PatternCounters:
        """The row of a pattern that has been used."""
        return self._rows[pattern]

    def __iter__(self) -> Iterator[Sample]:
        for row in self._rows.values():
            for name in EXPORTED:
                yield Sample(name, row.pattern, row.operation, getattr(row, name))
            for error, value in row.errors.items():
                yield Sample("errors", row.pattern, row.operation, value, error)

    def open(self, pattern: str, operation: str) -> PatternCounters:
        return self._rows.setdefault(pattern, PatternCounters(pattern, operation))


_MEANINGS = {
    "calls": "Calls to DynamoDB.",
    "retries": "Tries after the first.",
    "read_units": "Read units, computed from item sizes.",
    "write_units": "Write units, computed from item sizes.",
    "estimated": "Calls whose units had to be guessed.",
}


def export_capacity(metrics: Metrics, ledger: CapacityLedger) -> None:
    """One series per pattern in use; there are as many as `schema/tables/patterns` has."""
    for name, meaning in _MEANINGS.items():
        metrics.counter_callbacks(
            f"dynamo_{name}_total", meaning, "pattern", partial(_by_pattern, ledger, name)
        )
    metrics.counter_callbacks(
        "dynamo_errors_total", "Answers that were refusals, or none.", "error", lambda: _errors(ledger)
    )


def _by_pattern(ledger: CapacityLedger, name: str) -> dict[str, float]:
    # a list first: the loop may add a row meanwhile
    return {count.pattern: count.value for count in list(ledger) if count.name == name}


def _errors(ledger: CapacityLedger) -> dict[str, float]:
    errors: Counter[str] = Counter()
    for count in list(ledger):
        if count.error:
            errors[count.error] += int(count.value)
    return dict(errors)

"""Read and write units by access pattern, computed from item sizes by DynamoDB's published rules.

Computing them costs no request and works with every engine. Only for a Query are the engine's own figures used, because
measuring many items is expensive. `measured_…` are the figures of the engine, for clients with `measure`; tests compare
both.
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
    """Counters since the start of the process.

    `estimated`: calls whose units are an estimate, usually too low, because the size of the changed item or of
    attributes outside the projection is unknown. Unanswered attempts are not included in the units.
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
        self._add_measured(consumed, is_exact=is_exact)

    def write(self, units: float, consumed: Iterable[Consumed] = (), *, is_exact: bool) -> None:
        self.write_units += units
        self._add_measured(consumed, is_exact=is_exact)

    def _add_measured(self, consumed: Iterable[Consumed], *, is_exact: bool) -> None:
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
    """One figure to export. `error` is set for counts of errors only."""

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
    """The counters of a client. Iterate it for the figures that metrics export."""

    def __init__(self) -> None:
        self._rows: dict[str, PatternCounters] = {}

    def __getitem__(self, pattern: str) -> PatternCounters:
        """Return the counters of a pattern that was used."""
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
    "retries": "Attempts after the first.",
    "read_units": "Read units, computed from item sizes.",
    "write_units": "Write units, computed from item sizes.",
    "estimated": "Calls whose units are estimated.",
}


def export_capacity(metrics: Metrics, ledger: CapacityLedger) -> None:
    """Export one series for each access pattern in use."""
    for name, meaning in _MEANINGS.items():
        metrics.counter_callbacks(
            f"dynamo_{name}_total", meaning, "pattern", partial(_by_pattern, ledger, name)
        )
    metrics.counter_callbacks(
        "dynamo_errors_total", "Calls that were refused or not answered.", "error", lambda: _errors(ledger)
    )


def _by_pattern(ledger: CapacityLedger, name: str) -> dict[str, float]:
    # Copy first: the event loop may add a pattern while this thread iterates.
    return {count.pattern: count.value for count in list(ledger) if count.name == name}


def _errors(ledger: CapacityLedger) -> dict[str, float]:
    errors: Counter[str] = Counter()
    for count in list(ledger):
        if count.error:
            errors[count.error] += int(count.value)
    return dict(errors)

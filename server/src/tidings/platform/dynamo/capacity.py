"""Read and write units by access pattern, computed from item sizes by DynamoDB's published rules.

Computing them costs no request and works with every engine. Only for a Query are the engine's own figures used, because
measuring many items is expensive. `measured_…` are the figures of the engine, for clients with `measure`; tests compare
both.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.partition_heat import PartitionHeat
from tidings.platform.dynamo.responses import Consumed
from tidings.platform.telemetry.metrics import LatencyCounts, Metrics


@dataclass(slots=True, eq=False)
class PatternCounters:
    """Counters since the start of the process.

    `estimated`: calls whose units are an estimate, usually too low, because the size of the changed item or of
    attributes outside the projection is unknown. Unanswered attempts are not included in the units.
    """

    pattern: str
    operation: str
    table: str = ""
    calls: int = 0
    retries: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    estimated: int = 0
    measured_table_units: float = 0.0
    measured_index_units: float = 0.0
    errors: Counter[str] = field(default_factory=Counter)
    latency: LatencyCounts = field(default_factory=LatencyCounts)
    """Duration of the calls, with all attempts and the wait for a connection."""

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
        self.heat = PartitionHeat()

    def __getitem__(self, pattern: str) -> PatternCounters:
        """Return the counters of a pattern that was used."""
        return self._rows[pattern]

    def __iter__(self) -> Iterator[Sample]:
        for row in self._rows.values():
            for name in EXPORTED:
                yield Sample(name, row.pattern, row.operation, getattr(row, name))
            for error, value in row.errors.items():
                yield Sample("errors", row.pattern, row.operation, value, error)

    def open(self, pattern: str, operation: str, table: str = "") -> PatternCounters:
        return self._rows.setdefault(pattern, PatternCounters(pattern, operation, table))

    def rows(self) -> list[PatternCounters]:
        """Return a copy that another thread can iterate while the event loop adds a pattern."""
        return list(self._rows.values())


_MEANINGS = {
    "calls": "Calls to DynamoDB.",
    "retries": "Attempts after the first.",
    "read_units": "Read units, computed from item sizes.",
    "write_units": "Write units, computed from item sizes.",
    "estimated": "Calls whose units are estimated.",
}


def export_capacity(metrics: Metrics, ledger: CapacityLedger, partition_keys: Mapping[str, str]) -> None:
    """Export one series for each access pattern in use, and the latency of each operation on each table.

    A pattern has one operation and its tables, so their labels add no series. The tables of a transaction are joined
    by `+`. `partition_keys`: the partition key's attribute of each table.
    """
    ledger.heat.watch(partition_keys)
    for name, meaning in _MEANINGS.items():
        labels = ("pattern", "table", "operation")
        metrics.counter_callbacks(f"dynamo_{name}_total", meaning, labels, partial(_by_pattern, ledger, name))
    metrics.counter_callbacks(
        "dynamo_hottest_partition_units_total",
        "Units of the most used partition of each table, from a sample of the calls.",
        ("table", "kind"),
        ledger.heat.totals,
    )
    metrics.counter_callbacks(
        "dynamo_errors_total", "Calls that were refused or not answered.", "error", lambda: _errors(ledger)
    )
    metrics.latency_callbacks(
        "dynamo_call_seconds",
        "Duration of calls to DynamoDB, with their retries and the wait for a connection.",
        ("table", "operation"),
        lambda: _latencies(ledger),
    )


def _by_pattern(ledger: CapacityLedger, name: str) -> dict[tuple[str, ...], float]:
    return {(row.pattern, row.table, row.operation): getattr(row, name) for row in ledger.rows()}


def _latencies(ledger: CapacityLedger) -> dict[tuple[str, ...], LatencyCounts]:
    found: dict[tuple[str, ...], LatencyCounts] = {}
    for row in ledger.rows():
        found.setdefault((row.table, row.operation), LatencyCounts()).add(row.latency)
    return found


def _errors(ledger: CapacityLedger) -> dict[str, float]:
    errors: Counter[str] = Counter()
    for row in ledger.rows():
        errors.update(dict(row.errors))
    return dict(errors)

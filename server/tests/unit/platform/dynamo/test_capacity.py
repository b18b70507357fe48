"""The counters of the ledger, and their export."""

from tidings.platform.dynamo import errors
from tidings.platform.dynamo.capacity import CapacityLedger, Sample
from tidings.platform.dynamo.responses import Consumed, Units


def test_a_ledger_row_adds_up_and_marks_estimates() -> None:
    row = CapacityLedger().open("read", "GetItem")
    row.read(0.5, is_exact=True)
    row.read(1.5, is_exact=False)
    row.write(3, is_exact=True)
    assert (row.read_units, row.write_units, row.estimated) == (2.0, 3.0, 1)


def test_measured_units_of_tables_and_indexes_are_separate() -> None:
    row = CapacityLedger().open("write", "PutItem")
    row.write(1, [Consumed(CapacityUnits=4.0, Table=Units(1.0))], is_exact=True)
    row.write(1, [Consumed(CapacityUnits=2.0)], is_exact=True)
    assert (row.measured_table_units, row.measured_index_units) == (3.0, 3.0)


def test_each_pattern_has_one_row() -> None:
    ledger = CapacityLedger()
    assert ledger.open("a", "GetItem") is ledger.open("a", "GetItem")
    assert ledger["a"].pattern == "a"


def test_metrics_can_read_every_count() -> None:
    ledger = CapacityLedger()
    row = ledger.open("write", "PutItem")
    row.calls = 2
    row.write(1, is_exact=True)
    row.count(errors.ThrottledError())
    row.count(errors.ThrottledError())
    counts = list(ledger)
    assert Sample("calls", "write", "PutItem", 2) in counts
    assert Sample("write_units", "write", "PutItem", 1.0) in counts
    assert Sample("errors", "write", "PutItem", 2, "ThrottledError") in counts

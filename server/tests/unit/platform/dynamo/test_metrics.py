"""A scrape shows the counters of the ledger."""

from tidings.platform.dynamo.capacity import CapacityLedger, export_capacity
from tidings.platform.dynamo.errors import ThrottledError
from tidings.platform.telemetry.metrics import MAX_SERIES, Metrics

LABELS = 'operation="PutItem",pattern="messages.append",table="messages"'


def page(metrics: Metrics) -> list[str]:
    return metrics.render().decode().splitlines()


def test_the_units_of_each_pattern_are_exported_at_collection() -> None:
    metrics, ledger = Metrics(), CapacityLedger()
    export_capacity(metrics, ledger, {})
    row = ledger.open("messages.append", "PutItem", "messages")
    row.calls += 1
    row.write(1, is_exact=True)
    assert f"tidings_dynamo_write_units_total{{{LABELS}}} 1.0" in page(metrics)
    row.write(2, is_exact=True)
    assert f"tidings_dynamo_write_units_total{{{LABELS}}} 3.0" in page(metrics)
    assert f"tidings_dynamo_calls_total{{{LABELS}}} 1.0" in page(metrics)


def test_latencies_are_exported_by_table_and_operation_over_all_patterns() -> None:
    metrics, ledger = Metrics(), CapacityLedger()
    export_capacity(metrics, ledger, {})
    ledger.open("messages.append", "PutItem", "messages").latency.observe(1 / 256)
    ledger.open("messages.announce", "PutItem", "messages").latency.observe(1 / 4)
    ledger.open("leases.probe", "GetItem", "leases").latency.observe(90)
    lines = [line for line in page(metrics) if line.startswith("tidings_dynamo_call_seconds")]
    name, labels = "tidings_dynamo_call_seconds", 'operation="PutItem",table="messages"'
    assert f'{name}_bucket{{le="0.0025",{labels}}} 0.0' in lines
    assert f'{name}_bucket{{le="0.005",{labels}}} 1.0' in lines
    assert f'{name}_bucket{{le="+Inf",{labels}}} 2.0' in lines
    assert f"{name}_sum{{{labels}}} {1 / 256 + 1 / 4}" in lines
    assert f'{name}_bucket{{le="60.0",operation="GetItem",table="leases"}} 0.0' in lines
    assert f'{name}_count{{operation="GetItem",table="leases"}} 1.0' in lines


def test_errors_are_counted_by_their_type_over_all_patterns() -> None:
    metrics, ledger = Metrics(), CapacityLedger()
    export_capacity(metrics, ledger, {})
    for name in ("messages.append", "messages.follow"):
        ledger.open(name, "PutItem").count(ThrottledError())
    assert 'tidings_dynamo_errors_total{error="ThrottledError"} 2.0' in page(metrics)


def test_a_page_does_not_grow_without_bound() -> None:
    metrics = Metrics()
    metrics.counter_callbacks(
        "things_total", "Things.", "kind", lambda: {f"k{n}": 1 for n in range(MAX_SERIES + 5)}
    )
    lines = [line for line in page(metrics) if line.startswith("tidings_things_total{")]
    assert len(lines) == MAX_SERIES + 1
    assert 'tidings_things_total{kind="left out"} 5.0' in lines

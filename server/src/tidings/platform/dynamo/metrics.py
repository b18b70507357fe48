"""The ledger for Prometheus: what each access pattern costs, read when somebody scrapes. A call pays nothing for it."""

from collections import Counter
from functools import partial

from tidings.platform.dynamo.ledger import CapacityLedger
from tidings.platform.telemetry.metrics import Metrics

_MEANINGS = {
    "calls": "Calls to DynamoDB.",
    "retries": "Tries after the first.",
    "read_units": "Read units, computed from item sizes.",
    "write_units": "Write units, computed from item sizes.",
    "estimated": "Calls whose units had to be guessed.",
}


def export_capacity(metrics: Metrics, ledger: CapacityLedger) -> None:
    """One series per pattern in use; there are as many as `tables/patterns` has."""
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

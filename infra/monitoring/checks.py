"""Check dashboards, alerts and runbooks: against the declared metrics, with promtool, and over the recording."""

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from infra.generated import PROMETHEUS
from infra.monitoring.alerts import ALERTS
from infra.monitoring.dashboards import DASHBOARDS
from infra.monitoring.model import Alert, Dashboard
from infra.monitoring.recorded import STEP_S, RecordedPrometheus
from infra.monitoring.rules import RULES_FILE, TESTS_FILE
from infra.monitoring.runbooks import commands_of
from tools.reference_pages.metrics import declared_metrics

_METRIC: Final = re.compile(r"\b(?:tidings_[a-z0-9_]+|process_[a-z_]+|up)\b(?=[{\[) ]|$)")
_HISTOGRAM: Final = ("_bucket", "_sum", "_count")
_FIRES_AFTER_S: Final = 45.0
"""How long after the end of a fault the expression may become true: delays are observed when work is done."""
_CALM_S: Final = 8.0
"""How long before the first fault no alert may be raised. Earlier, the installation starts."""
_RAN: Final = {0, 1}
"""Exit codes of a command that ran. 1 is that of `tidings doctor` for a problem."""


def all_alerts() -> list[Alert]:
    return [alert for alerts in ALERTS.values() for alert in alerts]


def unknown_metrics(exprs: Iterable[str]) -> list[str]:
    """Return the metrics of the expressions that no process exports."""
    ours = {name for name in used_series(exprs) if name.startswith("tidings_")}
    return sorted(ours - _exported_series())


def used_series(exprs: Iterable[str]) -> set[str]:
    """Return the names of the series in the expressions."""
    return {name for expr in exprs for name in _METRIC.findall(expr)}


@cache
def _exported_series() -> frozenset[str]:
    """Return the names of all series. A histogram has three."""
    names = [(f"tidings_{metric.name}", metric.kind == "histogram") for metric in declared_metrics()]
    plain = {name for name, is_histogram in names if not is_histogram}
    return frozenset(
        plain | {name + end for name, is_histogram in names if is_histogram for end in _HISTOGRAM}
    )


def used_expressions(
    dashboards: Sequence[Dashboard] = DASHBOARDS, alerts: Sequence[Alert] | None = None
) -> Iterator[str]:
    for dashboard in dashboards:
        for panel in dashboard.panels:
            yield from (query.expr for query in panel.queries)
    yield from (alert.expr for alert in (all_alerts() if alerts is None else alerts))


def panels_without_data(
    prometheus: RecordedPrometheus, dashboards: Sequence[Dashboard] = DASHBOARDS
) -> list[str]:
    return [
        f"{dashboard.name}: {panel.title}: {query.expr}"
        for dashboard in dashboards
        for panel in dashboard.panels
        if panel.is_recorded
        for query in panel.queries
        if not prometheus.query(query.expr)
    ]


def alerts_not_raised(
    prometheus: RecordedPrometheus, recording: dict[str, Any], alerts: Sequence[Alert] | None = None
) -> list[str]:
    """Return the alerts whose fault did not make their expression true, or that were true before any fault.

    Alerts of latency are not checked before the fault: they depend on the load of the machine that recorded.
    """
    faults = {fault["name"]: fault for fault in recording["faults"]}
    calm_until = min(fault["from"] for fault in faults.values())
    missed = []
    for alert in (each for each in (all_alerts() if alerts is None else alerts) if each.is_raised):
        fault = faults[alert.fault]
        if not prometheus.query(alert.expr, fault["from"], fault["to"] + _FIRES_AFTER_S):
            missed.append(f"{alert.name}: not raised by {alert.fault}")
        is_latency = "histogram_quantile" in alert.expr
        if not is_latency and prometheus.query(alert.expr, calm_until - _CALM_S, calm_until - STEP_S):
            missed.append(f"{alert.name}: raised before the first fault")
    return missed


def runbooks_exercised(recording: dict[str, Any], sections: dict[str, str]) -> list[str]:
    """Return the alerts whose commands all ran, as the page has them now, while the alert's fault lasted."""
    ran = {
        (each["alert"], each["command"])
        for each in recording["commands"]
        if each["exit"] in _RAN and each["lines"]
    }
    found = []
    for alert in all_alerts():
        commands = commands_of(alert, sections)
        if commands and all((alert.name, command) in ran for command in commands):
            found.append(alert.name)
    return found


def rule_faults_by_promtool(folder: Path = PROMETHEUS) -> str:
    """Return promtool's output if it refuses the rules or a test fails, otherwise an empty text."""
    for command in (["check", "rules", RULES_FILE], ["test", "rules", TESTS_FILE]):
        done = subprocess.run(["promtool", *command], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stdout + done.stderr
    return ""

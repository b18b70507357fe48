"""Dashboards, panels and alerts as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

type Unit = Literal["s", "bytes", "Bps", "reqps", "ops", "percentunit", "short"]
"""Units as Grafana names them."""
RATE_INTERVAL = "$__rate_interval"
"""Grafana replaces it by a window of at least four scrapes."""


@dataclass(frozen=True, slots=True)
class Query:
    """`legend` is Grafana's template of a series' name, such as `{{process}}`."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One graph. `help` says what a reader sees and when to worry.

    `is_recorded` False: of processes that do not run in the recorded fault run.
    """

    title: str
    queries: Sequence[Query]
    unit: Unit = "short"
    help: str = ""
    is_recorded: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """`name` is the name of its file and its identifier in Grafana."""

    name: str
    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A promtool test: series with values in promtool's notation, one each 15 s.

    `labels` are those of the alert that fires after the time `at`. With None it must not fire.
    """

    series: dict[str, str]
    at: str = "15m"
    labels: dict[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert and its tests.

    `fault` is the step of the recorded fault run in which the commands of the runbook run. It makes the expression
    true, except with `is_raised` False: the run is too short or too small for that. `process` is the kind of process
    whose admin address the commands use. The runbook is the section of docs/howto/act-on-alerts.md that has the
    alert's name.
    """

    name: str
    expr: str
    wait: str
    severity: Literal["page", "ticket"]
    summary: str
    fault: str
    process: str = "gateway"
    is_raised: bool = True
    cases: Sequence[Case]

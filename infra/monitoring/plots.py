"""Plot the panels of each dashboard over the recording, so that a person can look at them without Grafana."""

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from infra.monitoring.dashboards import DASHBOARDS
from infra.monitoring.model import Dashboard, Panel
from infra.monitoring.recorded import RecordedPrometheus

_MAX_LEGEND = 9


def plot_all(prometheus: RecordedPrometheus, recording: dict[str, Any], folder: Path) -> list[Path]:
    """Write one picture for each dashboard and return the files."""
    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    return [_plot(dashboard, prometheus, recording, folder) for dashboard in DASHBOARDS]


def _plot(
    dashboard: Dashboard, prometheus: RecordedPrometheus, recording: dict[str, Any], folder: Path
) -> Path:
    rows = -(-len(dashboard.panels) // 2)
    figure, axes = plt.subplots(rows, 2, figsize=(16, 3.4 * rows), squeeze=False, layout="constrained")
    for panel, axis in zip(dashboard.panels, axes.flat, strict=False):
        _draw(panel, axis, prometheus)
        for fault in recording["faults"]:
            axis.axvspan(fault["from"] - prometheus.start, fault["to"] - prometheus.start, alpha=0.12)
    for axis in list(axes.flat)[len(dashboard.panels) :]:
        axis.axis("off")
    figure.suptitle(dashboard.title)
    path = folder / f"{dashboard.name}.png"
    figure.savefig(path, dpi=60)
    plt.close(figure)
    return path


def _draw(panel: Panel, axis: Any, prometheus: RecordedPrometheus) -> None:  # noqa: ANN401 - matplotlib has no types
    for query in panel.queries:
        for series in prometheus.query(query.expr):
            name = query.legend
            for label in re.findall(r"\{\{(\w+)\}\}", name):
                name = name.replace(f"{{{{{label}}}}}", series.labels.get(label, ""))
            times = [at - prometheus.start for at, _ in series.values]
            axis.plot(times, [value for _, value in series.values], label=name or "value", linewidth=1.2)
    axis.set_title(f"{panel.title} ({panel.unit})", fontsize=9)
    axis.set_ylim(bottom=0)
    if 0 < len(axis.lines) <= _MAX_LEGEND:
        axis.legend(fontsize=7)

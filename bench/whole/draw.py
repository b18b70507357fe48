"""Draw plots as SVG from results. Text remains text, and the same results give the same bytes."""

import io
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from bench.whole.model import Figure, Growth, Latency, Line, Shares
from bench.whole.words import number, short

_COLOURS = ("#1f6feb", "#d1652b", "#2a9d5c", "#8250df", "#9a6700", "#cf222e", "#57606a", "#0a7ea4")
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "tidings",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e7eb",
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=_COLOURS),
    "legend.frameon": False,
}
_ROOM = 1.8
"""Margin factor of a logarithmic axis. It makes a constant line look constant."""
_WIDE_IN, _HIGH_IN = 5.2, 3.5
_ACROSS = 2
_TITLE_CHARS = 52
_DECADES = 200.0


def growth_svg(growth: Growth) -> str:
    """Draw one panel for each unit. Both axes are logarithmic: linear growth is a straight line of slope one."""
    units = list(dict.fromkeys(line.unit for line in growth.lines))
    with mpl.rc_context(_STYLE):
        picture, panels = _panels(len(units))
        for unit, axes in zip(units, panels, strict=False):
            _grow(axes, [line for line in growth.lines if line.unit == unit], growth.along, unit)
        return _svg(picture, growth.title)


def _grow(axes: Axes, lines: Sequence[Line], along: str, unit: str) -> None:
    for line in lines:
        xs, medians = [p.x for p in line.points], [p.median for p in line.points]
        lows, highs = [min(p.runs) for p in line.points], [max(p.runs) for p in line.points]
        axes.plot(xs, medians, marker="o", markersize=4, label=line.name)
        axes.fill_between(xs, lows, highs, alpha=0.15)
    values = [run for line in lines for p in line.points for run in p.runs if run > 0]
    axes.set(xscale="log", yscale="log", xlabel=along, ylabel=unit)
    if values:
        axes.set_ylim(min(values) / _ROOM, max(values) * _ROOM)
    _plain_numbers(axes.yaxis)
    axes.set_xticks(sorted({point.x for line in lines for point in line.points}))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short(x)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=8)


def latency_svg(latencies: Sequence[Latency]) -> str:
    """Draw latency by percentile, with the axis of HdrHistogram's own plots."""
    with mpl.rc_context(_STYLE):
        picture, (axes,) = _panels(1, _WIDE_IN * 1.5)
        for latency in latencies:
            shown = [(share, ms) for share, ms in latency.points if share < 100]  # noqa: PLR2004 - percent
            axes.plot([1 / (1 - s / 100) for s, _ in shown], [ms for _, ms in shown], label=latency.name)
        shares = [share for share, _ in latencies[0].points if share in {0.0, 50.0, 90.0, 99.0, 99.9, 99.99}]
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="percentile of messages",
            ylabel="send to delivery, ms",
        )
        axes.set_xticks([1 / (1 - share / 100) for share in shares], [f"{share:g}" for share in shares])
        _plain_numbers(axes.yaxis)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.legend(loc="upper left", fontsize=8)
        return _svg(picture, "latency")


def shares_svg(shares: Shares) -> str:
    """Draw one stacked bar for each `of`."""
    bars = list(dict.fromkeys(share.of for share in shares.shares))
    names = list(dict.fromkeys(share.name for share in shares.shares))
    values = {(share.of, share.name): share.value for share in shares.shares}
    with mpl.rc_context(_STYLE):
        picture, (axes,) = _panels(1, _WIDE_IN * 1.7, 1.1 + 0.6 * len(bars))
        left = [0.0] * len(bars)
        for name, colour in zip(names, _COLOURS * len(names), strict=False):
            widths = [values.get((bar, name), 0.0) for bar in bars]
            axes.barh(bars, widths, left=left, label=name, color=colour)
            left = [done + width for done, width in zip(left, widths, strict=True)]
        axes.invert_yaxis()
        axes.set_xlabel(shares.unit)
        axes.grid(visible=False, axis="y")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        return _svg(picture, shares.title)


def compared_svg(title: str, rows: Sequence[tuple[str, Sequence[tuple[str, Figure]]]]) -> str:
    """Draw one panel for each figure: a dot at the median, and whiskers from the lowest to the highest value."""
    with mpl.rc_context(_STYLE):
        picture, panels = _panels(len(rows), high_in=2.3)
        for axes, (name, figures) in zip(panels, rows, strict=False):
            _dots(axes, name, figures)
        return _svg(picture, title)


def _dots(axes: Axes, name: str, figures: Sequence[tuple[str, Figure]]) -> None:
    for peer, figure in figures:
        colour = _COLOURS[0] if peer == "Tidings" else _COLOURS[6]
        ends = [[figure.median - min(figure.runs)], [max(figure.runs) - figure.median]]
        axes.errorbar([figure.median], [peer], xerr=ends, fmt="o", color=colour, capsize=2)
    runs = [run for _, figure in figures for run in figure.runs]
    axes.set(xscale="log", xlim=(min(runs) / _ROOM, max(runs) * _ROOM))
    axes.set_title(textwrap.fill(name, _TITLE_CHARS), fontsize=9, loc="left")
    axes.invert_yaxis()
    axes.margins(y=0.15)
    _plain_numbers(axes.xaxis)


def _panels(count: int, wide_in: float = _WIDE_IN, high_in: float = _HIGH_IN) -> tuple[Picture, list[Axes]]:
    """Create panels in rows and hide the unused ones. Without pyplot, which has global state."""
    across = min(count, _ACROSS)
    deep = -(-count // across)
    picture = Picture(figsize=(wide_in * across, high_in * deep), layout="constrained")
    panels = list(picture.subplots(deep, across, squeeze=False).ravel())
    for axes in panels[count:]:
        axes.set_axis_off()
    return picture, panels


def _plain_numbers(axis: Axis) -> None:
    """Label a logarithmic axis at powers of ten, and at two and five times them if it shows few decades."""
    low, high = sorted(axis.get_view_interval())
    steps = (1.0,) if high / low > _DECADES else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_locator(NullLocator())


def _svg(picture: Picture, title: str) -> str:
    out = io.StringIO()
    picture.savefig(out, format="svg", metadata={"Date": None, "Title": title})
    return "\n".join(row.rstrip() for row in out.getvalue().splitlines()) + "\n"

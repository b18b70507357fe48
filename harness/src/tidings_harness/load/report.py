"""The verdict of a ramp: one line of JSON, and a page with plots that needs no other file."""

import html
import json
import math
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, Final

from hdrh.histogram import HdrHistogram

from tidings_harness.load.ramp import RampOptions, RampResult, StepResult

SHARES: Final = (50.0, 90.0, 99.0, 99.9)
_CURVE: Final = (0.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99)
_WIDE, _HIGH, _LEFT, _BOTTOM = 560, 260, 60, 40
_PAGE: Final = files("tidings_harness.load").joinpath("verdict.html").read_text()
_COLOURS: Final = ("#1f6feb", "#d1652b", "#2a9d5c", "#cf222e")

type Line = tuple[str, Sequence[tuple[float, float]]]


def load_figures(result: RampResult, options: RampOptions) -> dict[str, Any]:
    """Return the verdict. The histograms are in HdrHistogram's own compressed encoding."""
    best = result.best(options.limit_ms)
    return {
        "limit_ms": options.limit_ms,
        "max_rate": None if best is None else best.rate,
        "ended_by": result.ended_by,
        "at_max_rate": None if best is None else _step_figures(best),
        "steps": [_step_figures(step) for step in result.steps],
    }


def load_line(figures: dict[str, Any]) -> str:
    """Return the verdict in one line, without the histograms."""
    best = figures["at_max_rate"] or {}
    kept = {name: value for name, value in best.items() if not name.endswith("_hdr")}
    short = {name: figures[name] for name in ("limit_ms", "max_rate", "ended_by")}
    return json.dumps({**short, "steps": len(figures["steps"]), **kept})


def _step_figures(step: StepResult) -> dict[str, Any]:
    return {
        "rate": round(step.rate, 1),
        "sent": step.sent,
        "acked": step.acked,
        "delivered": step.delivered,
        "doubled": step.doubled,
        "errors": step.errors,
        "loader_cpu": round(step.loader_cpu, 3),
        "acked_ms": _percentiles(step.acked_us),
        "delivered_ms": _percentiles(step.delivered_us),
        "acked_hdr": step.acked_us.encode().decode(),
        "delivered_hdr": step.delivered_us.encode().decode(),
    }


def _percentiles(histogram: HdrHistogram) -> dict[str, float]:
    return {f"p{share:g}": histogram.get_value_at_percentile(share) / 1_000 for share in SHARES}


def load_page(result: RampResult, options: RampOptions) -> str:
    """Return the page as HTML."""
    best = result.best(options.limit_ms)
    verdict = (
        f"{best.rate:,.0f} messages a second within {options.limit_ms:g} ms (p99, send to delivery)"
        if best
        else f"No step kept the limit of {options.limit_ms:g} ms"
    )
    ended = html.escape(result.ended_by)
    curves = [*_curves(best or result.steps[0])]
    plots = [
        _plot("p99 by rate", "messages a second", "ms", _by_rate(result.steps), limit=options.limit_ms),
        _plot("Latency at the verdict's rate", "percentile", "ms", curves, ticks=_percentile_tick),
        _plot("CPU of the loader", "messages a second", "share of a core", [_cpu(result.steps)]),
    ]
    return _PAGE.format(
        verdict=verdict, ended=ended, plots="\n".join(plots), rows="\n".join(map(_row, result.steps))
    )


def _by_rate(steps: Sequence[StepResult]) -> list[Line]:
    def line(name: str, of: Callable[[StepResult], HdrHistogram]) -> Line:
        return name, [(s.rate, of(s).get_value_at_percentile(99) / 1_000) for s in steps]

    return [line("send to ack", lambda s: s.acked_us), line("send to delivery", lambda s: s.delivered_us)]


def _curves(step: StepResult) -> list[Line]:
    """Return both histograms over nines: 90 %, 99 % and 99.9 % have the same distance."""
    found = (("send to ack", step.acked_us), ("send to delivery", step.delivered_us))
    return [
        (name, [(_nines(share), each.get_value_at_percentile(share) / 1_000) for share in _CURVE])
        for name, each in found
    ]


def _nines(share: float) -> float:
    return -math.log10(1 - share / 100)


def _percentile_tick(nines: float) -> str:
    return f"{100 * (1 - 10**-nines):.4g} %"


def _cpu(steps: Sequence[StepResult]) -> Line:
    return "loader", [(s.rate, s.loader_cpu) for s in steps]


def _plot(
    title: str,
    along: str,
    unit: str,
    lines: Sequence[Line],
    *,
    limit: float | None = None,
    ticks: Callable[[float], str] = "{:.4g}".format,
) -> str:
    """Draw lines as SVG, both axes from zero."""
    points = [point for _, line in lines for point in line]
    widest = max((x for x, _ in points), default=1.0) or 1.0
    highest = max([y for _, y in points] + ([limit] if limit else []), default=1.0) or 1.0

    def at(x: float, y: float) -> str:
        right, up = _LEFT + x / widest * (_WIDE - _LEFT - 10), _HIGH - _BOTTOM
        return f"{right:.1f},{up - y / highest * (up - 30):.1f}"

    parts = [f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img"><title>{title}</title>']
    parts.append(f'<text x="{_LEFT}" y="16" class="title">{title}, {unit}</text>')
    for share in (0.0, 0.5, 1.0):
        x, y = at(widest * share, 0).split(",")
        parts.append(f'<text x="{x}" y="{_HIGH - 22}" text-anchor="middle">{ticks(widest * share)}</text>')
        _, y = at(0, highest * share).split(",")
        parts.append(f'<text x="{_LEFT - 6}" y="{y}" text-anchor="end">{highest * share:.4g}</text>')
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDE - 10}" y1="{y}" y2="{y}" stroke="#e4e7eb"/>')
    parts.append(f'<text x="{_WIDE / 2}" y="{_HIGH - 6}" text-anchor="middle">{along}</text>')
    for n, (name, line) in enumerate(lines):
        path = " ".join(at(x, y) for x, y in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{_COLOURS[n]}" stroke-width="2"/>')
        label = f'x="{_WIDE - 12}" y="{16 + 14 * n}" text-anchor="end" fill="{_COLOURS[n]}"'
        parts.append(f"<text {label}>{name}</text>")
    if limit:
        ends = f'points="{at(0, limit)} {at(widest, limit)}"'
        parts.append(f'<polyline {ends} stroke="{_COLOURS[3]}" stroke-dasharray="4 3"/>')
    return "".join([*parts, "</svg>"])


def _row(step: StepResult) -> str:
    errors = ", ".join(f"{code}: {count}" for code, count in step.errors.items()) or "none"
    acked, delivered = _percentiles(step.acked_us), _percentiles(step.delivered_us)
    cells = [
        f"{step.rate:,.0f}",
        f"{step.delivered:,} of {step.sent:,}",
        f"{acked['p50']:.1f} / {acked['p99']:.1f}",
        f"{delivered['p50']:.1f} / {delivered['p99']:.1f}",
        f"{step.loader_cpu:.0%}",
        html.escape(errors),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"

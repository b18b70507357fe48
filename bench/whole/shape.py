"""Flat, linear or worse: what a line of measured points is called. Pure."""

import math
from collections.abc import Iterable, Sequence

from bench.whole.model import Line, Point, Shape

FLAT_WITHIN = 1.6
"""So much more at the end than at the beginning is no growth: two runs of one thing differ by as much on a busy machine."""
_TAIL = 3
_FLATTENS, _LINEAR_FROM, _WORSE_FROM = 0.25, 0.75, 1.25


def line(name: str, unit: str, points: Iterable[tuple[float, float | Sequence[float]]]) -> Line:
    made = tuple(Point(x, (float(y),) if isinstance(y, int | float) else tuple(y)) for x, y in points)
    return Line(name=name, unit=unit, points=made, shape=shape_of(made))


def shape_of(points: Sequence[Point]) -> Shape:
    """By the last points, because there a line shows where it goes; the first ones may be all fixed cost."""
    first, last = points[0], points[-1]
    times_x, times_y = last.x / first.x, _positive(last.median) / _positive(first.median)
    exponent = _slope(points[-_TAIL:])
    top = max(points, key=lambda point: point.median)
    summit = _positive(top.median) / _positive(first.median)
    if summit <= FLAT_WITHIN * max(1.0, times_y):
        return Shape(_word(times_y, exponent), exponent, times_x, times_y)
    return Shape("higher in between", exponent, times_x, times_y, top.x, summit)


def _word(times_y: float, exponent: float) -> str:
    if times_y <= FLAT_WITHIN:
        return "flat"
    if exponent < _FLATTENS:
        return "flat at the end"
    if exponent < _LINEAR_FROM:
        return "less than linear"
    return "linear" if exponent < _WORSE_FROM else "worse than linear"


def _slope(points: Sequence[Point]) -> float:
    """Least squares over logarithms."""
    logs = [(math.log(point.x), math.log(_positive(point.median))) for point in points]
    mean_x, mean_y = (sum(pair[i] for pair in logs) / len(logs) for i in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread if spread else 0.0


def _positive(value: float) -> float:
    """CPU is counted in ticks: nothing at all may mean less than one."""
    return max(value, 1e-6)

"""Classify the growth of a line of measured points: constant, linear, superlinear."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from bench.whole.model import Point

FLAT_WITHIN = 1.6
"""Factor below which a difference is not growth: two runs of the same work differ by as much on a busy machine."""
_TAIL = 3
_HARDLY, _LINEAR_FROM, _WORSE_FROM = 0.25, 0.75, 1.25

type Word = Literal["constant", "falls", "peak", "nearly constant", "sublinear", "linear", "superlinear"]


class Shape(NamedTuple):
    """The classification of a line.

    With `of_tail`, `word` applies only to the last points, which begin at `tail_x`; there, twice the quantity costs
    `doubled` times as much. `summit` is the highest point of a line that falls again.
    """

    word: Word
    tail_x: float
    doubled: float
    summit: Point | None = None

    @property
    def of_tail(self) -> bool:
        return self.word not in {"constant", "falls", "peak"}


def shape_of(points: Sequence[Point]) -> Shape:
    """Classify a line by its last points, because fixed costs dominate the first ones."""
    first, last, top = points[0], points[-1], max(points, key=lambda point: point.median)
    tail = points[-_TAIL:]
    exponent = _slope(tail)
    ends = max(_positive(first.median), _positive(last.median))
    if _positive(top.median) > FLAT_WITHIN * ends:
        return Shape("peak", tail[0].x, 2**exponent, top)
    return Shape(_word(_positive(last.median) / _positive(first.median), exponent), tail[0].x, 2**exponent)


def _word(times: float, exponent: float) -> Word:
    if times < 1 / FLAT_WITHIN:
        return "falls"
    if times <= FLAT_WITHIN:
        return "constant"
    if exponent < _HARDLY:
        return "nearly constant"
    if exponent < _LINEAR_FROM:
        return "sublinear"
    return "linear" if exponent < _WORSE_FROM else "superlinear"


def _slope(points: Sequence[Point]) -> float:
    """Return the slope of a least-squares fit over logarithms."""
    logs = [(math.log(point.x), math.log(_positive(point.median))) for point in points]
    mean_x, mean_y = (sum(pair[i] for pair in logs) / len(logs) for i in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread if spread else 0.0


def _positive(value: float) -> float:
    """Replace zero, which means less than the resolution of the CPU counters, by a small positive value."""
    return max(value, 1e-6)

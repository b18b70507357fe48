"""Flat, linear or worse: what a line of measured points is called. Pure."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from bench.whole.model import Point

FLAT_WITHIN = 1.6
"""So much more or less is no growth: two runs of one thing differ by as much on a busy machine."""
_TAIL = 3
_HARDLY, _LINEAR_FROM, _WORSE_FROM = 0.25, 0.75, 1.25

type Word = Literal[
    "flat", "falls", "highest", "hardly grows", "grows less than linearly", "linear", "worse than linear"
]


class Shape(NamedTuple):
    """`of_tail`: the word is true of the last points only, which begin at `tail_x`; `doubled`: how many times as much
    twice as many cost there. `summit`: the highest point of a line that comes down again.
    """

    word: Word
    tail_x: float
    doubled: float
    summit: Point | None = None

    @property
    def of_tail(self) -> bool:
        return self.word not in {"flat", "falls", "highest"}


def shape_of(points: Sequence[Point]) -> Shape:
    """By the last points, because there a line shows where it goes; the first ones may be all fixed cost."""
    first, last, top = points[0], points[-1], max(points, key=lambda point: point.median)
    tail = points[-_TAIL:]
    exponent = _slope(tail)
    ends = max(_positive(first.median), _positive(last.median))
    if _positive(top.median) > FLAT_WITHIN * ends:
        return Shape("highest", tail[0].x, 2**exponent, top)
    return Shape(_word(_positive(last.median) / _positive(first.median), exponent), tail[0].x, 2**exponent)


def _word(times: float, exponent: float) -> Word:
    if times < 1 / FLAT_WITHIN:
        return "falls"
    if times <= FLAT_WITHIN:
        return "flat"
    if exponent < _HARDLY:
        return "hardly grows"
    if exponent < _LINEAR_FROM:
        return "grows less than linearly"
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

"""Classification of lines of points."""

import pytest
from bench.whole.model import line
from bench.whole.shape import Shape, shape_of


def shape(*ys: float) -> Shape:
    return shape_of(line("it", "µs", zip((1.0, 10.0, 100.0, 1_000.0), ys, strict=True)).points)


@pytest.mark.parametrize(
    ("ys", "expected"),
    [
        ((100, 90, 120, 110), "constant"),
        ((100, 60, 30, 10), "falls"),
        ((100, 200, 500, 1_100), "sublinear"),
        ((100, 290, 300, 310), "nearly constant"),
        ((1, 10, 100, 1_000), "linear"),
        ((1_000, 1_010, 1_100, 2_000), "nearly constant"),
        ((1, 100, 10_000, 1_000_000), "superlinear"),
    ],
)
def test_a_line_is_classified_by_its_last_points(ys: tuple[float, ...], expected: str) -> None:
    assert shape(*ys).word == expected


def test_a_shape_has_the_start_of_its_tail_and_the_cost_of_doubling() -> None:
    found = shape(1, 10, 100, 1_000)
    assert (found.of_tail, found.tail_x) == (True, 10.0)
    assert found.doubled == pytest.approx(2)


def test_a_line_that_falls_again_has_its_highest_point() -> None:
    found = shape_of(line("it", "µs", [(2.0, 3.0), (100.0, 200.0), (10_000.0, 4.0)]).points)
    assert found.word == "peak"
    assert found.summit is not None
    assert (found.summit.x, found.summit.median) == (100.0, 200.0)


def test_zeros_cause_no_division_by_zero() -> None:
    assert shape_of(line("it", "µs", [(1.0, 0.0), (2.0, 0.0)]).points).word == "constant"

"""What a line of points is called."""

import pytest
from bench.whole.model import line
from bench.whole.shape import Shape, shape_of


def shape(*ys: float) -> Shape:
    return shape_of(line("it", "µs", zip((1.0, 10.0, 100.0, 1_000.0), ys, strict=True)).points)


@pytest.mark.parametrize(
    ("ys", "expected"),
    [
        ((100, 90, 120, 110), "flat"),
        ((100, 60, 30, 10), "falls"),
        ((100, 200, 500, 1_100), "grows less than linearly"),
        ((100, 290, 300, 310), "hardly grows"),
        ((1, 10, 100, 1_000), "linear"),
        ((1_000, 1_010, 1_100, 2_000), "hardly grows"),
        ((1, 100, 10_000, 1_000_000), "worse than linear"),
    ],
)
def test_a_line_is_called_by_where_it_goes_at_its_end(ys: tuple[float, ...], expected: str) -> None:
    assert shape(*ys).word == expected


def test_the_end_of_a_line_tells_where_it_begins_and_what_twice_as_many_cost() -> None:
    found = shape(1, 10, 100, 1_000)
    assert (found.of_tail, found.tail_x) == (True, 10.0)
    assert found.doubled == pytest.approx(2)


def test_a_line_that_comes_down_again_tells_its_summit() -> None:
    found = shape_of(line("it", "µs", [(2.0, 3.0), (100.0, 200.0), (10_000.0, 4.0)]).points)
    assert found.word == "highest"
    assert found.summit is not None
    assert (found.summit.x, found.summit.median) == (100.0, 200.0)


def test_nothing_at_all_is_no_division_by_zero() -> None:
    assert shape_of(line("it", "µs", [(1.0, 0.0), (2.0, 0.0)]).points).word == "flat"

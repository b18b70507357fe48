"""What a line of points is called."""

import pytest
from bench.whole.shape import line


def word(*ys: float) -> str:
    return line("it", "µs", zip((1.0, 10.0, 100.0, 1_000.0), ys, strict=True)).shape.word


@pytest.mark.parametrize(
    ("ys", "expected"),
    [
        ((100, 90, 120, 110), "flat"),
        ((100, 200, 500, 1_100), "less than linear"),
        ((100, 290, 300, 310), "flat at the end"),
        ((1, 10, 100, 1_000), "linear"),
        ((1_000, 1_010, 1_100, 2_000), "flat at the end"),
        ((1, 100, 10_000, 1_000_000), "worse than linear"),
    ],
)
def test_a_line_is_called_by_where_it_goes_at_its_end(ys: tuple[float, ...], expected: str) -> None:
    assert word(*ys) == expected


def test_a_line_that_comes_down_again_tells_its_summit() -> None:
    shape = line("it", "µs", [(2.0, 3.0), (100.0, 200.0), (10_000.0, 4.0)]).shape
    assert (shape.word, shape.summit_x) == ("higher in between", 100.0)
    assert shape.summit_times == pytest.approx(200 / 3)


def test_nothing_at_all_is_no_division_by_zero() -> None:
    assert line("it", "µs", [(1.0, 0.0), (2.0, 0.0)]).shape.word == "flat"

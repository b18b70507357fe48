"""The text format of times."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from tidings.kernel.clock import format_ms, parse_ms


@given(integers(0, 253_402_300_799_999))
def test_times_have_milliseconds_and_are_read_as_written(at_ms: int) -> None:
    text = format_ms(at_ms)
    expected = datetime.fromtimestamp(at_ms // 1000, UTC)
    assert text == f"{expected:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03}Z".rjust(24, "0")
    assert parse_ms(text) == at_ms


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("1970-01-01T00:00:01Z", 1_000),
        ("1970-01-01T01:00:00.500+01:00", 500),
        ("1970-01-01T00:00:00.0015Z", 2),
    ],
)
def test_other_forms_of_a_time_are_read(text: str, at_ms: int) -> None:
    assert parse_ms(text) == at_ms


@pytest.mark.parametrize("text", ["", "2026-11-15T02:11:2x.957Z", "2026-13-15T02:11:21.957Z"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_ms(text)

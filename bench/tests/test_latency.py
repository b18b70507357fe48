"""Percentiles come from an HdrHistogram, which the result file contains completely."""

import pytest
from bench.whole.latency import at_ms, latency
from hdrh.histogram import HdrHistogram


def test_percentiles_are_those_of_the_values_to_three_digits() -> None:
    found = latency("it", [ms / 1_000 for ms in range(1, 10_001)])
    assert found.count == 10_000
    for share in (50.0, 99.0, 99.9):
        assert at_ms(found, share) == pytest.approx(share * 100, rel=0.002)


def test_the_stored_histogram_can_be_decoded() -> None:
    found = latency("it", [0.004, 0.005, 2.0])
    again = HdrHistogram.decode(found.hdr)
    assert again.get_total_count() == 3
    assert again.get_max_value() == pytest.approx(2_000_000, rel=0.001)

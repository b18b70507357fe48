"""The ramp's verdict: which step counts, and what the page and the line of JSON contain."""

import json

import pytest
from hdrh.histogram import HdrHistogram

from tidings_harness.load.ramp import RampOptions, RampResult, StepResult
from tidings_harness.load.report import load_figures, load_line, load_page

OPTIONS = RampOptions(limit_ms=100, first_rate=10, factor=2, step_s=1, for_s=60, max_rate=1_000)


def step(rate: float, late_ms: float, *, lost: int = 0) -> StepResult:
    made = StepResult(rate=rate, sent=100, acked=100, delivered=100 - lost, loader_cpu=rate / 1_000)
    for _ in range(100):
        made.acked_us.record_value(round(late_ms * 500))
        made.delivered_us.record_value(round(late_ms * 1_000))
    return made


def test_the_verdict_is_the_last_step_before_the_first_that_breaks_the_limit() -> None:
    result = RampResult([step(10, 5), step(20, 50), step(40, 150), step(80, 60)], "the limit was broken")
    figures = load_figures(result, OPTIONS)
    assert figures["max_rate"] == 20
    assert figures["at_max_rate"]["delivered_ms"]["p99"] == pytest.approx(50, rel=0.01)
    assert figures["at_max_rate"]["acked_ms"]["p99"] == pytest.approx(25, rel=0.01)


def test_missing_messages_break_the_limit_however_fast_the_others_were() -> None:
    result = RampResult([step(10, 5), step(20, 5, lost=2)], "the limit was broken")
    assert load_figures(result, OPTIONS)["max_rate"] == 10


def test_without_a_good_step_there_is_no_rate() -> None:
    result = RampResult([step(10, 500)], "the limit was broken")
    line = json.loads(load_line(load_figures(result, OPTIONS)))
    assert line == {"limit_ms": 100, "max_rate": None, "ended_by": "the limit was broken", "steps": 1}
    assert "No step kept the limit of 100 ms" in load_page(result, OPTIONS)


def test_the_histograms_can_be_read_again() -> None:
    figures = load_figures(RampResult([step(10, 5)], "the time ended"), OPTIONS)
    again = HdrHistogram.decode(figures["steps"][0]["delivered_hdr"])
    assert again.get_total_count() == 100
    assert again.get_value_at_percentile(99) / 1_000 == pytest.approx(5, rel=0.01)


def test_the_page_has_a_row_for_each_step_and_three_plots_with_lines() -> None:
    page = load_page(RampResult([step(10, 5), step(20, 50)], "the time ended"), OPTIONS)
    assert page.count("<tr><td>") == 2
    assert page.count("<svg") == 3
    assert "20 messages a second within 100 ms" in page
    assert "NaN" not in page
    assert "inf" not in page.split("<body>")[1]

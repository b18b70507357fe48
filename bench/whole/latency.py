"""Turn the delays of messages into an HdrHistogram and the points of its curve."""

from collections.abc import Iterable

from hdrh.histogram import HdrHistogram

from bench.whole.model import Latency

_LOWEST_US, _HIGHEST_US, _DIGITS = 1, 120_000_000, 3
SHARES = (0.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99)


def latency(name: str, late_s: Iterable[float]) -> Latency:
    histogram = HdrHistogram(_LOWEST_US, _HIGHEST_US, _DIGITS)
    for each in late_s:
        histogram.record_value(max(_LOWEST_US, round(each * 1e6)))
    return Latency(
        name=name,
        count=int(histogram.get_total_count()),
        hdr=histogram.encode().decode(),
        points=tuple((share, histogram.get_value_at_percentile(share) / 1_000) for share in SHARES),
    )


def at_ms(found: Latency, share: float) -> float:
    return dict(found.points)[share]

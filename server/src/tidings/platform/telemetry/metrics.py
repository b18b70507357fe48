"""Metrics: one registry per process, checked names, and labels whose values are declared in advance.

Labels that grow with customers (tenant, user, chat …) are refused: use logs and spans for such questions. The admin
server's thread renders them for `/metrics`.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from typing import override

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
PREFIX = "tidings_"
MAX_SERIES = 1_000

# From an answer from memory to a delivery that waited for a consumer to restart.
LATENCY_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZE_BUCKETS_BYTES = tuple(float(64 * 4**power) for power in range(9))

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LABEL = re.compile(r"[a-z][a-z_]*")
_ODD_UNITS = re.compile(
    r"_(ms|millis|milliseconds|us|micros|ns|minutes|hours|days|kb|kib|mb|mib|percent)(_|$)"
)
_GROWING = re.compile(
    r"(^|_)(tenant|user|chat|member|device|session|message|notification|inbox|request|trace|span|connection|client"
    r"|sender|recipient|phone|email|ip|address|url|path|instance|id|ids|key|token|offset|sequence)s?($|_)"
)

type Labels = Mapping[str, Sequence[str]]


class BadMetricError(ValueError):
    """A metric with an invalid name or labels. Raised when it is declared, so at the start of the process."""


class MetricFamily[M](dict[str | tuple[str, ...], M]):
    """One metric for each combination of label values, created at the start: `sends["ok"].inc()`.

    A use costs one dict look-up. With two labels the key is a tuple.
    """

    def __missing__(self, values: str | tuple[str, ...]) -> M:
        raise BadMetricError(f"The label value {values!r} is not declared. Declared values: {list(self)}.")


class Metrics:
    """The metrics of one process, with a registry of their own."""

    def __init__(self) -> None:
        # Series with creation times would double the size of the page.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no annotations
        self.registry = CollectorRegistry(auto_describe=False)
        prometheus_client.ProcessCollector(registry=self.registry)
        prometheus_client.PlatformCollector(registry=self.registry)
        prometheus_client.GCCollector(registry=self.registry)

    def counter(self, name: str, meaning: str) -> Counter:
        return Counter(_counter_name(name), meaning, registry=self.registry)

    def counters(self, name: str, meaning: str, labels: Labels) -> MetricFamily[Counter]:
        names = _label_names(labels)
        return _family(Counter(_counter_name(name), meaning, names, registry=self.registry), labels)

    def gauge(self, name: str, meaning: str) -> Gauge:
        return Gauge(_name(name), meaning, registry=self.registry)

    def gauges(self, name: str, meaning: str, labels: Labels) -> MetricFamily[Gauge]:
        return _family(Gauge(_name(name), meaning, _label_names(labels), registry=self.registry), labels)

    def latency(self, name: str, meaning: str) -> Histogram:
        return Histogram(
            _measured(name, "_seconds"), meaning, buckets=LATENCY_BUCKETS_S, registry=self.registry
        )

    def latencies(self, name: str, meaning: str, labels: Labels) -> MetricFamily[Histogram]:
        full, names = _measured(name, "_seconds"), _label_names(labels)
        return _family(
            Histogram(full, meaning, names, buckets=LATENCY_BUCKETS_S, registry=self.registry), labels
        )

    def sizes(self, name: str, meaning: str) -> Histogram:
        return Histogram(
            _measured(name, "_bytes"), meaning, buckets=SIZE_BUCKETS_BYTES, registry=self.registry
        )

    def counter_callback(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Export a counter that is a plain number, so that counting costs nothing. `read` is called at each scrape.

        `read` runs in another thread and must not change anything.
        """
        self.registry.register(_Tally(_counter_name(name), meaning, read))

    def counter_callbacks[K: (str, tuple[str, ...])](
        self, name: str, meaning: str, labels: K, read: Callable[[], Mapping[K, float]]
    ) -> None:
        """Export counters with one label, or with a tuple of labels: `read` returns a value for each combination.

        At most `MAX_SERIES` are exported, and the number of the others as the label value `left out`.
        """
        names = _label_names(dict.fromkeys(_as_tuple(labels), ("checked",)))
        self.registry.register(_Tallies(_counter_name(name), meaning, names, lambda: _by_tuple(read())))

    def latency_callbacks(
        self,
        name: str,
        meaning: str,
        labels: tuple[str, ...],
        read: Callable[[], Mapping[tuple[str, ...], "LatencyCounts"]],
    ) -> None:
        """Export latencies that the caller counts itself. `read` is called at each scrape, in another thread."""
        names = _label_names(dict.fromkeys(labels, ("checked",)))
        self.registry.register(_Latencies(_measured(name, "_seconds"), meaning, names, read))

    def render(self) -> bytes:
        return generate_latest(self.registry)


class LatencyCounts:
    """Counts of a latency by bucket. Cheaper than a histogram of the client library, which takes a lock."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(LATENCY_BUCKETS_S) + 1)
        self.sum_s = 0.0

    def observe(self, took_s: float) -> None:
        self.counts[bisect_left(LATENCY_BUCKETS_S, took_s)] += 1
        self.sum_s += took_s

    def add(self, other: "LatencyCounts") -> None:
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.sum_s += other.sum_s


class _Latencies(Collector):
    def __init__(
        self,
        name: str,
        meaning: str,
        labels: list[str],
        read: Callable[[], Mapping[tuple[str, ...], LatencyCounts]],
    ) -> None:
        self._name, self._meaning = name, meaning
        self._labels = labels
        self._read = read

    def describe(self) -> Iterator[Metric]:
        yield HistogramMetricFamily(self._name, self._meaning, labels=self._labels)

    @override
    def collect(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(self._name, self._meaning, labels=self._labels)
        bounds = [*map(floatToGoString, LATENCY_BUCKETS_S), "+Inf"]
        for values, latency in self._read().items():
            family.add_metric(
                list(values), list(zip(bounds, accumulate(latency.counts), strict=True)), latency.sum_s
            )
        yield family


class _Tally(Collector):
    def __init__(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        self._name = name
        self._meaning = meaning
        self._read = read

    def describe(self) -> Iterator[Metric]:
        yield CounterMetricFamily(self._name, self._meaning)

    @override
    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily(self._name, self._meaning, value=self._read())


class _Tallies(Collector):
    def __init__(
        self,
        name: str,
        meaning: str,
        labels: list[str],
        read: Callable[[], Mapping[tuple[str, ...], float]],
    ) -> None:
        self._name = name
        self._meaning = meaning
        self._labels = labels
        self._read = read

    def describe(self) -> Iterator[Metric]:
        yield CounterMetricFamily(self._name, self._meaning, labels=self._labels)

    @override
    def collect(self) -> Iterator[Metric]:
        values = self._read()
        shown = list(values.items())[:MAX_SERIES]
        family = CounterMetricFamily(self._name, self._meaning, labels=self._labels)
        for combination, count in shown:
            family.add_metric(list(combination), count)
        if len(values) > MAX_SERIES:
            family.add_metric(["left out"] * len(self._labels), len(values) - MAX_SERIES)
        yield family


def _as_tuple(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _by_tuple[K: (str, tuple[str, ...])](values: Mapping[K, float]) -> dict[tuple[str, ...], float]:
    return {_as_tuple(key): value for key, value in dict(values).items()}


def _family[M: (Counter, Gauge, Histogram)](metric: M, labels: Labels) -> MetricFamily[M]:
    combinations = product(*labels.values())
    return MetricFamily(
        {values if len(values) > 1 else values[0]: metric.labels(*values) for values in combinations}
    )


def _name(name: str) -> str:
    if not _NAME.fullmatch(name) or name.startswith(PREFIX):
        raise BadMetricError(f"{name}: Use lower case and underscores, without the prefix {PREFIX}.")
    if odd := _ODD_UNITS.search(name):
        raise BadMetricError(f"{name}: Use seconds, bytes or ratios instead of {odd[1]}.")
    return PREFIX + name


def _counter_name(name: str) -> str:
    if not name.endswith("_total"):
        raise BadMetricError(f"{name}: The name of a counter must end in _total.")
    return _name(name)


def _measured(name: str, unit: str) -> str:
    if not name.endswith(unit):
        raise BadMetricError(f"{name}: The name must end in {unit}.")
    return _name(name)


def _label_names(labels: Labels) -> list[str]:
    for label in labels:
        if not _LABEL.fullmatch(label) or _GROWING.search(label):
            raise BadMetricError(f"{label}: The number of a label's values must not grow with customers.")
    series = 1
    for values in labels.values():
        series *= len(values)
    if not labels or not 0 < series <= MAX_SERIES:
        raise BadMetricError(f"{len(labels)} labels make {series} series. Declare 1 to {MAX_SERIES}.")
    return list(labels)

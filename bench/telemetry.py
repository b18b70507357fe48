"""Measure the CPU of telemetry calls in nanoseconds per call. `just bench telemetry`."""

import json
import sys
import time
from collections.abc import Callable

from tidings.platform.lifecycle.run import configure_tracing
from tidings.platform.telemetry import logs
from tidings.platform.telemetry.logs import LogOptions, ProcessIdentity
from tidings.platform.telemetry.metrics import Metrics
from tidings.platform.telemetry.span_export import exporter_tracing
from tidings.platform.telemetry.tracing import Tracing, TracingOptions

ROUNDS = 5
ME = ProcessIdentity("bench", "one")
FIGURES: dict[str, int] = {}


class Nowhere:
    """A stream that discards its input."""

    def write(self, data: memoryview, /) -> int:
        return len(data)


def cost(name: str, call: Callable[[], object], calls: int = 20_000) -> None:
    """Print the time of the fastest round, because noise only adds time."""
    best = min(_round(call, calls) for _ in range(ROUNDS)) - min(
        _round(_nothing, calls) for _ in range(ROUNDS)
    )
    sys.stdout.write(f"{name:44}{best * 1e9:10,.0f} ns\n")
    FIGURES[name] = round(best * 1e9)


def _nothing() -> None: ...


def _round(call: Callable[[], object], calls: int) -> float:
    began = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - began) / calls


def measure_metrics() -> None:
    metrics = Metrics()
    counter = metrics.counter("bench_sends_total", "Sends.")
    sends = metrics.counters("bench_outcomes_total", "Sends.", {"outcome": ["ok", "refused"]})
    took = metrics.latency("bench_send_seconds", "A send.")
    frames = Tally()
    metrics.counter_callback("bench_frames_total", "Frames.", lambda: frames.count)
    cost("counter.inc()", counter.inc)
    cost('family["ok"].inc()', lambda: sends["ok"].inc())  # noqa: PLW0108 - the look-up is part of the cost
    cost("latency.observe(0.003)", lambda: took.observe(0.003))
    cost("a counter: owner.count += 1", frames.add)
    cost("render the page", metrics.render, 50)


class Tally:
    count = 0

    def add(self) -> None:
        self.count += 1


def measure_tracing(name: str, traced: Tracing, flags: str, calls: int) -> None:
    traceparent = f"00-{'a' * 32}-{'b' * 16}-{flags}"

    def span() -> None:
        with traced.span("work"):
            pass

    def carry() -> None:
        with traced.span("work", parent=traced.extract(traceparent)):
            pass

    cost(f"span, {name}", span, calls)
    cost(f"extract, span, {name}", carry, calls)
    traced.close()


def measure_logs() -> None:
    logs.configure_logs(ME, LogOptions(), stream=Nowhere())
    log = logs.get_logger("bench")
    cost(
        "log line with three fields", lambda: log.info("sent", chat="c-1", sequence=12, took_s=0.0123), 5_000
    )
    cost("log line below the level", lambda: log.debug("sent", chat="c-1", sequence=12, took_s=0.0123))


def main() -> None:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415 - needed by one figure only

    measure_metrics()
    measure_tracing("tracing off", configure_tracing(ME, TracingOptions()), "00", 20_000)
    for name, ratio, flags in (("not sampled", 0.0, "00"), ("sampled", 1.0, "01")):
        traced = exporter_tracing(ME, TracingOptions(ratio=ratio), InMemorySpanExporter())
        measure_tracing(name, traced, flags, 2_000)
    measure_logs()
    sys.stdout.write(json.dumps(FIGURES) + "\n")


if __name__ == "__main__":
    main()

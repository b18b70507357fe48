import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import override

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span, StatusCode, get_current_span

from tidings.platform.lifecycle.run import configure_tracing
from tidings.platform.telemetry.logs import ProcessIdentity
from tidings.platform.telemetry.span_export import exporter_tracing
from tidings.platform.telemetry.tracing import Tracing, TracingOptions

ME = ProcessIdentity("sample", "one")


def recording(ratio: float = 1.0) -> tuple[Tracing, InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    return exporter_tracing(ME, TracingOptions(ratio=ratio), exporter), exporter


def finished(traced: Tracing, exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    assert traced.close()
    return {span.name: span for span in exporter.get_finished_spans()}


def traceparent(span: Span) -> str:
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def test_a_span_in_another_process_is_a_child_of_the_one_whose_header_it_got() -> None:
    here, sent = recording()
    exporter, received = recording()
    with here.span("send") as span:
        header = traceparent(span)
    with exporter.span("handle", parent=exporter.extract(header)):
        pass
    send, handle = finished(here, sent)["send"], finished(exporter, received)["handle"]
    assert handle.parent is not None
    assert handle.parent.span_id == send.context.span_id
    assert handle.context.trace_id == send.context.trace_id


@pytest.mark.parametrize(
    "value", [None, "", "garbage", "\xff\xfe", f"00-{'0' * 32}-{'0' * 16}-01", "x" * 5_000]
)
def test_an_invalid_header_is_not_a_parent(value: str | None) -> None:
    traced, _ = recording()
    assert traced.extract(value) is None
    traced.close()


def test_the_ratio_decides_for_new_traces_and_the_parent_for_the_rest() -> None:
    none, exporter = recording(ratio=0.0)
    every, _ = recording(ratio=1.0)
    with every.span("kept elsewhere") as span:
        header = traceparent(span)
    with none.span("dropped"):
        pass
    with none.span("kept", parent=none.extract(header)):
        pass
    assert list(finished(none, exporter)) == ["kept"]
    every.close()


def test_without_an_endpoint_nothing_happens() -> None:
    off = configure_tracing(ME, TracingOptions())
    header = f"00-{'a' * 32}-{'b' * 16}-01"
    with off.span("nothing", parent=off.extract(header)) as span:
        assert not span.is_recording()
        span.set_attribute("fine", 1)
        assert not get_current_span().get_span_context().is_valid
    assert not off.is_on
    assert off.close()
    assert not any(thread.name.startswith("Otel") for thread in threading.enumerate())


def test_the_sdk_is_not_imported_by_a_process_that_exports_nothing() -> None:
    """Importing it takes half a second."""
    code = "import sys, tidings.platform.lifecycle.run; sys.exit('opentelemetry.sdk.trace' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_span_survives_tasks_and_awaits() -> None:
    traced, exporter = recording()

    async def work() -> None:
        with traced.span("outer"):
            await asyncio.gather(inner("a"), inner("b"))

    async def inner(name: str) -> None:
        with traced.span(name):
            await asyncio.sleep(0)

    asyncio.run(work())
    spans = finished(traced, exporter)
    for name in ("a", "b"):
        parent = spans[name].parent
        assert parent is not None
        assert parent.span_id == spans["outer"].context.span_id


def test_no_secret_leaves_in_a_span() -> None:
    traced, exporter = recording()

    def work() -> None:
        with traced.span("work", attributes={"api_key": "hunter2"}) as span:
            span.set_attribute("url", "redis://app:hunter2@cache")
            span.add_event("tried", {"password": "hunter2"})
            raise ValueError("token=hunter2")

    with pytest.raises(ValueError, match="hunter2"):
        work()
    (done,) = finished(traced, exporter).values()
    assert done.status.status_code is StatusCode.ERROR
    assert done.status.description == "ValueError: token=***"
    assert "hunter2" not in done.to_json()


class Stuck(SpanExporter):
    """A collector that takes the connection and never answers."""

    def __init__(self) -> None:
        self.is_free = threading.Event()

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.is_free.wait()
        return SpanExportResult.FAILURE

    @override
    def shutdown(self) -> None: ...


def test_a_hanging_collector_blocks_nothing_and_the_queue_stays_bounded() -> None:
    exporter = Stuck()
    options = TracingOptions(ratio=1.0, queue_spans=64, batch_spans=16, flush_s=0.05)
    traced = exporter_tracing(ME, options, exporter)
    before = time.process_time()
    for _ in range(2_000):
        with traced.span("work"):
            pass
    assert time.process_time() - before < 2
    assert not traced.close()
    exporter.is_free.set()
    assert traced.counts.taken == 0
    assert traced.counts.failed <= 64 + 16

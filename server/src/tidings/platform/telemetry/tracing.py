"""Spans, and the trace context of a caller (W3C `traceparent`). `span_export` sends the spans to a collector."""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial

from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import (
    INVALID_SPAN,
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from tidings.kernel.security import Secret

type SpanAttributes = Mapping[str, AttributeValue]

_w3c = TraceContextTextMapPropagator()


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingOptions:
    """`ratio`: share of new traces that are sampled. For a caller's trace, the caller decides."""

    endpoint: str | None = None
    headers: Mapping[str, Secret] = field(default_factory=dict)
    ratio: float = 0.01
    queue_spans: int = 4_096
    batch_spans: int = 512
    export_every_s: float = 5.0
    export_timeout_s: float = 10.0
    flush_s: float = 3.0


@dataclass(slots=True)
class ExportCounts:
    """Spans that the collector accepted and refused. Written by one thread, read by any."""

    taken: int = 0
    failed: int = 0


class Tracing:
    """Create spans. Without a tracer, nothing is recorded."""

    def __init__(
        self, tracer: Tracer | None, shutdown: Callable[[], None] | None, counts: ExportCounts, flush_s: float
    ) -> None:
        self._tracer = tracer
        self._shutdown = shutdown
        self.flush_s = flush_s
        self.counts = counts

    @property
    def is_on(self) -> bool:
        return self._tracer is not None

    def span(
        self,
        name: str,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        parent: Context | None = None,
        attributes: SpanAttributes | None = None,
    ) -> AbstractContextManager[Span]:
        """Return a span for a `with` block, by default a child of the current one."""
        if self._tracer is None:
            return _NO_SPAN
        return _SpanContext(partial(self._tracer.start_span, name, parent, kind, attributes))

    def start(self, name: str, kind: SpanKind, parent: Context, attributes: SpanAttributes) -> Span:
        """Start a span that does not become the current one. The caller ends it."""
        return (
            INVALID_SPAN if self._tracer is None else self._tracer.start_span(name, parent, kind, attributes)
        )

    def extract(self, traceparent: str | None) -> Context | None:
        """Return the parent of a header `traceparent`, or None if it is missing or invalid.

        A caller that is trusted this way decides which traces are sampled.
        """
        if self._tracer is None or traceparent is None:
            return None
        context = _w3c.extract({"traceparent": traceparent})
        return context if get_current_span(context).get_span_context().is_valid else None

    def close(self) -> bool:
        """Send queued spans. Returns False if that takes longer than `flush_s`. Blocks: call it in a thread."""
        if self._shutdown is None:
            return True
        # The SDK would wait 30 s. A daemon thread does not keep the process alive.
        closing = threading.Thread(target=self._shutdown, name="tracing-close", daemon=True)
        closing.start()
        closing.join(self.flush_s)
        return not closing.is_alive()


_NO_SPAN = nullcontext(INVALID_SPAN)


def traceparent_of(span: Span) -> str | None:
    """Return the header `traceparent` that continues this span elsewhere, or None if it is not sampled."""
    context = span.get_span_context()
    if not context.trace_flags.sampled:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


class _SpanContext:
    """The `with` block of a span. It costs half of the SDK's three nested context managers.

    The SDK would also put the text and the stack of an exception into the span, unmasked.
    """

    __slots__ = ("_make", "_span", "_token")

    def __init__(self, make: Callable[[], Span]) -> None:
        self._make = make

    def __enter__(self) -> Span:
        self._span = self._make()
        self._token = attach(set_span_in_context(self._span))
        return self._span

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        detach(self._token)
        if isinstance(error, Exception):
            # The text is masked at export. The stack is in the log, with the same trace id.
            self._span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
        self._span.end()

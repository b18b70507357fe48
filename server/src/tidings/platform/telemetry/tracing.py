"""Spans: OpenTelemetry's SDK, exported over OTLP/HTTP by its own thread with a bounded queue.

Without an endpoint tracing is off: a span is then nothing, and costs next to that. A trace goes from process
to process in Kafka headers and pushes, see `propagation`.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial

from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.util.types import AttributeValue

from tidings.kernel.secrets import Secret
from tidings.platform.telemetry import propagation
from tidings.platform.telemetry.identity import ProcessIdentity
from tidings.platform.telemetry.propagation import Headers

type SpanAttributes = Mapping[str, AttributeValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingOptions:
    """`ratio` of new traces that are kept; a trace that came from elsewhere keeps what was decided there."""

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
    """How many spans the collector took and refused. Written by one thread, read by any."""

    taken: int = 0
    failed: int = 0


class Tracing:
    """Makes spans, and carries them over process borders. Without a tracer it does neither."""

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
        """A span around a `with` block; a child of the current one unless `parent` says otherwise."""
        if self._tracer is None:
            return _NO_SPAN
        return _Spanning(partial(self._tracer.start_span, name, parent, kind, attributes))

    def inject(self, headers: Headers) -> None:
        """Put the current span into Kafka headers, replacing what an earlier try put there."""
        if self._tracer is not None:
            propagation.into_headers(headers)

    def inject_push(self, push: dict[str, str]) -> None:
        if self._tracer is not None:
            propagation.into_push(push)

    def extract(self, headers: Headers | None) -> Context | None:
        """The parent that came along, if any; what can't be read counts as none."""
        return propagation.from_headers(headers) if headers and self._tracer is not None else None

    def extract_push(self, push: Mapping[str, str]) -> Context | None:
        return propagation.from_push(push) if self._tracer is not None else None

    def close(self) -> bool:
        """Send what is queued; gives up after `flush_s` and says so by False. Blocks: call it off the loop."""
        if self._shutdown is None:
            return True
        # The SDK waits 30 s by itself, and a daemon thread can be left behind.
        closing = threading.Thread(target=self._shutdown, name="tracing-close", daemon=True)
        closing.start()
        closing.join(self.flush_s)
        return not closing.is_alive()


_NO_SPAN = nullcontext(INVALID_SPAN)


class _Spanning:
    """By hand, not by the SDK's three nested context managers: half the cost, and exceptions stay out of it.

    The SDK would put an exception's text and stack into the span, unmasked.
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
            # the text is masked at export; the stack stands in the log, under the same trace id
            self._span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
        self._span.end()


def configure_tracing(identity: ProcessIdentity, options: TracingOptions) -> Tracing:
    if options.endpoint is None:
        return Tracing(None, None, ExportCounts(), options.flush_s)
    # The SDK, its exporter and protobuf take half a second to import: only who exports pays for them.
    from tidings.platform.telemetry import export  # noqa: PLC0415 - see above

    return export.otlp_tracing(identity, options, options.endpoint)

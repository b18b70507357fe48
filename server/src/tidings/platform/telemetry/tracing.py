"""Spans: OpenTelemetry's SDK, exported over OTLP/HTTP by its own thread with a bounded queue.

Without an endpoint tracing is off: a span is then nothing, and costs next to that. A trace goes from process
to process in Kafka headers and pushes, see `propagation`.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from tidings.kernel.secrets import Secret
from tidings.platform.telemetry import propagation
from tidings.platform.telemetry.export import CleanExporter, ExportCounts
from tidings.platform.telemetry.identity import Identity
from tidings.platform.telemetry.propagation import Headers

type Attributes = Mapping[str, AttributeValue]

_TRACES_PATH = "/v1/traces"
_LIMITS = SpanLimits(
    max_span_attributes=32,
    max_events=32,
    max_links=32,
    max_span_attribute_length=1_000,
    max_attribute_length=1_000,
)


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


class Tracing:
    """Makes spans, and carries them over process borders."""

    def __init__(self, provider: TracerProvider | None, counts: ExportCounts, flush_s: float) -> None:
        self._provider = provider
        self._tracer: Tracer | None = provider.get_tracer("tidings") if provider else None
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
        attributes: Attributes | None = None,
    ) -> AbstractContextManager[Span]:
        """A span around a `with` block; a child of the current one unless `parent` says otherwise."""
        if self._tracer is None:
            return _NO_SPAN
        return _spanning(self._tracer, name, kind, parent, attributes)

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
        if self._provider is None:
            return True
        # The SDK waits 30 s by itself, and a daemon thread can be left behind.
        closing = threading.Thread(target=self._provider.shutdown, name="tracing-close", daemon=True)
        closing.start()
        closing.join(self.flush_s)
        return not closing.is_alive()


_NO_SPAN = nullcontext(INVALID_SPAN)


@contextmanager
def _spanning(
    tracer: Tracer, name: str, kind: SpanKind, parent: Context | None, attributes: Attributes | None
) -> Iterator[Span]:
    with tracer.start_as_current_span(
        name,
        context=parent,
        kind=kind,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except Exception as error:
            # the text is masked at export; the stack stands in the log, under the same trace id
            span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
            raise


def configure(identity: Identity, options: TracingOptions) -> Tracing:
    counts = ExportCounts()
    if options.endpoint is None:
        return Tracing(None, counts, options.flush_s)
    return with_exporter(identity, options, _otlp(options, options.endpoint), counts)


def with_exporter(
    identity: Identity, options: TracingOptions, exporter: SpanExporter, counts: ExportCounts
) -> Tracing:
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(options.ratio)),
        resource=Resource(
            {"service.name": f"tidings-{identity.kind}", "service.instance.id": identity.instance}
        ),
        shutdown_on_exit=False,
        span_limits=_LIMITS,
    )
    provider.add_span_processor(
        BatchSpanProcessor(
            CleanExporter(exporter, counts),
            max_queue_size=options.queue_spans,
            max_export_batch_size=options.batch_spans,
            schedule_delay_millis=options.export_every_s * 1_000,
        )
    )
    return Tracing(provider, counts, options.flush_s)


def _otlp(options: TracingOptions, endpoint: str) -> OTLPSpanExporter:
    url = endpoint.rstrip("/")
    return OTLPSpanExporter(
        endpoint=url if url.endswith(_TRACES_PATH) else url + _TRACES_PATH,
        headers={name: value.reveal() for name, value in options.headers.items()},
        timeout=options.export_timeout_s,
    )

"""Export spans with OpenTelemetry's SDK, with secrets masked.

Imported only by processes that export spans, because the SDK takes half a second to import.
"""

from collections.abc import Sequence
from typing import cast, override

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Status
from opentelemetry.util.types import Attributes

from tidings.platform.telemetry.logs import ProcessIdentity
from tidings.platform.telemetry.masking import SizeLimits, mask_fields, mask_text
from tidings.platform.telemetry.tracing import ExportCounts, Tracing, TracingOptions

_BOUNDS = SizeLimits(value_chars=1_000)
_TRACES_PATH = "/v1/traces"
_LIMITS = SpanLimits(
    max_span_attributes=32,
    max_events=32,
    max_links=32,
    max_span_attribute_length=1_000,
    max_attribute_length=1_000,
)


def otlp_tracing(identity: ProcessIdentity, options: TracingOptions, endpoint: str) -> Tracing:
    url = endpoint.rstrip("/")
    exporter = OTLPSpanExporter(
        endpoint=url if url.endswith(_TRACES_PATH) else url + _TRACES_PATH,
        headers={name: value.reveal() for name, value in options.headers.items()},
        timeout=options.export_timeout_s,
    )
    return exporter_tracing(identity, options, exporter)


def exporter_tracing(identity: ProcessIdentity, options: TracingOptions, exporter: SpanExporter) -> Tracing:
    counts = ExportCounts()
    resource = {"service.name": f"tidings-{identity.kind}", "service.instance.id": identity.instance}
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(options.ratio)),
        resource=Resource(resource),
        shutdown_on_exit=False,
        span_limits=_LIMITS,
    )
    provider.add_span_processor(
        BatchSpanProcessor(
            MaskingSpanExporter(exporter, counts),
            max_queue_size=options.queue_spans,
            max_export_batch_size=options.batch_spans,
            schedule_delay_millis=options.export_every_s * 1_000,
        )
    )
    return Tracing(provider.get_tracer("tidings"), provider.shutdown, counts, options.flush_s)


class MaskingSpanExporter(SpanExporter):
    """Mask all spans before they are exported, regardless of which code set an attribute."""

    def __init__(self, exporter: SpanExporter, counts: ExportCounts) -> None:
        self._exporter = exporter
        self._counts = counts

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export([_masked(span) for span in spans])
        if result is SpanExportResult.SUCCESS:
            self._counts.taken += len(spans)
        else:
            self._counts.failed += len(spans)
        return result

    @override
    def shutdown(self) -> None:
        self._exporter.shutdown()

    @override
    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _masked(span: ReadableSpan) -> ReadableSpan:
    return ReadableSpan(
        name=mask_text(span.name, _BOUNDS),
        context=span.get_span_context(),
        parent=span.parent,
        resource=span.resource,
        attributes=_attributes(span.attributes),
        events=[Event(event.name, _attributes(event.attributes), event.timestamp) for event in span.events],
        links=span.links,
        kind=span.kind,
        status=_status(span.status),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _attributes(attributes: Attributes) -> Attributes:
    return cast("Attributes", mask_fields(attributes or {}, _BOUNDS))


def _status(status: Status) -> Status:
    if status.description is None:
        return status
    return Status(status.status_code, mask_text(status.description, _BOUNDS))

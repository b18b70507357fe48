"""The last step of a span: masked like a log line, counted, handed to the exporter. Runs in its thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, override

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Status
from opentelemetry.util.types import Attributes

from tidings.platform.telemetry.masking import Bounds, clean, clean_text

_BOUNDS = Bounds(value_chars=1_000)


@dataclass(slots=True)
class ExportCounts:
    """How many spans the collector took and refused. Written by one thread, read by any."""

    taken: int = 0
    failed: int = 0


class CleanExporter(SpanExporter):
    """One place for all spans, whoever set an attribute and how."""

    def __init__(self, exporter: SpanExporter, counts: ExportCounts) -> None:
        self._exporter = exporter
        self._counts = counts

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export([_cleaned(span) for span in spans])
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


def _cleaned(span: ReadableSpan) -> ReadableSpan:
    return ReadableSpan(
        name=clean_text(span.name, _BOUNDS),
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
    return cast("Attributes", clean(attributes or {}, _BOUNDS))


def _status(status: Status) -> Status:
    if status.description is None:
        return status
    return Status(status.status_code, clean_text(status.description, _BOUNDS))

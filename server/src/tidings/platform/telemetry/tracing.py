"""A trace's way over process borders: W3C `traceparent` in Kafka headers and in pushes.

What comes from outside the installation is not read here: the edges decide whom they trust.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import cast, override

from opentelemetry.context import Context, attach, detach
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagators.textmap import Getter, Setter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
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
from opentelemetry.util.types import Attributes, AttributeValue

from tidings.kernel.security import Secret
from tidings.platform.telemetry.logs import ProcessIdentity
from tidings.platform.telemetry.masking import SizeLimits, mask_fields, mask_text

type Headers = list[tuple[str, bytes]]

PARENT = "traceparent"

_w3c = TraceContextTextMapPropagator()


def into_headers(headers: Headers) -> None:
    if get_current_span().get_span_context().is_valid:
        _w3c.inject(headers, setter=_TO_HEADERS)


def into_push(push: dict[str, str]) -> None:
    _w3c.inject(push)


def from_headers(headers: Headers) -> Context | None:
    if all(name != PARENT for name, _ in headers):
        return None
    return _valid(_w3c.extract(headers, getter=_FROM_HEADERS))


def from_push(push: Mapping[str, str]) -> Context | None:
    return _valid(_w3c.extract(push)) if PARENT in push else None


def _valid(context: Context) -> Context | None:
    return context if get_current_span(context).get_span_context().is_valid else None


class _FromHeaders(Getter[Headers]):
    """Kafka lets any bytes, or none, stand in a header."""

    @override
    def get(self, carrier: Headers, key: str) -> list[str] | None:
        found = [value.decode("ascii", "replace") for name, value in carrier if name == key and value]
        return found[-1:] or None

    @override
    def keys(self, carrier: Headers) -> list[str]:
        return [name for name, _ in carrier]


class _ToHeaders(Setter[Headers]):
    @override
    def set(self, carrier: Headers, key: str, value: str) -> None:
        carrier[:] = [header for header in carrier if header[0] != key]
        carrier.append((key, value.encode("ascii")))


_FROM_HEADERS = _FromHeaders()
_TO_HEADERS = _ToHeaders()


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
            into_headers(headers)

    def inject_push(self, push: dict[str, str]) -> None:
        if self._tracer is not None:
            into_push(push)

    def extract(self, headers: Headers | None) -> Context | None:
        """The parent that came along, if any; what can't be read counts as none."""
        return from_headers(headers) if headers and self._tracer is not None else None

    def extract_push(self, push: Mapping[str, str]) -> Context | None:
        return from_push(push) if self._tracer is not None else None

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

    return otlp_tracing(identity, options, options.endpoint)


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
    who = {"service.name": f"tidings-{identity.kind}", "service.instance.id": identity.instance}
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(options.ratio)),
        resource=Resource(who),
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

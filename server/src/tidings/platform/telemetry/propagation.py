"""A trace's way over process borders: W3C `traceparent` in Kafka headers and in pushes.

What comes from outside the installation is not read here: the edges decide whom they trust.
"""

from collections.abc import Mapping
from typing import override

from opentelemetry.context import Context
from opentelemetry.propagators.textmap import Getter, Setter
from opentelemetry.trace import get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

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

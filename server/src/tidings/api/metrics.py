"""Metrics, spans and sampled access logs of requests. Implements `ApiTelemetry`.

Labels are operations such as `POST /v1/chats/{chat_id}/messages`, declared when the application is built; never paths.
"""

import random
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from itertools import product
from typing import override

from opentelemetry.trace import Span, SpanKind

from tidings.api.services import ApiTelemetry, OnAnswered
from tidings.platform.telemetry import logs
from tidings.platform.telemetry.metrics import LatencyCounts, Metrics
from tidings.platform.telemetry.tracing import Tracing

log = logs.get_logger(__name__)

OTHER = "other"
"""Requests without a declared operation: unknown paths and wrong methods."""
_FAILED = 500
_OUTCOMES = {2: "ok", 3: "ok", 4: "refused", 5: "failed"}


class HttpTelemetry(ApiTelemetry):
    """Counts and times requests. Call `declare` before the first request."""

    def __init__(self, metrics: Metrics, tracing: Tracing, access_log_ratio: float) -> None:
        self._metrics = metrics
        self.tracing = tracing
        self.access_log_ratio = access_log_ratio
        self.in_flight = 0
        self._counts: dict[tuple[str, ...], float] = {}
        self._took: dict[tuple[str, ...], LatencyCounts] = {}
        self._statuses: dict[str, float] = {}
        metrics.gauge("http_in_flight", "Requests in progress.").set_function(lambda: self.in_flight)
        metrics.counter_callbacks(
            "http_statuses_total", "Responses by HTTP status.", "status", lambda: dict(self._statuses)
        )

    def declare(self, operations: Iterable[str]) -> None:
        names = [*dict.fromkeys(operations), OTHER]
        self._counts |= dict.fromkeys(product(names, sorted(set(_OUTCOMES.values()))), 0.0)
        self._took |= {(name,): LatencyCounts() for name in names}
        # Neither dictionary grows later, so the thread that renders metrics can read both.
        self._metrics.counter_callbacks(
            "http_requests_total",
            "Requests by operation and outcome.",
            ("operation", "outcome"),
            lambda: self._counts,
        )
        self._metrics.latency_callbacks(
            "http_request_seconds",
            "Duration of requests, from the first byte of the request to the last byte of the response.",
            ("operation",),
            lambda: self._took,
        )

    @override
    def request(self, method: str, traceparent: str | None = None, /) -> AbstractContextManager[OnAnswered]:
        return HttpRequestSpan(self, method, traceparent)

    def answered(self, operation: str, status: int, took_s: float) -> None:
        known = operation if (operation,) in self._took else OTHER
        self._took[known,].observe(took_s)
        self._counts[known, _OUTCOMES.get(status // 100, "failed")] += 1
        self._statuses[str(status)] = self._statuses.get(str(status), 0) + 1


class HttpRequestSpan:
    """One request. Without an answer it counts as failed."""

    __slots__ = ("_method", "_operation", "_requests", "_span", "_spanning", "_started", "_status")

    def __init__(self, requests: HttpTelemetry, method: str, traceparent: str | None) -> None:
        self._requests = requests
        self._method = method
        self._operation = OTHER
        self._status = _FAILED
        tracing = requests.tracing
        parent = tracing.extract(traceparent)
        self._spanning = tracing.span(method, kind=SpanKind.SERVER, parent=parent)

    def __enter__(self) -> OnAnswered:
        self._started = time.perf_counter()
        self._requests.in_flight += 1
        self._span: Span = self._spanning.__enter__()
        return self._on_answered

    def _on_answered(self, route: str, status: int, /) -> None:
        self._operation, self._status = f"{self._method} {route}", status
        self._span.update_name(self._operation)
        self._span.set_attributes({"http.route": route, "http.response.status_code": status})

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        took_s = time.perf_counter() - self._started
        requests = self._requests
        requests.in_flight -= 1
        requests.answered(self._operation, self._status, took_s)
        if requests.access_log_ratio and random.random() < requests.access_log_ratio:  # noqa: S311 - no secret
            log.info("request", operation=self._operation, status=self._status, took_s=round(took_s, 6))
        self._spanning.__exit__(kind, error, None)

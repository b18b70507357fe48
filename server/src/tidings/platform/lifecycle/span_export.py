"""The span exporter as a component: first to start and last to stop, so that spans of the stopping get out."""

import asyncio
from typing import override

from tidings.kernel.clock import Clock
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.health import Health, HealthTracker
from tidings.platform.telemetry import logs
from tidings.platform.telemetry.metrics import Metrics
from tidings.platform.telemetry.tracing import Tracing

log = logs.get_logger(__name__)


class SpanExport(Component):
    """Never gates readiness, never makes a stop unclean: lost spans are no harm to anybody's messages."""

    name = "span_export"
    gates_readiness = False

    def __init__(self, tracing: Tracing, metrics: Metrics, clock: Clock) -> None:
        self._tracing = tracing
        self._pulse = HealthTracker(clock, "the collector took no spans")
        self._seen = (0, 0)
        self.stop_s = tracing.flush_s + 1.0
        counts = tracing.counts
        metrics.counter_callback(
            "spans_exported_total", "Spans that the collector took.", lambda: counts.taken
        )
        metrics.counter_callback(
            "spans_lost_total", "Spans that the collector did not take.", lambda: counts.failed
        )

    @override
    async def start(self) -> None:
        self._pulse.answered()

    @override
    async def stop(self) -> None:
        if not await asyncio.to_thread(self._tracing.close):
            log.warning("spans were left unsent", waited_s=self._tracing.flush_s)

    @override
    def health(self) -> Health:
        counts = self._tracing.counts
        taken, failed = self._seen
        if counts.failed > failed:
            self._pulse.failed(f"{counts.failed} spans lost so far")
        elif counts.taken > taken:
            self._pulse.answered()
        self._seen = (counts.taken, counts.failed)
        return self._pulse.health()

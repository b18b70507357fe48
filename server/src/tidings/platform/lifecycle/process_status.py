"""The phase of the process and the state of each component, as a snapshot that other threads can read.

The event loop takes the snapshot; the admin server's thread reads the last one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from prometheus_client import Gauge

from tidings.kernel.clock import Clock
from tidings.platform.lifecycle.component import Component, Health, describe_error
from tidings.platform.telemetry import logs
from tidings.platform.telemetry.masking import mask_secrets
from tidings.platform.telemetry.metrics import MetricFamily, Metrics

log = logs.get_logger(__name__)


class Phase(StrEnum):
    """The phase of a process. Only `RUNNING` can be ready."""

    STARTING = "starting"
    RUNNING = "running"
    DRAINING = "draining"
    STOPPING = "stopping"
    STOPPED = "stopped"


class ComponentState(StrEnum):
    WAITING = "waiting"
    STARTING = "starting"
    STARTED = "started"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ComponentReport:
    """A snapshot of a component. `ok` if it is started and reports no problem."""

    name: str
    state: ComponentState
    ok: bool
    gates_readiness: bool
    reason: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """A snapshot of the process."""

    phase: Phase
    components: tuple[ComponentReport, ...]

    @property
    def is_ready(self) -> bool:
        return self.phase is Phase.RUNNING and not any(
            part.gates_readiness and not part.ok for part in self.components
        )


FIRST_ANSWER_S = 2.0


@dataclass(slots=True)
class _Entry:
    component: Component
    since: datetime
    state: ComponentState = ComponentState.WAITING
    was_ok: bool | None = None
    words: str = ""


class ProcessStatus:
    """Written in the event loop. `report` may be read by any thread."""

    def __init__(self, clock: Clock, metrics: Metrics) -> None:
        self._clock = clock
        self._metrics = metrics
        self._is_ready = metrics.gauge("process_ready", "1 while /readyz answers 200.")
        self._is_ok = MetricFamily[Gauge]()
        self._phase = Phase.STARTING
        self._entries: dict[str, _Entry] = {}
        self.report = ProcessReport(self._phase, ())

    def declare(self, components: Sequence[Component]) -> None:
        now = self._clock.now()
        self._entries = {component.name: _Entry(component, now) for component in components}
        if len(self._entries) != len(components):
            raise ValueError(f"Two components have the same name: {[part.name for part in components]}")
        names = {"component": list(self._entries)}
        self._is_ok = self._metrics.gauges("component_ok", "1 while the component reports no problem.", names)
        self.publish()

    def enter(self, phase: Phase) -> None:
        self._phase = phase
        self.publish()

    def mark(self, component: Component, state: ComponentState, words: str = "") -> None:
        entry = self._entries[component.name]
        entry.state, entry.words, entry.since = state, words, self._clock.now()
        self.publish()

    def publish(self) -> None:
        """Take a new snapshot, and log components whose health changed."""
        reports = tuple(self._report(entry) for entry in self._entries.values())
        self.report = ProcessReport(self._phase, reports)
        self._is_ready.set(self.report.is_ready)

    def _report(self, entry: _Entry) -> ComponentReport:
        health = self._health(entry)
        if (
            entry.state is ComponentState.STARTED
            and health.ok is not entry.was_ok
            and not self._is_new(entry, health)
        ):
            self._log_change(entry, health)
        part = entry.component
        reason = mask_secrets(health.reason)
        return ComponentReport(part.name, entry.state, health.ok, part.gates_readiness, reason, health.since)

    def _is_new(self, entry: _Entry, health: Health) -> bool:
        """Return whether the component has just started and may still get its first answer."""
        age_s = (self._clock.now() - entry.since).total_seconds()
        return entry.was_ok is None and not health.ok and 0 <= age_s < FIRST_ANSWER_S

    def _health(self, entry: _Entry) -> Health:
        if entry.state is not ComponentState.STARTED:
            return Health(ok=False, reason=entry.words or entry.state, since=entry.since)
        try:
            return entry.component.health() or Health(ok=True, reason="", since=entry.since)
        except Exception as error:  # noqa: BLE001 - a failing check must not prevent the report
            return Health(ok=False, reason=f"health check failed: {describe_error(error)}", since=entry.since)

    def _log_change(self, entry: _Entry, health: Health) -> None:
        name, was_ok = entry.component.name, entry.was_ok
        entry.was_ok = health.ok
        self._is_ok[name].set(health.ok)
        if not health.ok:
            log.warning("component is not well", component=name, reason=health.reason)
        elif was_ok is False:
            log.info("component is well again", component=name)

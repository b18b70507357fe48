"""What `/livez`, `/readyz` and `/metrics` answer. Called by the admin server's thread."""

from collections.abc import Callable, Mapping

import msgspec

from tidings.platform.lifecycle.admin import AdminPage, AdminResponse
from tidings.platform.lifecycle.board import ComponentReport, ProcessReport, ProcessStatus
from tidings.platform.lifecycle.heartbeat import Heartbeat
from tidings.platform.telemetry import metrics
from tidings.platform.telemetry.identity import ProcessIdentity

_OK, _UNAVAILABLE = 200, 503


def health_endpoints(
    identity: ProcessIdentity,
    status: ProcessStatus,
    heartbeat: Heartbeat,
    max_lag_s: float,
    render_metrics: Callable[[], bytes],
) -> Mapping[str, AdminPage]:
    return {
        "/livez": lambda: livez(heartbeat.age_s(), max_lag_s),
        "/readyz": lambda: readyz(identity, status.report, heartbeat.age_s(), max_lag_s),
        "/metrics": lambda: AdminResponse(_OK, metrics.CONTENT_TYPE, render_metrics()),
    }


def livez(beat_age_s: float, max_lag_s: float) -> AdminResponse:
    """Of the loop alone: an engine that is away is no reason to restart this process."""
    reason = _blocked(beat_age_s, max_lag_s)
    return _json(not reason, {"alive": not reason, "reason": reason})


def readyz(
    identity: ProcessIdentity, report: ProcessReport, beat_age_s: float, max_lag_s: float
) -> AdminResponse:
    """A report older than the bound says nothing any more, so a blocked loop is not ready either."""
    blocked = _blocked(beat_age_s, max_lag_s)
    is_ready = report.is_ready and not blocked
    body = {
        "ready": is_ready,
        "phase": report.phase,
        "process": identity.kind,
        "instance": identity.instance,
        "problems": [*([blocked] if blocked else []), *_problems(report)],
        "components": {part.name: _component(part) for part in report.components},
    }
    return _json(is_ready, body)


def _problems(report: ProcessReport) -> list[str]:
    return [f"{part.name}: {part.reason}" for part in report.components if not part.ok]


def _component(part: ComponentReport) -> dict[str, object]:
    return {
        "ok": part.ok,
        "state": part.state,
        "gates_readiness": part.gates_readiness,
        "reason": part.reason,
        "since": part.since,
    }


def _blocked(beat_age_s: float, max_lag_s: float) -> str:
    return f"the loop has not turned for {beat_age_s:.1f} s" if beat_age_s > max_lag_s else ""


def _json(is_ok: bool, body: Mapping[str, object]) -> AdminResponse:  # noqa: FBT001 - one caller per answer, in this file
    return AdminResponse(_OK if is_ok else _UNAVAILABLE, "application/json", msgspec.json.encode(body))

"""The state of processes and engines, gateways and drains, findings, series of metrics, and the settings."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query

from tidings.api.console.policy import ConsoleRoute, Reach, allow
from tidings.api.console.session import AsOperator
from tidings.api.schemas.api_model import ApiModel, Time
from tidings.operators.model import Role
from tidings.operators.process_monitor import SHOWN, STEP_S

router = APIRouter(prefix="/admin/v1", route_class=ConsoleRoute, tags=["operations"])
_HOURS_3 = 3 * 3600


class ProcessesResponse(ApiModel):
    """Processes of `console.processes`. The components of each are its engines and servers."""

    processes: list[dict[str, Any]]


class GatewaysResponse(ApiModel):
    """`may_drain`: the console has `process.drain_token`."""

    gateways: list[dict[str, Any]]
    may_drain: bool


class FindingsResponse(ApiModel):
    """Each finding has `check`, `state`, `found`, and optionally `why`, `todo` and `details`."""

    checked_at: Time
    findings: list[dict[str, Any]]


class MetricName(ApiModel):
    name: str
    kind: str
    help: str


class MetricNamesResponse(ApiModel):
    names: list[MetricName]


class SeriesResponse(ApiModel):
    """Gauges as they are, counters as rates per second."""

    series: list[dict[str, Any]]
    step_s: float


class SettingRow(ApiModel):
    name: str
    value: str
    source: str


class SettingsResponse(ApiModel):
    """Settings of the console process with their sources. Secrets are stars."""

    settings: list[SettingRow]


@router.get("/processes", **allow("list_processes", Role.VIEWER, Reach.INSTALLATION, is_recorded=False))
async def list_processes(call: AsOperator) -> ProcessesResponse:
    """List the processes with their phase, readiness and components, as of the last poll."""
    found = call.context.services.monitor.processes()
    return ProcessesResponse(processes=[msgspec.to_builtins(each) for each in found])


@router.get("/gateways", **allow("list_gateways", Role.VIEWER, Reach.INSTALLATION, is_recorded=False))
async def list_gateways(call: AsOperator) -> GatewaysResponse:
    """List the gateways with their open connections, as of the last poll."""
    monitor = call.context.services.monitor
    return GatewaysResponse(
        gateways=[msgspec.to_builtins(each) for each in monitor.gateways()], may_drain=monitor.may_drain
    )


@router.post(
    "/gateways/{address}/drain",
    status_code=202,
    **allow("drain_gateway", Role.OPERATOR, Reach.INSTALLATION, needs_reason=True, is_recorded=True),
)
async def drain_gateway(call: AsOperator, address: str) -> None:
    """Drain a gateway: its devices move to other gateways, then its process ends."""
    await call.context.services.monitor.drain(address)


@router.get("/findings", **allow("list_findings", Role.OPERATOR, Reach.INSTALLATION, is_recorded=False))
async def list_findings(call: AsOperator) -> FindingsResponse:
    """List the findings of `tidings doctor`. They are at most one minute old."""
    report = await call.context.services.doctor.report()
    return FindingsResponse(checked_at=report.checked_at, findings=report.findings)


@router.get("/series/names", **allow("list_series_names", Role.VIEWER, Reach.INSTALLATION, is_recorded=False))
async def list_series_names(call: AsOperator) -> MetricNamesResponse:
    """List the metrics of which series are kept."""
    _ = call
    names = [
        MetricName(name=name, kind="rate" if name.endswith("_total") else "gauge", help=text)
        for name, text in SHOWN.items()
    ]
    return MetricNamesResponse(names=names)


@router.get("/series", **allow("list_series", Role.VIEWER, Reach.INSTALLATION, is_recorded=False))
async def list_series(
    call: AsOperator,
    name: Annotated[list[str] | None, Query()] = None,
    since_s: Annotated[int, Query(ge=1, le=_HOURS_3)] = 3600,
) -> SeriesResponse:
    """Get series of the last hours. They start with this console process."""
    found = call.context.services.monitor.series(name or (), since_s)
    return SeriesResponse(series=[msgspec.to_builtins(each) for each in found], step_s=STEP_S)


@router.get("/settings", **allow("list_settings", Role.OPERATOR, Reach.INSTALLATION, is_recorded=False))
async def list_settings(call: AsOperator) -> SettingsResponse:
    """List the settings with the source of each."""
    rows = call.context.services.settings
    return SettingsResponse(
        settings=[SettingRow(name=name, value=value, source=source) for name, value, source in rows]
    )

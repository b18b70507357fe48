"""The audit log: list and export."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from tidings.api.console.policy import ConsoleRequest, ConsoleRoute, Reach, allow
from tidings.api.console.session import AsOperator
from tidings.api.schemas.api_model import ApiModel, Cursor, TenantInPath
from tidings.audit.model import AuditRecord
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId
from tidings.operators.model import Role

router = APIRouter(prefix="/admin/v1", route_class=ConsoleRoute, tags=["audit log"])
_MEDIA_TYPE: Final = "application/x-ndjson"


class AuditPageResponse(ApiModel):
    records: list[dict[str, Any]]
    cursor: Cursor | None = None


class AuditParams(ApiModel):
    month: Annotated[str, Query(max_length=7)] | None = None
    limit: Annotated[int, Query(ge=1, le=200, strict=False)] = 50
    cursor: Cursor | None = None


@router.get("/tenants/{tenant}/audit", **allow("list_audit", Role.OPERATOR, is_recorded=False))
async def list_audit(
    call: AsOperator, tenant: TenantInPath, asked: Annotated[AuditParams, Query()]
) -> AuditPageResponse:
    """List administrative actions in a tenant, newest first."""
    return await _page(call, tenant, asked)


@router.get(
    "/audit", **allow("list_installation_audit", Role.OPERATOR, Reach.INSTALLATION, is_recorded=False)
)
async def list_installation_audit(
    call: AsOperator, asked: Annotated[AuditParams, Query()]
) -> AuditPageResponse:
    """List actions that concern no tenant, newest first."""
    return await _page(call, None, asked)


@router.get("/tenants/{tenant}/audit/export", **allow("export_audit", Role.OWNER, is_recorded=True))
async def export_audit(
    call: AsOperator, tenant: TenantInPath, month: str | None = None, after: str | None = None
) -> StreamingResponse:
    """Export the records from a month on, or after a record, as JSON lines, oldest first."""
    return _export(call, tenant, month, after)


@router.get(
    "/audit/export", **allow("export_installation_audit", Role.OWNER, Reach.INSTALLATION, is_recorded=True)
)
async def export_installation_audit(
    call: AsOperator, month: str | None = None, after: str | None = None
) -> StreamingResponse:
    """Export the records that concern no tenant."""
    return _export(call, None, month, after)


async def _page(call: ConsoleRequest, tenant: TenantId | None, asked: AuditParams) -> AuditPageResponse:
    cursors = call.context.cursors.of(
        tenant or TenantId("_system"), None, f"audit {call.operator.id}", asked.month
    )
    log = call.context.services.audit
    page = await log.page(tenant, asked.month, asked.limit, cursors.read(asked.cursor))
    return AuditPageResponse(
        records=[msgspec.to_builtins(each) for each in page.records], cursor=cursors.write(page.last)
    )


def _export(
    call: ConsoleRequest, tenant: TenantId | None, month: str | None, after: str | None
) -> StreamingResponse:
    found = call.context.services.audit.export(
        tenant, since=month, after=after, until_ms=SystemClock().now_ms()
    )
    return StreamingResponse(_lines(found), media_type=_MEDIA_TYPE)


async def _lines(records: AsyncIterator[AuditRecord]) -> AsyncIterator[bytes]:
    async for each in records:
        yield msgspec.json.encode(each) + b"\n"

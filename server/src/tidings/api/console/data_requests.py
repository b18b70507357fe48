"""Exports and erasures of users, and the second approver of erasures and of the deletion of a tenant."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from tidings.api.console.policy import ConsoleRequest, ConsoleRoute, allow
from tidings.api.console.session import AsOperator
from tidings.api.schemas.api_model import ApiModel, Cursor, TenantInPath, UserInPath
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.erasures import ErasureDecisionBody, ErasureProgress, ErasureResponse
from tidings.api.schemas.exports import ExportResponse
from tidings.exports.model import Export
from tidings.exports.service import ExportService
from tidings.jobs.model import WHOLE_TENANT
from tidings.kernel.action_notes import note_change
from tidings.kernel.errors import Code, TidingsError
from tidings.operators.model import Role

router = APIRouter(prefix="/admin/v1/tenants/{tenant}", route_class=ConsoleRoute, tags=["data requests"])


class DataRequestsResponse(ApiModel):
    """The last export and the erasure of a user. `can_export`: the installation has a bucket for archives."""

    can_export: bool
    export: ExportResponse | None = None
    erasure: ErasureResponse | None = None


class ErasuresResponse(ApiModel):
    """Erasures of users, newest request first, and on the first page the deletion of the tenant, if it was requested."""

    erasures: list[ErasureResponse]
    deletion: ErasureProgress | None = None
    cursor: Cursor | None = None


def _allow_decision(name: str, role: Role) -> dict[str, Any]:
    return allow(name, role, needs_reason=True, is_recorded=True)


@router.get("/erasures", **allow("list_erasures", Role.SUPPORT, is_recorded=False))
async def list_erasures(
    call: AsOperator, tenant: TenantInPath, asked: Annotated[PageParams, Query()]
) -> ErasuresResponse:
    """List erasures, without content and without certificates."""
    erasures = call.context.services.erasures
    cursors = call.context.cursors.of(tenant, None, f"erasures {call.operator.id}")
    page = await erasures.listed(tenant, asked.limit, cursors.read(asked.cursor))
    deletion = None if asked.cursor else await erasures.find(tenant, WHOLE_TENANT)
    return ErasuresResponse(
        erasures=[
            ErasureResponse.of(each).model_copy(update={"certificate": None}) for each in page.erasures
        ],
        deletion=None if deletion is None else ErasureProgress.progress_of(deletion),
        cursor=cursors.write(page.before),
    )


@router.post("/deletion/decision", **_allow_decision("decide_deletion", Role.OWNER))
async def decide_deletion(
    call: AsOperator, tenant: TenantInPath, body: ErasureDecisionBody
) -> ErasureProgress:
    """Approve or reject the request to delete the tenant."""
    decided = await call.context.services.erasures.decide(
        tenant, WHOLE_TENANT, body.decision, call.operator.id
    )
    return ErasureProgress.progress_of(decided)


@router.get("/users/{user}/data-requests", **allow("get_data_requests", Role.SUPPORT, is_recorded=False))
async def get_data_requests(call: AsOperator, tenant: TenantInPath, user: UserInPath) -> DataRequestsResponse:
    """Get the last export and the erasure of a user. The URL of the archive needs a request of its own."""
    services = call.context.services
    export = None if services.exports is None else await services.exports.find(tenant, user)
    erasure = await services.erasures.find(tenant, user)
    return DataRequestsResponse(
        can_export=services.exports is not None,
        export=None if export is None or services.exports is None else _without_url(services.exports, export),
        erasure=None if erasure is None else ErasureResponse.of(erasure),
    )


@router.post(
    "/users/{user}/export",
    **allow("export_user", Role.OPERATOR, needs_reason=True, is_recorded=True, status_code=202),
)
async def export_user(call: AsOperator, tenant: TenantInPath, user: UserInPath) -> ExportResponse:
    """Start the export of a user, or return the one that runs."""
    exports = _exports(call)
    return _without_url(exports, await exports.request(tenant, user, call.operator.id))


@router.post(
    "/users/{user}/export/link",
    **allow("link_export", Role.OPERATOR, needs_reason=True, is_recorded=True),
)
async def link_export(call: AsOperator, tenant: TenantInPath, user: UserInPath) -> ExportResponse:
    """Get a URL of the archive, which has all chats of the user. The audit log keeps who asked for it."""
    exports = _exports(call)
    export = await exports.read(tenant, user)
    note_change(None, {"export": export.id})
    return ExportResponse.of(export, exports.link(export))


@router.post(
    "/users/{user}/erasure",
    **allow("erase_user", Role.OPERATOR, needs_reason=True, is_recorded=True, status_code=202),
)
async def erase_user(call: AsOperator, tenant: TenantInPath, user: UserInPath) -> ErasureResponse:
    """Erase a user permanently, or request it if the tenant requires a second approver."""
    return ErasureResponse.of(await call.context.services.erasures.request(tenant, user, call.operator.id))


@router.post("/users/{user}/erasure/decision", **_allow_decision("decide_erasure", Role.OPERATOR))
async def decide_erasure(
    call: AsOperator, tenant: TenantInPath, user: UserInPath, body: ErasureDecisionBody
) -> ErasureResponse:
    """Approve or reject the request to erase a user. The requester cannot approve it."""
    decided = await call.context.services.erasures.decide(tenant, user, body.decision, call.operator.id)
    return ErasureResponse.of(decided)


def _exports(call: ConsoleRequest) -> ExportService:
    if call.context.services.exports is None:
        raise TidingsError(
            Code.MEDIA_NOT_CONFIGURED,
            "This installation has no bucket for archives.",
            hint="Set media.endpoint, or run `tidings user export`.",
        )
    return call.context.services.exports


def _without_url(exports: ExportService, export: Export) -> ExportResponse:
    answer = ExportResponse.of(export, exports.link(export))
    return answer.model_copy(update={"url": None, "url_expires_at": None})

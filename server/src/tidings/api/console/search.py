"""Search of a tenant: turn it on and off."""

from fastapi import APIRouter

from tidings.api.console.policy import ConsoleRoute, allow
from tidings.api.console.session import AsOperator
from tidings.api.schemas.api_model import ApiModel, TenantInPath
from tidings.operators.model import Role

router = APIRouter(prefix="/admin/v1/tenants/{tenant}/search", route_class=ConsoleRoute, tags=["tenants"])


class SearchJobResponse(ApiModel):
    """The job that indexes the messages of the past."""

    job: str


@router.post("/enable", **allow("enable_search", Role.OWNER, needs_reason=True, is_recorded=True))
async def enable_search(call: AsOperator, tenant: TenantInPath) -> SearchJobResponse:
    """Let users search their messages. The index then has words of all messages of the tenant, also of encrypted ones."""
    return SearchJobResponse(job=await call.context.services.search.enable(tenant))


@router.post(
    "/disable", **allow("disable_search", Role.OWNER, needs_reason=True, is_recorded=True, status_code=204)
)
async def disable_search(call: AsOperator, tenant: TenantInPath) -> None:
    """End search. The tenant's part of the index is deleted within a minute."""
    await call.context.services.search.disable(tenant)

"""Exports of users."""

from fastapi import APIRouter

from tidings.api.auth import AsUsersServer, AuthenticatedRequest, AuthenticatedRoute
from tidings.api.openapi import route_options
from tidings.api.schemas.api_model import UserInPath
from tidings.api.schemas.exports import ExportResponse
from tidings.exports.service import ExportService
from tidings.kernel.errors import Code, TidingsError

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["users"])

_OFF = Code.MEDIA_NOT_CONFIGURED


def _service(call: AuthenticatedRequest) -> ExportService:
    if call.edge.services.exports is None:
        raise TidingsError(
            _OFF,
            "This installation has no bucket for archives.",
            hint="Set media.endpoint, or run `tidings user export`.",
        )
    return call.edge.services.exports


@router.post(
    "/users/{user}/export",
    **route_options(
        "export_user",
        _OFF,
        Code.USER_NOT_FOUND,
        Code.OUTCOME_UNKNOWN,
        touches=(
            *("exports.read", "users.confirm", "erasures.read", "memberships.list_chats_of_user"),
            *("exports.create", "jobs.create"),
        ),
        status_code=202,
        summary="Export a user",
    ),
)
async def export_user(call: AsUsersServer, user: UserInPath) -> ExportResponse:
    """Export all data that a user can read. Requires an API key with the scope `users`.

    A job writes a ZIP file of web pages, JSON files and attachments. While it runs, a second request returns the same
    export. Later, a request starts a new export, which replaces the archive of the one before.
    """
    service, by = _service(call), f"api_key:{call.principal.api_key}"
    export = await service.request(call.tenant, user, by)
    return ExportResponse.of(export, service.link(export))


@router.get(
    "/users/{user}/export",
    **route_options(
        "get_export", _OFF, Code.JOB_NOT_FOUND, touches=("exports.read",), summary="Get the export of a user"
    ),
)
async def get_export(call: AsUsersServer, user: UserInPath) -> ExportResponse:
    """Get the last export of a user, and a URL of its archive when it is ready. Requires an API key with the scope `users`."""
    service = _service(call)
    export = await service.read(call.tenant, user)
    return ExportResponse.of(export, service.link(export))

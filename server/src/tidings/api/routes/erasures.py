"""Erasures of users."""

from fastapi import APIRouter

from tidings.api.auth import AsUsersServer, AuthenticatedRoute
from tidings.api.openapi import OF_BODIES, route_options
from tidings.api.schemas.api_model import UserInPath
from tidings.api.schemas.erasures import ErasureDecisionBody, ErasureResponse
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["users"])


@router.delete(
    "/users/{user}",
    **route_options(
        "erase_user",
        Code.USER_NOT_FOUND,
        Code.OUTCOME_UNKNOWN,
        touches=(
            *("erasures.read", "users.confirm", "memberships.list_chats_of_user"),
            *("tenants.read_settings", "erasures.create", "jobs.create"),
        ),
        status_code=202,
        summary="Erase a user",
    ),
)
async def erase_user(call: AsUsersServer, user: UserInPath) -> ErasureResponse:
    """Erase a user permanently. Requires an API key with the scope `users`.

    The user's credentials are refused within a minute, and the id cannot be used again. A job destroys their keys, leaves
    their chats, empties their messages, replaces their id by a pseudonym, and deletes their files, search documents,
    notifications and profile. It takes at least 8 minutes. A second request returns the same erasure.

    If the tenant requires a second approver, nothing is erased until another API key or an operator approves the request.
    """
    by = f"api_key:{call.principal.api_key}"
    return ErasureResponse.of(await call.edge.services.erasures.request(call.tenant, user, by))


@router.get(
    "/users/{user}/erasure",
    **route_options(
        "get_erasure", Code.JOB_NOT_FOUND, touches=("erasures.read",), summary="Get the erasure of a user"
    ),
)
async def get_erasure(call: AsUsersServer, user: UserInPath) -> ErasureResponse:
    """Get how far the erasure of a user is. Requires an API key with the scope `users`."""
    return ErasureResponse.of(await call.edge.services.erasures.read(call.tenant, user))


@router.post(
    "/users/{user}/erasure/decision",
    **route_options(
        "decide_erasure",
        *OF_BODIES,
        Code.JOB_NOT_FOUND,
        Code.NO_CHANGE,
        Code.OUTCOME_UNKNOWN,
        touches=("erasures.read", "erasures.approve", "erasures.save", "jobs.create"),
        summary="Approve or reject the erasure of a user",
    ),
)
async def decide_erasure(call: AsUsersServer, user: UserInPath, body: ErasureDecisionBody) -> ErasureResponse:
    """Approve or reject a request for an erasure. Requires an API key with the scope `users`.

    The API key that requested the erasure cannot approve it (`forbidden`). After a decision, or 7 days after the request,
    another one is refused with `no_change`.
    """
    by = f"api_key:{call.principal.api_key}"
    return ErasureResponse.of(await call.edge.services.erasures.decide(call.tenant, user, body.decision, by))

"""A user's own sessions: where he is logged in, and logging out."""

from typing import Annotated

from fastapi import APIRouter, Path

from tidings.accounts.model import SessionId
from tidings.api.documented import route_options
from tidings.api.door import AsUser, AuthenticatedRoute
from tidings.api.schemas.accounts import SessionResponse, SessionsResponse
from tidings.kernel.errors import Code

sessions_router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["sessions"])

SessionInPath = Annotated[
    SessionId, Path(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$", examples=["01JCQ51A2B3C4D5E6F7G8H9J0K"])
]


@sessions_router.get(
    "/sessions",
    **route_options(
        "list_sessions",
        Code.USER_NOT_FOUND,
        touches=("sessions.list", "users.read"),
        summary="Where one is logged in",
    ),
)
async def list_sessions(call: AsUser) -> SessionsResponse:
    rows = await call.services.sessions.list(call.tenant, call.user)
    return SessionsResponse(sessions=[SessionResponse.of(row) for row in rows])


@sessions_router.delete(
    "/sessions/{session}",
    **route_options(
        "end_session",
        Code.OUTCOME_UNKNOWN,
        touches=("sessions.revoke",),
        status_code=204,
        summary="Log one device out",
    ),
)
async def end_session(call: AsUser, session: SessionInPath) -> None:
    """A session of one's own. Whether there was such a one is not told."""
    await call.services.sessions.revoke(call.tenant, call.user, session)


@sessions_router.delete(
    "/sessions",
    **route_options(
        "end_sessions",
        Code.USER_NOT_FOUND,
        Code.OUTCOME_UNKNOWN,
        touches=("users.end_sessions", "users.confirm", "sessions.list", "sessions.revoke_many"),
        status_code=204,
        summary="Log all devices out",
    ),
)
async def end_sessions(call: AsUser) -> None:
    """The one that asks, too."""
    await call.services.sessions.revoke_all(call.tenant, call.user)

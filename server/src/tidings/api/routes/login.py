"""Login by phone, token refresh, and sessions."""

from typing import Annotated

from fastapi import APIRouter, Header, Path, Request

from tidings.accounts.model import SessionId
from tidings.api.auth import AsUser, AuthenticatedRoute, PublicRoute, api_context, client_address
from tidings.api.openapi import OF_BODIES, route_options
from tidings.api.schemas.accounts import (
    CodeSentResponse,
    LoginResponse,
    RedeemCodeBody,
    RefreshBody,
    RequestCodeBody,
    SessionResponse,
    SessionsResponse,
    TokensResponse,
)
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1", route_class=PublicRoute, tags=["login"])

_KEYS = ("tenants.list_data_keys", "tenants.put_data_key")
_OF_LOGIN = (Code.CREDENTIAL_INVALID, Code.KEYS_UNAVAILABLE, Code.OUTCOME_UNKNOWN)

RetryKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=16,
        max_length=64,
        pattern=r"^[!-~]+$",
        description="A random key for this refresh. A retry with the same key returns the same tokens. A refresh token "
        "that is used again without the key, or with another one, was copied, and its session ends.",
        examples=["5d41402abc4b2a76b9719d911017c592"],
    ),
]


@router.post(
    "/login/phone",
    **route_options(
        "request_code",
        *OF_BODIES,
        *_OF_LOGIN,
        Code.PHONE_LOGIN_OFF,
        touches=("tenants.put_code", "tenants.read_settings", *_KEYS),
        is_open=True,
        status_code=202,
        summary="Request a login code",
    ),
)
async def request_code(request: Request, body: RequestCodeBody) -> CodeSentResponse:
    """Send a one-time code to a phone number by SMS. The answer is the same for known and unknown numbers."""
    phone = api_context(request).services.phone
    return CodeSentResponse.of(await phone.ask(body.tenant, body.phone, client_address(request)))


@router.post(
    "/login/phone/redeem",
    **route_options(
        "redeem_code",
        *OF_BODIES,
        *_OF_LOGIN,
        Code.WRITE_CONFLICT,
        touches=(
            "tenants.try_code",
            "tenants.redeem_code",
            "users.find_claim",
            "users.confirm",
            "users.create_with_phone",
            "sessions.create",
            "tenants.read_settings",
            "user_keys.read",
            "user_keys.confirm",
            "user_keys.put",
            *_KEYS,
        ),
        is_open=True,
        summary="Log in with a code",
    ),
)
async def redeem_code(request: Request, body: RedeemCodeBody) -> LoginResponse:
    """Log a device in with a one-time code. A code is valid for one login, five attempts and ten minutes.

    The same error is returned for a wrong, used or expired code.
    """
    phone = api_context(request).services.phone
    return LoginResponse.of(
        await phone.log_in(body.tenant, body.answer(), body.on(), client_address(request))
    )


@router.post(
    "/login/refresh",
    **route_options(
        "refresh_session",
        *OF_BODIES,
        *_OF_LOGIN,
        touches=("sessions.read", "sessions.rotate", "sessions.revoke", "users.confirm", *_KEYS),
        is_open=True,
        summary="Refresh tokens",
    ),
)
async def refresh_session(request: Request, body: RefreshBody, key: RetryKey = None) -> TokensResponse:
    """Exchange a refresh token for a new access token and a new refresh token."""
    return TokensResponse.of(await api_context(request).services.sessions.refresh(body.refresh_token, key))


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
        summary="List sessions",
    ),
)
async def list_sessions(call: AsUser) -> SessionsResponse:
    """List the user's active sessions, oldest first."""
    rows = await call.services.sessions.list(call.tenant, call.user)
    return SessionsResponse(sessions=[SessionResponse.of(row) for row in rows])


@sessions_router.delete(
    "/sessions/{session}",
    **route_options(
        "end_session",
        Code.OUTCOME_UNKNOWN,
        touches=("sessions.revoke",),
        status_code=204,
        summary="End a session",
    ),
)
async def end_session(call: AsUser, session: SessionInPath) -> None:
    """Log a device out. A session that does not exist causes no error."""
    await call.services.sessions.revoke(call.tenant, call.user, session)


@sessions_router.delete(
    "/sessions",
    **route_options(
        "end_sessions",
        Code.USER_NOT_FOUND,
        Code.OUTCOME_UNKNOWN,
        touches=("users.end_sessions", "users.confirm", "sessions.list", "sessions.revoke_many"),
        status_code=204,
        summary="End all sessions",
    ),
)
async def end_sessions(call: AsUser) -> None:
    """Log all devices of the user out, including the calling one."""
    await call.services.sessions.revoke_all(call.tenant, call.user)

"""Coming in by phone, and staying in: the routes for those who have no credential yet."""

from typing import Annotated

from fastapi import APIRouter, Header, Request

from tidings.api.documented import OF_BODIES, route
from tidings.api.door import Open, address_of, edge_of
from tidings.api.schemas.accounts import CodeAsked, CodeRedeemed, CodeSent, LoggedIn, Refreshing, Tokens
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1", route_class=Open, tags=["login"])

_KEYS = ("tenants.list_data_keys", "tenants.put_data_key")
_OF_LOGIN = (Code.CREDENTIAL_INVALID, Code.KEYS_UNAVAILABLE, Code.OUTCOME_UNKNOWN)

RetryKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=16,
        max_length=64,
        pattern=r"^[!-~]+$",
        description="Drawn by chance for this refresh. A repeat with it gets the same tokens again; without it, or with "
        "another, a refresh token that comes twice was copied, and its session ends.",
        examples=["5d41402abc4b2a76b9719d911017c592"],
    ),
]


@router.post(
    "/login/phone",
    **route(
        "ask_for_code",
        *OF_BODIES,
        *_OF_LOGIN,
        Code.PHONE_LOGIN_OFF,
        touches=("tenants.put_code", "tenants.read_settings", *_KEYS),
        is_open=True,
        status_code=202,
        summary="Have a code sent to a phone",
    ),
)
async def ask_for_code(request: Request, body: CodeAsked) -> CodeSent:
    """The answer is the same whether anybody has this number or not."""
    phone = edge_of(request).services.phone
    return CodeSent.of(await phone.ask(body.tenant, body.phone, address_of(request)))


@router.post(
    "/login/phone/redeem",
    **route(
        "redeem_code",
        *OF_BODIES,
        *_OF_LOGIN,
        Code.CHANGED_MEANWHILE,
        touches=(
            "tenants.try_code",
            "tenants.redeem_code",
            "users.find_claim",
            "users.confirm",
            "users.create_with_phone",
            "sessions.create",
            "tenants.read_settings",
            *_KEYS,
        ),
        is_open=True,
        summary="Log in with a code",
    ),
)
async def redeem_code(request: Request, body: CodeRedeemed) -> LoggedIn:
    """A code is good for one login, five tries and ten minutes. What was wrong with it is not told."""
    phone = edge_of(request).services.phone
    return LoggedIn.of(await phone.log_in(body.tenant, body.answer(), body.on(), address_of(request)))


@router.post(
    "/login/refresh",
    **route(
        "refresh_session",
        *OF_BODIES,
        *_OF_LOGIN,
        touches=("sessions.read", "sessions.rotate", "sessions.revoke", "users.confirm", *_KEYS),
        is_open=True,
        summary="New tokens for a session",
    ),
)
async def refresh_session(request: Request, body: Refreshing, key: RetryKey = None) -> Tokens:
    return Tokens.of(await edge_of(request).services.sessions.refresh(body.refresh_token, key))

"""Sign in to the console, and sessions of operators."""

from time import monotonic
from typing import Annotated, Final

import structlog
from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.responses import RedirectResponse

from tidings.api.auth import client_address
from tidings.api.console.policy import (
    POLICIES,
    ConsoleRequest,
    ConsoleRoute,
    Reach,
    actor_of,
    allow,
    console_context,
)
from tidings.api.console.services import ConsoleContext
from tidings.api.schemas.api_model import ApiModel, Time
from tidings.kernel.clock import format_ms
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import TenantId
from tidings.operators.model import Operator, OperatorSession, Role
from tidings.operators.oidc import LOGIN_S, LoginRefusedError, decode_pending, encode_pending
from tidings.operators.sessions import csrf_token

log = structlog.get_logger(source=__name__)

router = APIRouter(prefix="/admin/v1", route_class=ConsoleRoute, tags=["sign-in"])
_SYSTEM: Final = TenantId("_system")


def _authorized(request: Request) -> ConsoleRequest:
    """Return the result of `ConsoleRoute.admit`. Fails on a public route."""
    call: ConsoleRequest = request.state.call
    return call


type AsOperator = Annotated[ConsoleRequest, Depends(_authorized)]


class SignInResponse(ApiModel):
    """The ways to sign in."""

    oidc: bool
    bootstrap_key: bool
    name: str


class OperatorResponse(ApiModel):
    id: str
    name: str
    email: str
    credential: str


class ConsoleSessionResponse(ApiModel):
    session: str
    operator: OperatorResponse
    role: str
    tenants: list[str]
    permissions: list[str]
    csrf_token: str
    expires_at: Time

    @classmethod
    def of(cls, session: OperatorSession, token: str) -> "ConsoleSessionResponse":
        operator = session.operator
        return cls(
            session=session.id,
            operator=OperatorResponse(
                id=operator.id, name=operator.name, email=operator.email, credential=actor_of(operator)
            ),
            role=operator.role.value,
            tenants=sorted(operator.tenants),
            permissions=permissions_of(operator),
            csrf_token=csrf_token(token),
            expires_at=format_ms(session.expires_at_ms),
        )


class SignInBody(ApiModel):
    key: str


class ListedSession(ApiModel):
    id: str
    operator: str
    role: str
    tenants: list[str]
    credential: str
    created_at: Time
    expires_at: Time

    @classmethod
    def of(cls, session: OperatorSession) -> "ListedSession":
        operator = session.operator
        return cls(
            id=session.id,
            operator=operator.id,
            role=operator.role.value,
            tenants=sorted(operator.tenants),
            credential=actor_of(operator),
            created_at=format_ms(session.created_at_ms),
            expires_at=format_ms(session.expires_at_ms),
        )


class ListedSessionsResponse(ApiModel):
    sessions: list[ListedSession]


def permissions_of(operator: Operator) -> list[str]:
    """Return the operations that the operator may call, on some tenant at least."""
    return sorted(
        name
        for name, policy in POLICIES.items()
        if operator.role.includes(policy.role)
        and (policy.reach is not Reach.INSTALLATION or operator.has_all_tenants)
        and policy.reach is not Reach.PUBLIC
    )


@router.get("/sign-in", **allow("get_sign_in", Role.VIEWER, Reach.PUBLIC, is_recorded=False))
async def get_sign_in(request: Request) -> SignInResponse:
    """Get the ways to sign in."""
    context = console_context(request)
    return SignInResponse(
        oidc=context.services.login is not None,
        bootstrap_key=context.services.sessions.has_bootstrap_key,
        name=context.options.sign_in_name,
    )


@router.post(
    "/session", **allow("create_session", Role.VIEWER, Reach.PUBLIC, is_recorded=True, status_code=201)
)
async def create_session(request: Request, response: Response, body: SignInBody) -> ConsoleSessionResponse:
    """Sign in with the bootstrap key. Failed attempts of an address are limited."""
    context, address = console_context(request), client_address(request)
    context.sign_ins.check(address, monotonic())
    try:
        operator = context.services.sessions.check_bootstrap_key(body.key)
    except TidingsError:
        context.sign_ins.add_failure(address, monotonic())
        raise
    issued = await context.services.sessions.begin(operator)
    set_session_cookie(response, context, issued.token.reveal())
    return ConsoleSessionResponse.of(issued.session, issued.token.reveal())


@router.get("/login", **allow("start_login", Role.VIEWER, Reach.PUBLIC, is_recorded=False))
async def start_login(request: Request, return_to: Annotated[str, Query(max_length=512)] = "/") -> Response:
    """Redirect to the identity provider."""
    context = console_context(request)
    if context.services.login is None:
        raise TidingsError(Code.REQUEST_INVALID, "No identity provider is set (`console.oidc_issuer`).")
    try:
        url, pending = await context.services.login.start(_own_path(return_to))
    except UnavailableError as error:
        log.warning("the identity provider is unavailable", reason=str(error))
        return _back("/?sign_in_error=provider_unavailable")
    response = RedirectResponse(url, 302)
    sealed = context.cursors.of(_SYSTEM, None, "console login").write(encode_pending(pending)) or ""
    _set_cookie(response, context, context.options.login_cookie_name, sealed, LOGIN_S)
    return response


@router.get("/login/callback", **allow("finish_login", Role.VIEWER, Reach.PUBLIC, is_recorded=True))
async def finish_login(request: Request) -> Response:
    """Finish a login that this browser started."""
    context = console_context(request)
    if context.services.login is None:
        raise TidingsError(Code.REQUEST_INVALID, "No identity provider is set (`console.oidc_issuer`).")
    try:
        pending = decode_pending(_read_login_cookie(request, context))
        operator = await context.services.login.finish(pending, request.query_params)
    except LoginRefusedError as error:
        log.warning("a login was refused", code=error.code, reason=str(error))
        response = _back(f"/?sign_in_error={error.code}")
    except UnavailableError as error:
        log.warning("the identity provider is unavailable", reason=str(error))
        response = _back("/?sign_in_error=provider_unavailable")
    else:
        issued = await context.services.sessions.begin(operator)
        response = _back(pending.return_to if pending else "/")
        set_session_cookie(response, context, issued.token.reveal())
    response.delete_cookie(context.options.login_cookie_name, secure=context.options.is_secure, httponly=True)
    return response


@router.get("/session", **allow("get_session", Role.VIEWER, Reach.OWN, is_recorded=False))
async def get_session(call: AsOperator) -> ConsoleSessionResponse:
    """Get the operator's session, permissions and CSRF token."""
    return ConsoleSessionResponse.of(call.session, call.token)


@router.delete("/session", **allow("end_session", Role.VIEWER, Reach.OWN, is_recorded=True, status_code=204))
async def end_session(call: AsOperator, response: Response) -> None:
    """Sign out."""
    await call.context.services.sessions.end(call.session.id)
    options = call.context.options
    response.delete_cookie(options.cookie_name, secure=options.is_secure, httponly=True, samesite="lax")


@router.get("/sessions", **allow("list_sessions", Role.OWNER, Reach.INSTALLATION, is_recorded=False))
async def list_sessions(call: AsOperator) -> ListedSessionsResponse:
    """List the sessions of all operators."""
    found = await call.context.services.sessions.list()
    return ListedSessionsResponse(sessions=[ListedSession.of(each) for each in found])


@router.delete(
    "/sessions/{session}",
    **allow("revoke_session", Role.OWNER, Reach.INSTALLATION, is_recorded=True, status_code=204),
)
async def revoke_session(call: AsOperator, session: str) -> None:
    """End the session of another operator. It is refused at once, in every process."""
    await call.context.services.sessions.end(session)


def set_session_cookie(response: Response, context: ConsoleContext, token: str) -> None:
    _set_cookie(response, context, context.options.cookie_name, token, None)


def _set_cookie(
    response: Response, context: ConsoleContext, name: str, value: str, life_s: int | None
) -> None:
    # `Lax`, not `Strict`: the redirect from the identity provider to the callback is a navigation from another site.
    response.set_cookie(
        name, value, max_age=life_s, path="/", secure=context.options.is_secure, httponly=True, samesite="lax"
    )


def _read_login_cookie(request: Request, context: ConsoleContext) -> str | None:
    try:
        cookie = request.cookies.get(context.options.login_cookie_name)
        return context.cursors.of(_SYSTEM, None, "console login").read(cookie)
    except TidingsError:
        return None


def _back(path: str) -> Response:
    return RedirectResponse(path, 303)


def _own_path(path: str) -> str:
    """Return the path if it is one of the console. An absolute address would make the console an open redirect."""
    is_own = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_own else "/"

"""Authorize requests of the console: session, CSRF token, role, tenant, reason; and record them.

Every route declares its policy with `allow`. A route without one cannot be built.
"""

import hmac
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, override
from urllib.parse import unquote, urlsplit

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError

from tidings.api.auth import PublicRoute, client_address
from tidings.api.console.services import ConsoleContext
from tidings.api.problems import to_validation_error
from tidings.api.route_executor import Handler
from tidings.audit.model import MAX_REASON_CHARS, AdminAction, AuditSource
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.operators.model import Operator, OperatorSession, Role
from tidings.operators.sessions import BOOTSTRAP, csrf_token

CSRF_HEADER: Final = "tidings-csrf"
REASON_HEADER: Final = "tidings-reason"
MIN_REASON_CHARS: Final = 3
_SAFE: Final = "GET"


class Reach(StrEnum):
    """The scope of a route, which decides the grant that it needs."""

    PUBLIC = "public"
    """No session: sign-in."""
    OWN = "own"
    """The operator's own session and tenants."""
    TENANT = "tenant"
    """The tenant in the path."""
    INSTALLATION = "installation"
    """Everything: needs a grant for all tenants."""


@dataclass(frozen=True, slots=True)
class RoutePolicy:
    """`is_recorded`: the audit log has a record of each request."""

    role: Role
    reach: Reach
    needs_reason: bool
    is_recorded: bool


POLICIES: Final[dict[str, RoutePolicy]] = {}
"""Of every route, by operation id."""


def allow(
    name: str,
    role: Role,
    reach: Reach = Reach.TENANT,
    *,
    needs_reason: bool = False,
    is_recorded: bool,
    **more: Any,  # noqa: ANN401 - arguments of the framework
) -> dict[str, Any]:
    """Return arguments for a router's decorator, and register the policy of the route."""
    if name in POLICIES:
        raise ValueError(f"two routes are named {name}")
    POLICIES[name] = RoutePolicy(role, reach, needs_reason, is_recorded)
    return {"operation_id": name, "response_model_exclude_none": True, **more}


@dataclass(frozen=True, slots=True)
class ConsoleRequest:
    """An authorized request. `tenant` is that of the path, and empty for other routes."""

    context: ConsoleContext
    session: OperatorSession
    token: str
    tenant: TenantId
    reason: str | None

    @property
    def operator(self) -> Operator:
        return self.session.operator


class ConsoleRoute(PublicRoute):
    """A route of the console. Everything is checked before the body is read."""

    def __init__(self, *given: Any, **more: Any) -> None:  # noqa: ANN401 - arguments of the framework
        super().__init__(*given, **more)
        if self.operation_id not in POLICIES:
            raise ValueError(f"{self.path} has no policy: declare it with `allow`")
        self._policy = POLICIES[self.operation_id]

    @override
    async def admit(self, request: Request) -> None:
        policy, context = self._policy, console_context(request)
        if policy.reach is Reach.PUBLIC:
            if request.method != _SAFE:
                _check_origin(request, context)
            return
        token = request.cookies.get(context.options.cookie_name, "")
        session = await context.services.sessions.verify(token)
        if request.method != _SAFE:
            _check_origin(request, context)
            _check_csrf(request, token)
        tenant = TenantId(request.path_params.get("tenant", ""))
        _check_grant(policy, session.operator, tenant)
        reason = _read_reason(request)
        if policy.needs_reason and reason is None:
            raise _reason_error("A reason is required: the audit log keeps it.")
        if policy.reach is Reach.TENANT:
            await _check_tenant(context, tenant)
        request.state.call = ConsoleRequest(context, session, token, tenant, reason)

    @override
    async def serve(self, handle: Handler, request: Request) -> Response:
        if not self._policy.is_recorded:
            return await handle(request)
        async with console_context(request).services.audit.action(self._action(request)):
            try:
                return await handle(request)
            except RequestValidationError as error:
                raise to_validation_error(error.errors()) from None

    def _action(self, request: Request) -> AdminAction:
        call: ConsoleRequest | None = getattr(request.state, "call", None)
        return AdminAction(
            source=AuditSource.CONSOLE,
            actor=call.operator.id if call else "anonymous",
            credential=f"session:{call.session.id}" if call else "none",
            operation=self.operation_id or "",
            target=request.url.path[:512],
            tenant=call.tenant if call and call.tenant else None,
            reason=call.reason if call else None,
            address=client_address(request),
            request_id=request.state.request_id,
        )


def console_context(request: Request) -> ConsoleContext:
    context: ConsoleContext = request.app.state.edge
    return context


def _check_csrf(request: Request, token: str) -> None:
    given = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(given.encode(), csrf_token(token).encode()):
        raise TidingsError(
            Code.FORBIDDEN,
            "The CSRF token is missing or wrong.",
            hint="Send `csrf_token` of GET /admin/v1/session in the header `Tidings-CSRF`.",
        )


def _check_origin(request: Request, context: ConsoleContext) -> None:
    """Refuse a request that a page of another origin sent. A client that is no browser sends no `Origin`."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    own = context.options.public_url
    allowed = (
        f"{urlsplit(own).scheme}://{urlsplit(own).netloc}" if own else f"http://{request.headers.get('host')}"
    )
    if origin != allowed:
        raise TidingsError(
            Code.FORBIDDEN, f"The origin {origin!r} may not use the console; it is at {allowed}."
        )


def _check_grant(policy: RoutePolicy, operator: Operator, tenant: TenantId) -> None:
    if not operator.role.includes(policy.role):
        raise TidingsError(
            Code.FORBIDDEN, f"Requires the role `{policy.role}`; the session has `{operator.role}`."
        )
    if policy.reach is Reach.INSTALLATION and not operator.has_all_tenants:
        raise TidingsError(Code.FORBIDDEN, "Requires a grant for all tenants.")
    if policy.reach is Reach.TENANT and not operator.may_act_on(tenant):
        raise TidingsError(Code.FORBIDDEN, "The session has no grant for this tenant.")


async def _check_tenant(context: ConsoleContext, tenant: TenantId) -> None:
    """Refuse a tenant that does not exist: a write would create rows and keys for it."""
    if await context.services.tenants.find(tenant) is None:
        raise TidingsError(Code.REQUEST_INVALID, f"Tenant {tenant} does not exist.")


def _read_reason(request: Request) -> str | None:
    given = request.headers.get(REASON_HEADER)
    if given is None:
        return None
    reason = unquote(given, errors="replace").strip()
    if not MIN_REASON_CHARS <= len(reason) <= MAX_REASON_CHARS or not reason.isprintable():
        raise _reason_error(f"A reason has {MIN_REASON_CHARS} to {MAX_REASON_CHARS} printable characters.")
    return reason


def _reason_error(detail: str) -> TidingsError:
    fault = {"location": "header", "pointer": "/Tidings-Reason", "detail": detail}
    return TidingsError(
        Code.REQUEST_INVALID, f"header /Tidings-Reason: {detail}", details={"errors": [fault]}
    )


def actor_of(operator: Operator) -> str:
    return "bootstrap_key" if operator.id == BOOTSTRAP else "oidc"

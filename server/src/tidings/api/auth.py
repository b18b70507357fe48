"""Authenticate requests.

`AuthenticatedRoute` verifies a credential; `PublicRoute` only counts the request against the client's address. Both do
so before the body is read. The tenant comes only from the credential.
"""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, override

from fastapi import Depends, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from msgspec import Struct
from pydantic import ValidationError

from tidings.accounts.model import Principal, Scope
from tidings.api import request_parsing
from tidings.api.audit import AUDITED, MODERATION, is_recorded, rest_action
from tidings.api.problems import to_validation_error
from tidings.api.rate_limits import RecentCredentials, credential_digest, rate_limited_error
from tidings.api.request_parsing import CursorCipher
from tidings.api.route_executor import NO_BODY, Handler, RouteExecutor, as_asgi, is_json, make_executor
from tidings.api.schemas.api_model import USER_ID, UserName
from tidings.api.services import ApiOptions, ApiServices, RateLimitState
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId

_SCHEME = "bearer "
_NAMED = "tidings-user"


@dataclass(frozen=True, slots=True)
class ApiContext:
    """State that all requests of an application share."""

    services: ApiServices
    options: ApiOptions
    cursors: CursorCipher
    recent: RecentCredentials = field(default_factory=RecentCredentials)


class AuthenticatedRequest(Struct, frozen=True):
    """An authenticated request. `user` is `None` for a tenant's server that acts for no user."""

    edge: ApiContext
    principal: Principal
    user: UserId | None

    @property
    def tenant(self) -> TenantId:
        return self.principal.tenant

    @property
    def is_server(self) -> bool:
        """Whether the tenant's server acts for itself, with the scope to manage users."""
        return self.principal.user is None and self.user is None and Scope.USERS in self.principal.scopes


class UserRequest(Struct, frozen=True):
    """A request by or for a user. `principal` is the user, or the tenant's server that acts for them."""

    services: ApiServices
    cursors: CursorCipher
    tenant: TenantId
    user: UserId
    principal: Principal

    def chat(self, chat: ChatId) -> ChatKey:
        return ChatKey(self.tenant, chat)


def api_context(request: Request) -> ApiContext:
    edge: ApiContext = request.app.state.edge
    return edge


async def authenticate(request: Request) -> AuthenticatedRequest:
    """Verify the credential and count the request.

    Failed authentication is charged to the client's address. When its bucket is empty, credentials are no longer
    verified, except those that were valid recently: so clients that share a NAT with an attacker are still served.
    """
    edge, address = api_context(request), client_address(request)
    authorization = request.headers.get("authorization", "")
    digest = credential_digest(authorization)
    if not edge.recent.has(digest):
        _enforce(request, edge.services.limits.is_blocked(address))
    try:
        principal = await edge.services.credentials.verify(bearer_token(authorization))
        user = acting_user(principal, request.headers.get(_NAMED))
    except TidingsError:
        await _count(request, edge, address)
        raise
    edge.recent.add(digest)
    await _count(request, edge, address, principal, user)
    return AuthenticatedRequest(edge, principal, user)


def acting_user(principal: Principal, named: str | None) -> UserId | None:
    """Return the user whose permissions apply. An API key may act for a user of its tenant."""
    if named is None:
        return principal.user
    user = _parse_user(named)
    if principal.user is not None and principal.user != user:
        raise TidingsError(Code.FORBIDDEN, "The header Tidings-User must name the user of the credential.")
    if principal.user is None and Scope.ACT_AS_USER not in principal.scopes:
        raise TidingsError(Code.FORBIDDEN, f"The API key needs the scope `{Scope.ACT_AS_USER}`.")
    return user


def _parse_user(text: str) -> UserId:
    try:
        return USER_ID.validate_python(text)
    except ValidationError as error:
        faults = [{**fault, "loc": ("header", "Tidings-User")} for fault in error.errors()]
        raise to_validation_error(faults) from None


async def _count(
    request: Request,
    edge: ApiContext,
    address: str,
    principal: Principal | None = None,
    user: UserId | None = None,
) -> None:
    _enforce(request, await edge.services.limits.admit(address, principal, user))


def _enforce(request: Request, allowance: RateLimitState | None) -> None:
    if allowance is None:
        return
    request.state.allowance = allowance
    if not allowance.is_allowed:
        raise rate_limited_error(allowance)


def client_address(request: Request) -> str:
    return request.client.host if request.client else ""


def bearer_token(authorization: str) -> str:
    """Return the token of the header `Authorization`."""
    if authorization[: len(_SCHEME)].lower() != _SCHEME:
        raise TidingsError(
            Code.CREDENTIAL_INVALID, "No credential was sent.", hint="Send `Authorization: Bearer TOKEN`."
        )
    return authorization[len(_SCHEME) :].strip()


class PublicRoute(APIRoute):
    """A route without authentication."""

    async def admit(self, request: Request) -> None:
        await _count(request, api_context(request), client_address(request))

    async def bounds(self, request: Request) -> ApiOptions:
        """Return the limits of the body. Called after `admit`."""
        return api_context(request).options

    @override
    def get_route_handler(self) -> Handler:
        handle, takes_body = super().get_route_handler(), self.body_field is not None

        async def admitted(request: Request) -> Response:
            await self.admit(request)
            if takes_body:
                request = await _read(request, await self.bounds(request))
            return await self.serve(handle, request)

        return admitted

    async def serve(self, handle: Handler, request: Request) -> Response:
        return await handle(request)


class AuthenticatedRoute(PublicRoute):
    """A route that verifies a credential. `RouteExecutor` executes it if it can read the parameters.

    `handler` answers requests without the framework; None for a route that only the framework can execute.
    """

    def __init__(self, *given: Any, **more: Any) -> None:  # noqa: ANN401 - arguments of the framework
        super().__init__(*given, **more)
        executor = make_executor(self)
        self.handler = None if executor is None else self._executed_by(executor)
        if self.handler is not None:
            self.app = as_asgi(self.handler)

    def _executed_by(self, executor: RouteExecutor) -> Handler:
        is_audited, takes_body = self.operation_id in AUDITED | MODERATION, self.body_field is not None

        async def admitted(request: Request) -> Response:
            await self.admit(request)
            body = await _read_value(request, await self.bounds(request)) if takes_body else NO_BODY
            if not is_audited:
                return await executor.execute(request, body)
            return await self.serve(lambda request: executor.execute(request, body), request)

        return admitted

    @override
    async def admit(self, request: Request) -> None:
        request.state.call = await authenticate(request)

    @override
    async def serve(self, handle: Handler, request: Request) -> Response:
        """Record an administrative request of an API key, and moderation by any caller.

        A user's token is refused for other administrative operations anyway.
        """
        call = _authenticated(request)
        operation = self.operation_id or ""
        if not is_recorded(operation, call.principal):
            return await handle(request)
        async with call.edge.services.audit.action(rest_action(operation, request, call.principal)):
            try:
                return await handle(request)
            except RequestValidationError as error:
                raise to_validation_error(error.errors()) from None


class BulkRoute(AuthenticatedRoute):
    """A route that accepts a list of 100,000 users of 64 characters each."""

    @override
    async def bounds(self, request: Request) -> ApiOptions:
        return _bounds_for_users(await super().bounds(request), _BULK_USERS)


class MembersRoute(AuthenticatedRoute):
    """A route that accepts as many users as a group of the caller's tenant may have."""

    @override
    async def bounds(self, request: Request) -> ApiOptions:
        call = _authenticated(request)
        max_members = await call.edge.services.members.max_members(call.tenant)
        return _bounds_for_users(await super().bounds(request), max_members)


_BULK_USERS = 100_000
_BYTES_PER_USER = 84
"""An id of 64 characters with quotes and comma, and some space."""


def _bounds_for_users(options: ApiOptions, users: int) -> ApiOptions:
    """Return limits that allow a list of `users` ids in addition to the other fields of a body."""
    return replace(
        options,
        max_body_bytes=options.max_body_bytes + users * _BYTES_PER_USER,
        max_body_values=options.max_body_values + users,
    )


async def _read(request: Request, options: ApiOptions) -> Request:
    body, value = await request_parsing.read_json(request, options)
    return request_parsing.ReadRequest(request, body, value)


async def _read_value(request: Request, options: ApiOptions) -> object:
    """Return what FastAPI validates as the body: the value, or the bytes if the content type is not one of JSON's."""
    body, value = await request_parsing.read_json(request, options)
    if not body:
        return NO_BODY
    return value if is_json(request.headers["content-type"]) else body


def _authenticated(request: Request) -> AuthenticatedRequest:
    """Return the result of `authenticate`. Fails on a `PublicRoute`, so a wrong route class never grants access."""
    call: AuthenticatedRequest = request.state.call
    return call


class _Credential(HTTPBearer):
    """Security scheme in the OpenAPI document and dependency of the route in one object, which saves a step."""

    def __init__(self) -> None:
        super().__init__(
            scheme_name="bearer",
            description="An access token, a token that your server signed for a user, or an API key.",
        )


Named = Annotated[
    UserName | None,
    Header(
        alias="Tidings-User",
        description="The user to act for. Requires an API key with the scope `act_as_user`.",
        examples=["anna"],
    ),
]


class _User(_Credential):
    @override
    async def __call__(self, request: Request, _: Named = None) -> UserRequest:  # type: ignore[override]  # as above
        call = _authenticated(request)
        if call.user is None:
            raise TidingsError(
                Code.REQUEST_INVALID,
                "The request names no user.",
                hint="With an API key, send the user's id in the header `Tidings-User`.",
            )
        return UserRequest(call.edge.services, call.edge.cursors, call.tenant, call.user, call.principal)


class _UsersServer(_Credential):
    @override
    async def __call__(self, request: Request) -> AuthenticatedRequest:  # type: ignore[override]  # as above
        call = _authenticated(request)
        if not call.is_server:
            raise TidingsError(Code.FORBIDDEN, f"Requires an API key with the scope `{Scope.USERS}`.")
        return call


class _ScopedServer(_Credential):
    """A tenant's server whose API key has a scope."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._scope = scope

    @override
    async def __call__(self, request: Request) -> AuthenticatedRequest:  # type: ignore[override]  # as above
        call = _authenticated(request)
        if call.principal.user is not None or self._scope not in call.principal.scopes:
            raise TidingsError(Code.FORBIDDEN, f"Requires an API key with the scope `{self._scope}`.")
        return call


class _DirectoryReader(_Credential):
    """Callers that may read users of the tenant: its users, and its server."""

    @override
    async def __call__(self, request: Request, _: Named = None) -> AuthenticatedRequest:  # type: ignore[override]  # as above
        call = _authenticated(request)
        if call.user is None and not call.is_server:
            raise TidingsError(
                Code.FORBIDDEN, f"Requires a user's token, or an API key with the scope `{Scope.USERS}`."
            )
        return call


type AsUser = Annotated[UserRequest, Depends(_User())]
type AsUsersServer = Annotated[AuthenticatedRequest, Depends(_UsersServer())]
type AsNotificationsServer = Annotated[AuthenticatedRequest, Depends(_ScopedServer(Scope.NOTIFICATIONS))]
type AsWebhooksServer = Annotated[AuthenticatedRequest, Depends(_ScopedServer(Scope.WEBHOOKS))]
type AsModerationServer = Annotated[AuthenticatedRequest, Depends(_ScopedServer(Scope.MODERATION))]
type AsDirectoryReader = Annotated[AuthenticatedRequest, Depends(_DirectoryReader())]

"""Middleware: CORS, request ids, response headers and telemetry.

Web pages send bearer tokens explicitly and no cookies, so `Access-Control-Allow-Credentials` is never sent.
"""

import re
from typing import Final, override

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, reset_contextvars

from tidings.api import problems
from tidings.api.known_routes import KnownRoutes
from tidings.api.services import ApiTelemetry, RateLimitState
from tidings.kernel.ids import new_ulid
from tidings.kernel.security import ADDRESS, AllowedOrigins

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SENT = ("Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Request-Id", "Tidings-User")
_READ = (
    "ETag",
    "Location",
    "RateLimit",
    "RateLimit-Policy",
    "Request-Id",
    "Retry-After",
    "Tidings-Feature-Level",
)
_MAX_AGE_S = 600


class CorsMiddleware(CORSMiddleware):
    def __init__(self, app: ASGIApp, origins: AllowedOrigins) -> None:
        super().__init__(
            app, allow_methods=_METHODS, allow_headers=_SENT, expose_headers=_READ, max_age=_MAX_AGE_S
        )
        self._origins = origins

    @override
    def is_allowed_origin(self, origin: str) -> bool:
        return self._origins.allow(origin)


FEATURE_LEVEL: Final = 1
"""The feature level of the REST API. It rises by one in each release that adds something to the API."""

REQUEST_ID: Final = "Request-Id"
_NAME, _TRACE = REQUEST_ID.lower().encode(), b"traceparent"
_ACCEPTED = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_START = "http.response.start"
_PUBLIC = ("/docs", "/openapi.json")
_CACHE = b"cache-control"
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
_FEATURE_LEVEL = (b"tidings-feature-level", str(FEATURE_LEVEL).encode())
_NO_ROUTE = "(no route)"


class RequestMiddleware:
    """Give each request an id, telemetry and response headers, and answer unexpected errors.

    Requests of `routes` are executed here. All others are passed to `app`, the framework.
    """

    def __init__(
        self,
        app: ASGIApp,
        telemetry: ApiTelemetry,
        docs_root: str,
        *,
        trust_traceparent: bool,
        routes: KnownRoutes | None = None,
    ) -> None:
        self._app = app
        self._telemetry = telemetry
        self._docs_root = docs_root
        self._trust_traceparent = trust_traceparent
        self._routes = routes or KnownRoutes()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        request_id = _request_id(headers.get(_NAME))
        scope["state"] = {**scope.get("state", {}), "request_id": request_id}
        if scope["client"]:
            ADDRESS.set(scope["client"][0])
        trace = headers.get(_TRACE, b"").decode("latin-1") if self._trust_traceparent else ""
        bound = bind_contextvars(request_id=request_id)
        try:
            with self._telemetry.request(scope["method"], trace or None) as on_answered:
                on_answered(*await self._serve(scope, receive, send))
        finally:
            reset_contextvars(**bound)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> tuple[str, int]:
        """Answer a request, and return the path template of its route and the status."""
        found = None if scope.get("root_path") else self._routes.find(scope["method"], scope["path"])
        if found is None or (handler := found[0].handler) is None:
            sending = _Sending(send, scope)
            await self._pass_on(scope, receive, sending)
            return _template(scope), sending.status
        route, scope["path_params"] = found
        scope["route"] = route
        request = Request(scope, receive, send)
        try:
            response = await handler(request)
        except Exception as error:  # noqa: BLE001 - every error of a route is answered
            response = problems.error_response(error, request, self._docs_root)
        if type(response) is Response:  # its body is complete: no other type of response is as frequent
            start = {"type": _START, "status": response.status_code, "headers": response.raw_headers}
            await send(_with_headers(start, scope))
            await send({"type": "http.response.body", "body": response.body})
        else:
            await response(scope, receive, _Sending(send, scope))
        return route.path, response.status_code

    async def _pass_on(self, scope: Scope, receive: Receive, sending: "_Sending") -> None:
        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            if sending.status:
                raise  # the response has started: the server closes the connection
            response = problems.error_response(error, Request(scope), self._docs_root)
            await response(scope, receive, sending)


class _Sending:
    """Adds headers to the response and records its status."""

    def __init__(self, send: Send, scope: Scope) -> None:
        self._send = send
        self._scope = scope
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == _START:
            self.status = message["status"]
            message = _with_headers(message, self._scope)
        await self._send(message)


def _with_headers(start: Message, scope: Scope) -> Message:
    """Add the headers of every response to its first message."""
    state, given = scope["state"], start["headers"]
    headers = [*given, (_NAME, state["request_id"].encode()), _FEATURE_LEVEL, *_SAFE]
    allowance: RateLimitState | None = state.get("allowance")
    if allowance is not None:
        name = f'"{allowance.policy}"'
        headers += (
            (b"ratelimit-policy", f"{name};q={allowance.limit};w={allowance.window_s}".encode()),
            (b"ratelimit", f"{name};r={allowance.remaining};t={allowance.reset_s}".encode()),
        )
    if not any(name == _CACHE for name, _ in given) and not scope["path"].startswith(_PUBLIC):
        headers.append((_CACHE, b"no-store"))
    start["headers"] = headers
    return start


def _request_id(given: bytes | None) -> str:
    """Return the client's request id if it is safe to log, or a new one."""
    if given is not None and _ACCEPTED.fullmatch(given):
        return given.decode()
    return new_ulid()


def _template(scope: Scope) -> str:
    """Return the path template. Paths contain ids, which must not become metric labels."""
    path: str = getattr(scope.get("route"), "path", "")
    if path and path != "/docs/assets":
        return path
    if scope["path"].startswith("/docs/assets/"):
        return "/docs/assets/{file}"
    return "/openapi.json" if scope["path"] == "/openapi.json" else _NO_ROUTE

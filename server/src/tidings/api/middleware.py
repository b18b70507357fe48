"""Let web pages of the allowed origins call the API (CORS).

Credentials are bearer tokens, which a page sends by itself: no cookies, so `Access-Control-Allow-Credentials` is
never sent.
"""

import re
from typing import Any, Final, override

from starlette.datastructures import State
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from tidings.api import problems
from tidings.api.services import ApiTelemetry, RateLimitState
from tidings.kernel.ids import new_ulid
from tidings.kernel.security import ADDRESS, AllowedOrigins

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SENT = ("Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Request-Id", "Tidings-User")
_READ = ("ETag", "Location", "RateLimit", "RateLimit-Policy", "Request-Id", "Retry-After")
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


REQUEST_ID: Final = "Request-Id"
_NAME, _TRACE = REQUEST_ID.lower().encode(), b"traceparent"
_ACCEPTED = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_FAILED = 500
_CACHE = b"cache-control"
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
_NO_ROUTE = "(no route)"


class RequestMiddleware:
    def __init__(
        self, app: ASGIApp, telemetry: ApiTelemetry, docs_root: str, *, trust_traceparent: bool
    ) -> None:
        self._app = app
        self._telemetry = telemetry
        self._docs_root = docs_root
        self._trust_traceparent = trust_traceparent

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
        sending = _Sending(
            send, scope["state"], request_id, is_public=scope["path"].startswith(("/docs", "/openapi.json"))
        )
        with (
            bound_contextvars(request_id=request_id),
            self._telemetry.request(scope["method"], trace or None) as on_answered,
        ):
            await self._handle(scope, receive, sending)
            on_answered(_template(scope), sending.status)

    async def _handle(self, scope: Scope, receive: Receive, sending: "_Sending") -> None:
        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            if sending.status:
                raise  # too late to say anything: the connection is cut
            told = problems.to_internal_error(error, Request(scope))
            await problems.problem_response(told, sending.request_id, self._docs_root)(
                scope, receive, sending
            )


class _Sending:
    """Puts the headers of the envelope on the answer, and remembers its status."""

    def __init__(self, send: Send, state: dict[str, Any], request_id: str, *, is_public: bool) -> None:
        self._send = send
        self._state = state
        self._is_public = is_public
        self.request_id = request_id
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message["headers"], (_NAME, self.request_id.encode()), *self._limits(), *_SAFE]
            if not self._is_public and not any(name == _CACHE for name, _ in message["headers"]):
                headers.append((_CACHE, b"no-store"))
            message["headers"] = headers
        await self._send(message)

    def _limits(self) -> list[tuple[bytes, bytes]]:
        allowance: RateLimitState | None = self._state.get("allowance")
        if allowance is None:
            return []
        name = f'"{allowance.policy}"'
        return [
            (b"ratelimit-policy", f"{name};q={allowance.limit};w={allowance.window_s}".encode()),
            (b"ratelimit", f"{name};r={allowance.remaining};t={allowance.reset_s}".encode()),
        ]


def _request_id(given: bytes | None) -> str:
    """A caller's own, if it is harmless in a log."""
    if given is not None and _ACCEPTED.fullmatch(given):
        return given.decode()
    return new_ulid()


def _template(scope: Scope) -> str:
    """Never the address itself: ids don't belong into the names of metrics."""
    path: str = getattr(scope.get("route"), "path", "")
    if path and path != "/docs/assets":
        return path
    if scope["path"].startswith("/docs/assets/"):
        return "/docs/assets/{file}"
    return "/openapi.json" if scope["path"] == "/openapi.json" else _NO_ROUTE


def get_request_id(request: Request) -> str:
    state: State = request.state
    request_id: str = state.request_id
    return request_id

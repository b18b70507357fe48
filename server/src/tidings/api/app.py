"""Build the ASGI application: routes, middleware and error handlers."""

from collections.abc import Iterator
from itertools import chain
from typing import override

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from tidings.api import openapi, problems
from tidings.api.auth import ApiContext, AuthenticatedRoute
from tidings.api.known_routes import KnownRoutes
from tidings.api.middleware import CorsMiddleware, RequestMiddleware
from tidings.api.openapi import add_error_pages, add_swagger_ui, close_swagger_ui
from tidings.api.request_parsing import CursorCipher
from tidings.api.routes import (
    broadcasts,
    chat_list,
    chat_moderation,
    chats,
    content_rules,
    erasures,
    exports,
    inboxes,
    legacy_inbox,
    login,
    mail,
    media,
    members,
    messages,
    notifications,
    preferences,
    push,
    reviews,
    search,
    users,
    webhooks,
)
from tidings.api.services import ApiOptions, ApiServices
from tidings.kernel.errors import TidingsError

_NOT_ALLOWED = 405

ROUTERS = (
    messages.router,
    chat_list.router,
    search.router,
    chats.router,
    chats.create_router,
    members.router,
    members.add_router,
    login.router,
    login.sessions_router,
    users.router,
    erasures.router,
    exports.router,
    push.router,
    media.router,
    notifications.router,
    preferences.router,
    chat_moderation.router,
    mail.router,
    mail.public_router,
    inboxes.router,
    inboxes.bulk,
    broadcasts.router,
    broadcasts.segments_router,
    broadcasts.segments_bulk,
    inboxes.jobs_router,
    webhooks.router,
    webhooks.hook_router,
    content_rules.router,
    reviews.router,
    legacy_inbox.router,
    legacy_inbox.bulk,
)
"""Matched in this order: the most frequent requests come first."""


class ApiApplication(FastAPI):
    @override
    def build_middleware_stack(self) -> ASGIApp:
        """Return the middleware without the framework's outermost two: `RequestMiddleware` answers unexpected errors."""
        handlers = self.exception_handlers
        app: ASGIApp = ExceptionMiddleware(AsyncExitStackMiddleware(self.router), handlers, debug=False)
        for middleware, given, named in reversed(self.user_middleware):
            app = middleware(app, *given, **named)
        return app


def make_app(services: ApiServices, options: ApiOptions) -> FastAPI:
    """Build the application. It does not close `services`: the caller owns them."""
    app = app_for_schema()
    app.state.edge = ApiContext(services, options, CursorCipher(options.cursor_secrets))
    if options.serve_docs:
        add_swagger_ui(app)
    else:
        close_swagger_ui(app)
    add_error_pages(app)
    add_error_handlers(app, options)
    app.add_middleware(
        RequestMiddleware,
        telemetry=services.telemetry,
        docs_root=options.docs_root,
        trust_traceparent=options.trust_traceparent,
        routes=KnownRoutes(route for route in app.routes if isinstance(route, AuthenticatedRoute)),
    )
    if options.allowed_origins:
        app.add_middleware(CorsMiddleware, origins=options.allowed_origins)
    return app


def app_for_schema() -> FastAPI:
    """Build the routes without services, for the OpenAPI document."""
    app = ApiApplication(
        title=openapi.TITLE,
        version=openapi.VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # `RequestMiddleware` records telemetry. The framework's own would put bodies into spans.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    for router in ROUTERS:
        # Not `include_router`: its additional matching steps cost a tenth of a request.
        app.router.routes.extend(router.routes)
    openapi.describe_api(app)
    return app


def add_error_handlers(app: FastAPI, options: ApiOptions) -> None:
    """Answer errors with problems (RFC 9457)."""

    @app.exception_handler(TidingsError)
    @app.exception_handler(RequestValidationError)
    async def _on_error(request: Request, error: Exception) -> Response:
        return problems.error_response(error, request, options.docs_root)

    @app.exception_handler(HTTPException)
    async def _on_http_exception(request: Request, error: HTTPException) -> Response:
        response = problems.error_response(problems.from_http_exception(error), request, options.docs_root)
        response.headers.update(error.headers or {})
        if error.status_code == _NOT_ALLOWED:
            response.headers["allow"] = ", ".join(sorted(_methods_at(app, request.url.path)))
        return response


def _methods_at(app: FastAPI, path: str) -> set[str]:
    """Return the methods of all routes with this path. The framework reports those of the first route only."""
    routes = (route for route in app.routes if isinstance(route, APIRoute) and route.path_regex.match(path))
    return {method for route in routes for method in route.methods or ()}


def api_operations() -> Iterator[str]:
    """`GET /v1/chats/{chat_id}` …: what requests are counted by."""
    for route in chain.from_iterable(router.routes for router in ROUTERS):
        for method in sorted(getattr(route, "methods", None) or ()):
            yield f"{method} {getattr(route, 'path', '')}"

"""The app: routes, the envelope around them, and one way for every error to leave."""

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tidings.api import openapi, problems
from tidings.api.cors import Cors
from tidings.api.cursors import Cursors
from tidings.api.door import Edge
from tidings.api.envelope import Envelope, request_id_of
from tidings.api.error_pages import add_error_pages
from tidings.api.explorer import add_explorer, close_explorer
from tidings.api.faults import told_faults
from tidings.api.options import Options
from tidings.api.routes import (
    broadcasts,
    chat_list,
    chats,
    inbox,
    inboxes,
    jobs,
    login,
    members,
    messages,
    segments,
    sessions,
    stack,
    users,
)
from tidings.api.services import Services
from tidings.kernel.errors import TidingsError

_NOT_ALLOWED = 405

ROUTERS = (
    messages.router,
    chat_list.router,
    chats.router,
    members.router,
    login.router,
    sessions.router,
    users.router,
    inbox.router,
    inboxes.router,
    inboxes.bulk,
    broadcasts.router,
    segments.router,
    segments.bulk,
    jobs.router,
    stack.router,
    stack.bulk,
)
"""Matched in this order, so those come first that are asked most."""


def make_app(services: Services, options: Options) -> FastAPI:
    """An ASGI app. It opens and closes nothing: who made the services ends them."""
    app = described()
    app.state.edge = Edge(services, options, Cursors(options.cursor_secrets))
    if options.serves_docs:
        add_explorer(app)
    else:
        close_explorer(app)
    add_error_pages(app)
    _tell_errors(app, options)
    app.add_middleware(
        Envelope,
        telemetry=services.telemetry,
        docs_root=options.docs_root,
        trusts_trace=options.trusts_trace,
    )
    if options.allowed_origins:
        app.add_middleware(Cors, origins=options.allowed_origins)
    return app


def described() -> FastAPI:
    """The routes alone, with nothing behind them: enough for the description."""
    app = FastAPI(
        title=openapi.TITLE,
        version=openapi.VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # ours is the envelope's; the framework's own would put bodies into spans
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    for router in ROUTERS:
        # as they are: a router that is included is matched in more steps, which cost a tenth of a request
        app.router.routes.extend(router.routes)
    openapi.describe(app)
    return app


def _tell_errors(app: FastAPI, options: Options) -> None:
    def tell(request: Request, error: TidingsError) -> Response:
        if problems.is_ours(error):
            problems.note(error, request)
        return problems.told(error, request_id_of(request), options.docs_root)

    @app.exception_handler(TidingsError)
    async def _known(request: Request, error: TidingsError) -> Response:
        return tell(request, error)

    @app.exception_handler(RequestValidationError)
    async def _unfit(request: Request, error: RequestValidationError) -> Response:
        return tell(request, told_faults(error.errors()))

    @app.exception_handler(HTTPException)
    async def _by_framework(request: Request, error: HTTPException) -> Response:
        response = tell(request, problems.from_http(error))
        response.headers.update(error.headers or {})
        if error.status_code == _NOT_ALLOWED:
            response.headers["allow"] = ", ".join(sorted(_methods_at(app, request.url.path)))
        return response


def _methods_at(app: FastAPI, path: str) -> set[str]:
    """Of all routes of an address; the framework tells those of the first."""
    routes = (route for route in app.routes if isinstance(route, APIRoute) and route.path_regex.match(path))
    return {method for route in routes for method in route.methods or ()}

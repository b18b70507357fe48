"""Build the application of the console: its API, and the pages of the front end."""

from pathlib import Path
from typing import Final, override

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from tidings.api.app import add_error_handlers
from tidings.api.console import (
    audit,
    broadcasts,
    data_requests,
    dead_letters,
    messages,
    moderation,
    notifications,
    operations,
    search,
    session,
    support,
    tenants,
    webhooks,
)
from tidings.api.console.services import ConsoleContext, ConsoleOptions, ConsoleServices
from tidings.api.middleware import RequestMiddleware
from tidings.api.request_parsing import CursorCipher
from tidings.api.services import ApiTelemetry

ROUTERS: Final = (
    session.router,
    tenants.router,
    support.router,
    data_requests.router,
    messages.router,
    moderation.router,
    notifications.router,
    broadcasts.router,
    webhooks.router,
    search.router,
    operations.router,
    dead_letters.router,
    audit.router,
)
ASSETS: Final = Path(__file__).parent / "assets"
"""The built front end, if this installation has it."""
_CSP: Final = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
_NOT_FOUND: Final = 404
# Ids of users and messages contain dots, so a dot does not distinguish a file from a view.
_NO_VIEWS: Final = ("admin/", "assets/")


def make_console_app(services: ConsoleServices, options: ConsoleOptions, telemetry: ApiTelemetry) -> FastAPI:
    """Build the application. It does not close `services`: the caller owns them."""
    app = FastAPI(
        title="Tidings console",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    app.state.edge = ConsoleContext(services, options, CursorCipher(options.cursor_secrets))
    if ASSETS.is_dir():
        app.mount("/", ConsolePages(directory=ASSETS, html=True))
    add_error_handlers(app, options)
    app.add_middleware(
        RequestMiddleware, telemetry=telemetry, docs_root=options.docs_root, trust_traceparent=False
    )
    return app


class ConsolePages(StaticFiles):
    """The files of the front end. Other paths are its views, and receive `index.html`."""

    @override
    async def get_response(self, path: str, scope: Scope) -> Response:
        try:
            response = await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code != _NOT_FOUND or path.startswith(_NO_VIEWS):
                raise
            response = await super().get_response("index.html", scope)
        response.headers["content-security-policy"] = _CSP
        return response

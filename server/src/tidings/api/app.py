"""The app: routes, the envelope around them, and one way for every error to leave."""

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tidings.api import openapi, problems
from tidings.api.cursors import Cursors
from tidings.api.door import Edge
from tidings.api.envelope import Envelope, request_id_of
from tidings.api.explorer import add_explorer
from tidings.api.faults import told_faults
from tidings.api.options import Options
from tidings.api.routes import chat_list, chats, login, members, messages, sessions, users
from tidings.api.services import Services
from tidings.kernel.errors import TidingsError

ROUTERS = (
    chats.router,
    chat_list.router,
    members.router,
    messages.router,
    login.router,
    sessions.router,
    users.router,
)


def make_app(services: Services, options: Options) -> FastAPI:
    """An ASGI app. It opens and closes nothing: who made the services ends them."""
    app = described()
    app.state.edge = Edge(services, options, Cursors(options.cursor_secrets))
    add_explorer(app)
    _tell_errors(app, options)
    app.add_middleware(
        Envelope,
        telemetry=services.telemetry,
        docs_root=options.docs_root,
        trusts_trace=options.trusts_trace,
    )
    return app


def described() -> FastAPI:
    """The routes alone, with nothing behind them: enough for the description."""
    app = FastAPI(
        title=openapi.TITLE,
        version=openapi.VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for router in ROUTERS:
        app.include_router(router)
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
        return response

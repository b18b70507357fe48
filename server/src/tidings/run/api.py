"""The process `api`: engines, use cases, and the REST edge on an HTTP server."""

import secrets
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NoReturn

from tidings.accounts.credentials import Credentials
from tidings.accounts.model import Principal
from tidings.api.app import ROUTERS, make_app
from tidings.api.options import Options
from tidings.api.ports import Limits, Telemetry
from tidings.api.services import Services
from tidings.chats.look import Look
from tidings.chats.store import DynamoShelf
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.secrets import Secret
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.run import Host, run
from tidings.platform.telemetry import logs
from tidings.run import wiring
from tidings.run.accounts import open_accounts
from tidings.run.edge.limits import EdgeLimits
from tidings.run.edge.server import Asgi, HttpServer
from tidings.run.edge.telemetry import Requests
from tidings.run.held import Held
from tidings.run.options import (
    cursor_secrets,
    otlp_headers,
    process_options,
    refuse_faulty,
    trusted_proxies,
)
from tidings.run.settings import Settings

log = logs.get(__name__)

BUILDS = (*wiring.BUILDS, otlp_headers, trusted_proxies, cursor_secrets)


def run_api(settings: Settings) -> NoReturn:
    refuse_faulty(settings, BUILDS)
    run("api", process_options(settings), lambda host: compose(settings, host))


def compose(settings: Settings, host: Host) -> Sequence[Component]:
    engines = wiring.engines(settings, host)
    accounts = Held("accounts", lambda: open_accounts(settings.accounts, engines.dynamo.it, host.clock))

    def app() -> Asgi:
        requests = Requests(host.metrics, host.tracing, settings.api.access_log_ratio)
        requests.declare(operations())
        known = accounts.it
        credentials = Credentials(known.api_keys, NoAccessTokens(), known.users)
        limits = EdgeLimits(wiring.limiter(settings, engines.redis.it, host), known.tenants)
        return make_app(_services(engines, host.clock, credentials, limits, requests), _options(settings))

    return [*engines.components, accounts, HttpServer(settings, app, host.tasks)]


def _services(
    engines: wiring.Engines, clock: Clock, credentials: Credentials, limits: Limits, requests: Telemetry
) -> Services:
    client = engines.dynamo.it
    cases = wiring.use_cases(client, engines.keys.it, clock)
    return Services(
        credentials=credentials,
        chats=cases.manage,
        look=Look(DynamoShelf(client, cases.rows)),
        send=cases.send,
        change=cases.change,
        history=cases.history,
        limits=limits,
        telemetry=requests,
    )


def _options(settings: Settings) -> Options:
    api = settings.api
    return Options(
        cursor_secrets=_signing_secrets(settings),
        max_body_bytes=api.max_body_bytes,
        max_body_depth=api.max_body_depth,
        max_body_values=api.max_body_values,
        docs_root=api.docs_root,
        trusts_trace=api.trusts_trace,
    )


def _signing_secrets(settings: Settings) -> tuple[Secret, ...]:
    """Without one that is set, cursors end with the process: fine on a laptop, not behind a load balancer."""
    if given := cursor_secrets(settings):
        return given
    log.warning("api.cursor_secret is not set: a page can't be continued after a restart or elsewhere")
    return (Secret(secrets.token_urlsafe(32)),)


def operations() -> Iterator[str]:
    """`GET /v1/chats/{chat_id}` …: what requests are counted by."""
    for route in chain.from_iterable(router.routes for router in ROUTERS):
        for method in sorted(getattr(route, "methods", None) or ()):
            yield f"{method} {getattr(route, 'path', '')}"


class NoAccessTokens:
    """For an installation that issues none."""

    async def verify(self, token: str) -> Principal:
        del token
        raise TidingsError(Code.CREDENTIAL_INVALID, "The credential is not one of ours.")

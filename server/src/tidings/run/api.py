"""The process `api`: engines, use cases, and the REST edge on an HTTP server."""

import secrets
from collections.abc import Sequence
from typing import NoReturn

from tidings.kernel.secrets import Secret
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.run import Host, run
from tidings.platform.telemetry import logs
from tidings.run import wiring
from tidings.run.edge.server import Asgi, HttpServer, ping
from tidings.run.edge.telemetry import requests_of
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
    server = HttpServer(settings, lambda: _app(settings, engines, host), host.tasks)
    return [*engines.components, server]


def _app(settings: Settings, engines: wiring.Engines, host: Host) -> Asgi:
    wiring.use_cases(engines.dynamo.it, engines.keys.it, host.clock)
    wiring.limiter(settings, engines.redis.it, host)
    requests = requests_of(host, settings.api.access_log_ratio)
    requests.declare(["GET /v1/ping"])
    return ping


def signing_secrets(settings: Settings) -> tuple[Secret, ...]:
    """Without one that is set, cursors end with the process: fine on a laptop, not behind a load balancer."""
    if given := cursor_secrets(settings):
        return given
    log.warning(
        "api.cursor_secret is not set: pages can't be continued after a restart or in another process"
    )
    return (Secret(secrets.token_urlsafe(32)),)

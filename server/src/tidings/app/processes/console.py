"""The process `console`: the API and the pages of the operator console."""

import secrets
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NoReturn

from msgspec.structs import replace

from tidings.api.console.app import ROUTERS, make_console_app
from tidings.api.console.services import ConsoleOptions
from tidings.api.metrics import HttpTelemetry
from tidings.app.processes.api import Asgi, HttpServer
from tidings.app.settings import Settings, production
from tidings.app.wiring import delivery, engine_clients
from tidings.app.wiring.accounts import accounts_component
from tidings.app.wiring.console import ConsoleWiring, bootstrap_key, oidc_options, watched_processes
from tidings.app.wiring.media import s3_component, s3_options
from tidings.app.wiring.options import (
    cursor_secrets,
    otlp_headers,
    process_options,
    trusted_proxies,
    validate_settings,
)
from tidings.app.wiring.trace import open_trace_services
from tidings.app.wiring.webhooks import transport_component
from tidings.kernel.security import Secret
from tidings.operators.oidc_http import open_oidc_transport
from tidings.operators.process_monitor import ProcessMonitor
from tidings.platform.lifecycle.admin import fetch_admin_page
from tidings.platform.lifecycle.component import Component, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext, run_process

BUILDS = (
    *engine_clients.BUILDS,
    otlp_headers,
    trusted_proxies,
    cursor_secrets,
    bootstrap_key,
    oidc_options,
    watched_processes,
    s3_options,
    *production.CONSOLE,
)


def run_console(settings: Settings) -> NoReturn:
    validate_settings(settings, BUILDS)
    run_process("console", process_options(settings, "console"), lambda host: compose(settings, host))


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    engines = engine_clients.build_engines(settings, host)
    accounts = accounts_component(settings, host, engines)
    publisher = delivery.publisher_component(settings, host)
    provider = ManagedResource("identity provider", open_oidc_transport)
    traces = ManagedResource(
        "trace",
        lambda: open_trace_services(
            settings, engines.dynamo.value, engines.redis.value, host.clock, engines.epoch
        ),
    )
    webhook_http, s3 = transport_component(settings), s3_component(settings)
    cookies = cursor_secrets(settings) or (Secret(secrets.token_urlsafe(32)),)

    def app() -> Asgi:
        requests = HttpTelemetry(host.metrics, host.tracing, settings.api.access_log_ratio)
        requests.declare(_operations())
        monitor = ProcessMonitor(
            watched_processes(settings), host.clock, fetch_admin_page, settings.process.drain_token
        )
        _ = host.tasks.spawn("process monitor", monitor.run())
        wiring = ConsoleWiring(
            settings,
            host,
            engines,
            accounts.value,
            publisher.value,
            provider.value,
            traces.value,
            monitor,
            cookies[0],
            webhook_http.value,
            s3.value,
        )
        return make_console_app(wiring.services(), _options(settings, cookies), requests)

    server = HttpServer(_listening(settings), app, host.tasks, section="console")
    return [*engines.components, accounts, publisher, provider, traces, webhook_http, s3, server]


def _listening(settings: Settings) -> Settings:
    """Return settings in which the console has the host and port of the API: the server reads these."""
    console = settings.console
    return replace(settings, api=replace(settings.api, host=console.host, port=console.port))


def _operations() -> Iterator[str]:
    for route in chain.from_iterable(router.routes for router in ROUTERS):
        for method in sorted(getattr(route, "methods", None) or ()):
            yield f"{method} {getattr(route, 'path', '')}"


def _options(settings: Settings, cookies: tuple[Secret, ...]) -> ConsoleOptions:
    api = settings.api
    return ConsoleOptions(
        cursor_secrets=cookies,
        max_body_bytes=api.max_body_bytes,
        max_body_depth=api.max_body_depth,
        max_body_values=api.max_body_values,
        docs_root=api.docs_root,
        public_url=settings.console.public_url,
        sign_in_name=settings.console.oidc_name,
    )

"""The HTTP server as a component: uvicorn's protocol and server, in our loop, with our signals and our log.

On stop it accepts nobody any more, finishes what is in flight, and closes idle connections at once.
"""

import socket
from collections.abc import Callable
from ipaddress import ip_network
from typing import Any, override

import uvicorn

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.proxies import UntrustedProxyDetector
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.tasks import TaskSupervisor
from tidings.platform.telemetry import logs
from tidings.run.edge.patience import HttpBounds, bounded_protocol
from tidings.run.edge.shares import ConnectionQuota
from tidings.run.options import trusted_proxies
from tidings.run.settings import Settings

log = logs.get_logger(__name__)

BACKLOG = 2_048
_TENANT_SHARE = 2
"""A tenant keeps idle connections up to the bound for all, divided by this."""
_CUT_S = 2.0
"""Before its own deadline, requests that don't end are cancelled, so that the rest is closed in order."""

type Asgi = Callable[..., Any]


class HttpServer(Component):
    """`make_app` is called at the start, when what the app needs has been opened."""

    name = "http"

    def __init__(self, settings: Settings, make_app: Callable[[], Asgi], tasks: TaskSupervisor) -> None:
        self._settings = settings
        self._make_app = make_app
        self._tasks = tasks
        self.stop_s = settings.process.stop_s
        self._socket: socket.socket | None = None
        self._server: uvicorn.Server | None = None

    @override
    async def start(self) -> None:
        server = uvicorn.Server(self._config(self._make_app()))
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        listening = open_http_socket(self._settings)
        await server.startup([listening])
        self._socket, self._server = listening, server
        self._ticking = self._tasks.spawn("http ticks", server.main_loop())
        host, port = listening.getsockname()[:2]
        log.info("listening", host=host, port=port, shares_port=self._settings.api.shares_port)

    @override
    async def stop(self) -> None:
        if self._server is None or self._socket is None:
            return
        in_flight = len(self._server.server_state.tasks)
        log.info("no longer accepting", in_flight=in_flight)
        await self._server.shutdown([self._socket])
        await self._tasks.stop(self._ticking)

    def _bounds(self) -> HttpBounds:
        api = self._settings.api
        room = ConnectionQuota(
            max_connections=api.max_connections,
            max_per_address=api.max_connections_per_address,
            max_per_tenant=max(1, api.max_connections // _TENANT_SHARE),
        )
        proxies = tuple(map(ip_network, trusted_proxies(self._settings)))
        unnamed = UntrustedProxyDetector("api.trusted_proxies") if api.trusted_proxies is None else None
        return HttpBounds(
            api.receive_s, api.keep_alive_s, api.docs_root, room, proxies=proxies, unnamed_proxy=unnamed
        )

    def _config(self, app: Asgi) -> uvicorn.Config:
        api, proxies = self._settings.api, trusted_proxies(self._settings)
        return uvicorn.Config(
            app,
            http=bounded_protocol(self._bounds()),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=proxies,
            backlog=BACKLOG,
            timeout_keep_alive=api.keep_alive_s,
            timeout_graceful_shutdown=max(1, round(self.stop_s - _CUT_S)),
        )


def open_http_socket(settings: Settings) -> socket.socket:
    api = settings.api
    family = socket.AF_INET6 if ":" in api.host else socket.AF_INET
    try:
        made = socket.create_server(
            (api.host, api.port), family=family, backlog=BACKLOG, reuse_port=api.shares_port
        )
    except OSError as error:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            f"{api.host}:{api.port} can't be listened at: {error.strerror}. "
            "Another place is set by api.host and api.port (TIDINGS_API_PORT).",
        ) from error
    made.setblocking(False)  # noqa: FBT003 - the standard library takes it so
    return made

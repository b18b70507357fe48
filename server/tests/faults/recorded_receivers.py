"""Servers that receive webhooks and push notifications, and fail on request, while the metrics are recorded."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, override

import httpx

from faults.whole.installation import FaultInstallation
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import DeviceId, UserId
from tidings.push.model import HttpTarget, PushRegistration
from tidings.push.provider_config import HttpConfig
from tidings.push.providers_cache import PushProviderService
from tidings.push.registrations import PushRegistrations
from tidings.push.store.providers import DynamoProviderStore
from tidings.push.store.registrations import DynamoRegistrationStore

SLEEPER = "sleeper"
"""A user who is never connected, with a device for push notifications."""
_FAILURES = {"/hook": 503, "/gone": 410, "/push": 503}


class Receivers:
    """`/hook` and `/gone` are webhook endpoints, `/push` is a push service. They accept everything unless `is_failing`."""

    def __init__(self) -> None:
        self.is_failing = False
        receivers = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(_FAILURES[self.path] if receivers.is_failing else 204)
                self.send_header("Content-Length", "0")
                self.end_headers()

            @override
            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    @contextmanager
    def failing(self) -> Iterator[None]:
        self.is_failing = True
        try:
            yield
        finally:
            self.is_failing = False

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


async def connect_receivers(
    installation: FaultInstallation, receivers: Receivers, headers: dict[str, str]
) -> None:
    """Create the webhook endpoints, the push provider, and the device of a user who is never connected."""
    async with httpx.AsyncClient(base_url=installation.site.api, timeout=20) as client:
        for path in ("/hook", "/gone"):
            made = await client.post("/v1/webhooks", headers=headers, json={"url": receivers.url(path)})
            assert made.is_success, json.dumps(made.json())
    async with installation.processes.use_cases() as use_cases:
        stores, clock = (use_cases.client, use_cases.ring), SystemClock()
        config = HttpConfig(url=receivers.url("/push"), secrets=("whsec_" + "A" * 32,))
        await PushProviderService(DynamoProviderStore(*stores), clock).set(use_cases.tenant, config)
        device = PushRegistration(
            tenant=use_cases.tenant,
            user=UserId(SLEEPER),
            device=DeviceId("phone"),
            target=HttpTarget(token="token-of-the-phone"),
            registered_ms=0,
        )
        await PushRegistrations(DynamoRegistrationStore(*stores), clock).register(device)

"""Push services in a process of their own: browsers' over HTTP/2, and a tenant's own. They verify what they receive."""

import asyncio
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from aiohttp import web
from fixtures.http2_server import ServedAnswer, ServedRequest, serve_http2
from fixtures.web_push_server import WebPushServer
from standardwebhooks import Webhook, WebhookVerificationError

from load.push_checker import ReceivedPush
from tidings.kernel.ids import ChatId
from tidings.push.model import WebPushTarget
from tidings.push.provider_config import HttpConfig, WebPushConfig
from tidings.push.rules import web_push_topic


class PushServices(NamedTuple):
    """The providers of the tenant, and the targets of the browsers by user."""

    http: HttpConfig
    web_push: WebPushConfig
    browsers: dict[str, WebPushTarget]
    authority: str


class Receiver:
    def __init__(self, secret: str) -> None:
        self._verifier = Webhook(secret)
        self._users: dict[str, str] = {}
        self.browsers = WebPushServer()
        self.browsers.http2.handle = self.receive_browser
        self.received: list[ReceivedPush] = []
        self.refused: list[str] = []

    def subscribe(self, user: str, config: WebPushConfig) -> WebPushTarget:
        made = self.browsers.subscribe(config)
        self._users[made.path] = user
        return made.target(self.browsers.http2.origin)

    async def receive(self, request: web.Request) -> web.Response:
        """Receive a request of the signed HTTP provider. The token of a device is the name of its user."""
        body = await request.read()
        try:
            self._verifier.verify(body, dict(request.headers))
        except WebhookVerificationError as error:
            self.refused.append(f"{error}")
            return web.Response(status=400)
        note = msgspec.json.decode(body)
        is_verified = note["token"] == note["user"] and note["action"] == note["data"]["action"]
        self._record(note["user"], note["data"], note["badge"], note["collapse_id"], is_verified=is_verified)
        return web.Response(status=204)

    async def receive_browser(self, request: ServedRequest) -> ServedAnswer:
        answer = self.browsers.answer(request)
        if answer.status >= 300:
            self.refused.append(f"{answer}")
            return answer
        note = self.browsers.subscriptions[request.path].received[-1]
        is_verified = request.headers["topic"] == web_push_topic(ChatId(note["tag"]))
        user = self._users[request.path]
        self._record(user, note["tidings"], note["badge"], note["tag"], is_verified=is_verified)
        return answer

    def _record(
        self, user: str, data: dict[str, Any], badge: int, collapse_id: str, *, is_verified: bool
    ) -> None:
        made = ReceivedPush(
            user,
            data["chat"],
            int(data["sequence"]),
            data["action"],
            badge,
            collapse_id,
            time.monotonic(),
            is_verified and data["badge"] == str(badge),
        )
        self.received.append(made)


def serve(line: Connection, secret: str, directory: Path, browsers: Sequence[str]) -> None:
    """Answer the questions of the parent: `count` and `history`."""

    async def run() -> None:
        receiver, app = Receiver(secret), web.Application()
        app.router.add_post("/push", receiver.receive)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with serve_http2(receiver.browsers.http2, directory):
            config = receiver.browsers.config()
            line.send(
                PushServices(
                    HttpConfig(url=f"http://127.0.0.1:{runner.addresses[0][1]}/push", secrets=(secret,)),
                    config,
                    {user: receiver.subscribe(user, config) for user in browsers},
                    str(receiver.browsers.http2.ca),
                )
            )
            while True:
                match await asyncio.to_thread(line.recv):
                    case "count":
                        line.send(len(receiver.received))
                    case _:
                        line.send((receiver.received, receiver.refused))

    asyncio.run(run())


@contextmanager
def receiving(
    secret: str, directory: Path, browsers: Sequence[str]
) -> Iterator[tuple[Connection, PushServices]]:
    """Start the services. Processes that are started meanwhile trust the certificate of the browsers' service."""
    mine, theirs = multiprocessing.Pipe()
    context, former = multiprocessing.get_context("spawn"), os.environ.get("SSL_CERT_FILE")
    process = context.Process(target=serve, args=(theirs, secret, directory, browsers), daemon=True)
    process.start()
    try:
        services: PushServices = mine.recv()
        os.environ["SSL_CERT_FILE"] = services.authority
        yield mine, services
    finally:
        process.terminate()
        process.join()
        os.environ.pop("SSL_CERT_FILE", None)
        if former is not None:
            os.environ["SSL_CERT_FILE"] = former

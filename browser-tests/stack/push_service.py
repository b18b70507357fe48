"""The Web Push service of the server's tests, for tests in a browser.

It serves over plain HTTP, which Tidings allows on this machine in development. Each line of the input is the public key
of a server; the answer is a new subscription. Messages are verified and decrypted, and written as lines of JSON.
"""

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "server/tests"))

from aiohttp import web
from fixtures.http2_server import Http2Server, ServedRequest
from fixtures.web_push_server import WebPushServer

from tidings.push.provider_config import VapidKey, WebPushConfig


class PlainServer(Http2Server):
    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def write(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


async def main() -> None:
    service = WebPushServer()
    service.http2 = PlainServer(service.http2.handle)

    async def receive(request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        answer = service.answer(ServedRequest(request.path, headers, await request.read()))
        if answer.status == 201:  # noqa: PLR2004 - created
            write(message=service.subscriptions[request.path].received[-1])
        else:
            write(refused=f"{answer.status} {answer.body.decode()}")
        return web.Response(status=answer.status, headers=dict(answer.headers))

    app = web.Application()
    app.router.add_post("/{path:.*}", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    service.http2.port = runner.addresses[0][1]
    while key := (await asyncio.to_thread(sys.stdin.readline)).strip():
        keys = (VapidKey(public_key=key, private_key="-"),)
        made = service.subscribe(WebPushConfig(subject="mailto:ops@example.com", keys=keys))
        write(subscription=made.body(service.http2.origin))
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())

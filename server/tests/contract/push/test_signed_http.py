"""Requests to a tenant's own push service: signatures, rotation of secrets, answers, and refused addresses."""

import base64
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from fixtures.push_notes import note, provider, registration

from tidings.kernel.clock import SystemClock
from tidings.kernel.network_policy import NetworkPolicy
from tidings.platform.guarded_http import open_guarded_session
from tidings.push.model import HttpTarget
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.provider_config import HttpConfig, rotated
from tidings.push.providers.signed_http import SignedHttpSender

OLD, NEW = ("whsec_" + base64.b64encode(each * 32).decode() for each in (b"o", b"n"))


class Receiver:
    def __init__(self) -> None:
        self.status = 200
        self.location = ""
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.url = ""

    async def receive(self, request: web.Request) -> web.Response:
        self.requests.append(({k.lower(): v for k, v in request.headers.items()}, await request.read()))
        headers = {"Retry-After": "9"} | ({"Location": self.location} if self.location else {})
        return web.Response(status=self.status, headers=headers, text="because")

    def is_signed(self, secret: str) -> bool:
        """Verify as Standard Webhooks describe it, without the code of the sender."""
        headers, body = self.requests[-1]
        text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        key = base64.b64decode(secret.removeprefix("whsec_"))
        wanted = "v1," + base64.b64encode(hmac.digest(key, text, "sha256")).decode()
        return wanted in headers["webhook-signature"].split(" ")


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver, app = Receiver(), web.Application()
    app.router.add_post("/push", receiver.receive)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/push"
    try:
        yield receiver
    finally:
        await runner.cleanup()


async def send(url: str, *secrets: str, network: NetworkPolicy = NetworkPolicy.LOCAL) -> SendResult:
    async with open_guarded_session(
        network, max_connections=2, timeout_s=5, headers={}, keeps_connections=False
    ) as session:
        sender = SignedHttpSender(session, network, SystemClock())
        config = HttpConfig(url=url, secrets=secrets or (NEW,))
        return await sender.send(registration(HttpTarget(token="t1")), note(), provider(config))


async def test_a_request_is_signed_with_every_secret() -> None:
    async with receiving() as receiver:
        both = rotated(
            HttpConfig(url=receiver.url, secrets=(OLD,)), HttpConfig(url=receiver.url, secrets=(NEW,))
        )
        assert isinstance(both, HttpConfig)
        assert (await send(receiver.url, *both.secrets)).verdict is SendVerdict.ACCEPTED
        assert receiver.is_signed(OLD)
        assert receiver.is_signed(NEW)
        body = json.loads(receiver.requests[0][1])
        assert (body["token"], body["badge"], body["title"], body["collapse_id"]) == ("t1", 3, "Ben", "c1")
        await send(receiver.url, NEW)
        assert not receiver.is_signed(OLD)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (204, SendVerdict.ACCEPTED),
        (302, SendVerdict.REJECTED),
        (400, SendVerdict.REJECTED),
        (404, SendVerdict.GONE),
        (410, SendVerdict.GONE),
        (429, SendVerdict.RETRY),
        (500, SendVerdict.RETRY),
    ],
)
async def test_answers_are_understood_and_redirects_not_followed(status: int, verdict: SendVerdict) -> None:
    async with receiving() as receiver:
        receiver.status, receiver.location = status, receiver.url
        result = await send(receiver.url)
        assert (result.verdict, result.retry_after_s) == (verdict, 9)
        assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://[::1]/x",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/x",
        "https://[::ffff:127.0.0.1]/x",
        "https://0.0.0.0/x",
        "https://2130706433/x",
        "http://example.com/x",
        "https://user:pw@example.com/x",
    ],
)
async def test_addresses_of_the_own_network_are_refused(url: str) -> None:
    result = await send(url, network=NetworkPolicy.PUBLIC)
    assert result.verdict in {SendVerdict.REJECTED, SendVerdict.RETRY}
    assert result.status == 0

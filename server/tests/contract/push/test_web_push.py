"""The Web Push client against a push service that verifies tokens and decrypts with http-ece."""

import base64
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import http_ece
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec
from fixtures.http2_server import ServedAnswer, serve_http2, trusting
from fixtures.push_notes import note, provider, registration
from fixtures.web_push_server import Subscription, WebPushServer, new_vapid_key

from tidings.kernel.clock import SystemClock
from tidings.kernel.network_policy import NetworkPolicy
from tidings.platform.guarded_http import open_guarded_session
from tidings.platform.http2.client import Http2Client, Http2Options
from tidings.push.model import PushAction, WebPushTarget
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.provider_config import WebPushConfig, rotated
from tidings.push.providers.web_push import WebPushSender, encrypt


class WebPushEnv:
    def __init__(self, server: WebPushServer, sender: WebPushSender) -> None:
        self.server = server
        self.sender = sender
        self.config = server.config()
        self.browser = server.subscribe(self.config)

    async def send(
        self,
        action: PushAction = PushAction.ALERT,
        browser: Subscription | None = None,
        config: WebPushConfig | None = None,
    ) -> SendResult:
        target = (browser or self.browser).target(self.server.http2.origin)
        return await self.sender.send(registration(target), note(action), provider(config or self.config))


@asynccontextmanager
async def open_web_push(
    directory: Path, network: NetworkPolicy = NetworkPolicy.LOCAL
) -> AsyncIterator[WebPushEnv]:
    server = WebPushServer()
    async with (
        serve_http2(server.http2, directory),
        open_guarded_session(
            network, max_connections=4, timeout_s=5, headers={}, keeps_connections=True
        ) as session,
    ):
        http2 = Http2Client(Http2Options(network=network, timeout_s=5), trusting(server.http2.ca))
        try:
            yield WebPushEnv(server, WebPushSender(http2, session, network, SystemClock()))
        finally:
            await http2.close()


async def test_a_browser_decrypts_the_notification(tmp_path: Path) -> None:
    async with open_web_push(tmp_path) as push:
        for action in (PushAction.ALERT, PushAction.UPDATE):
            result = await push.send(action)
            assert (result.verdict, result.status) == (SendVerdict.ACCEPTED, 201), push.server.refused
        first, second = push.browser.received
        assert (first["title"], first["body"], first["tag"], first["badge"]) == ("Ben", "Hi", "c1", 3)
        assert (first["renotify"], second["renotify"]) == (True, False)
        assert [each["urgency"] for each in push.browser.headers] == ["high", "normal"]
        assert len({each["topic"] for each in push.browser.headers}) == 1
        assert len(push.server.tokens) == 1


def test_every_length_is_decrypted_by_an_independent_implementation() -> None:
    browser = WebPushServer().subscribe(WebPushServer().config())
    target = browser.target("https://push.example.com")
    for length in (0, 1, 100, 3_993):
        text = os.urandom(length)
        sealed = encrypt(text, target)
        assert len(sealed) <= 4_096
        assert http_ece.decrypt(sealed, private_key=browser.private, auth_secret=browser.auth) == text
    assert encrypt(b"x", target)[:16] != encrypt(b"x", target)[:16]


@pytest.mark.parametrize("status", [404, 410])
async def test_a_subscription_that_has_ended_is_gone(tmp_path: Path, status: int) -> None:
    async with open_web_push(tmp_path) as push:
        push.server.gone_status, push.browser.is_gone = status, True
        assert (await push.send()).verdict is SendVerdict.GONE


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (400, SendVerdict.REJECTED),
        (403, SendVerdict.RETRY),
        (413, SendVerdict.REJECTED),
        (429, SendVerdict.RETRY),
        (503, SendVerdict.RETRY),
    ],
)
async def test_refusals_are_understood(tmp_path: Path, status: int, verdict: SendVerdict) -> None:
    async with open_web_push(tmp_path) as push:
        push.server.next_answers = [ServedAnswer(status, {"retry-after": "30"}, b"some\nreason")]
        result = await push.send()
        assert (result.verdict, result.answer, result.retry_after_s) == (verdict, "some reason", 30)


async def test_a_browser_keeps_the_key_that_it_subscribed_with(tmp_path: Path) -> None:
    async with open_web_push(tmp_path) as push:
        new = WebPushConfig(subject="mailto:ops@example.com", keys=(new_vapid_key(),))
        both = rotated(push.config, new)
        assert isinstance(both, WebPushConfig)
        later = push.server.subscribe(both)
        assert later.server_key != push.browser.server_key
        for browser in (push.browser, later):
            assert (await push.send(browser=browser, config=both)).verdict is SendVerdict.ACCEPTED
        assert (await push.send(config=new)).verdict is SendVerdict.GONE


@pytest.mark.parametrize("network", [NetworkPolicy.PUBLIC, NetworkPolicy.PRIVATE])
async def test_an_address_of_the_own_machine_is_refused_at_connect_time(
    tmp_path: Path, network: NetworkPolicy
) -> None:
    async with open_web_push(tmp_path, network) as push:
        result = await push.send()
        assert result.verdict is SendVerdict.RETRY
        assert "not allowed" in result.answer
        assert push.server.http2.connections == 0


async def test_invalid_keys_of_a_subscription_are_gone(tmp_path: Path) -> None:
    async with open_web_push(tmp_path) as push:
        bad = WebPushTarget(endpoint=f"{push.server.http2.origin}/x", p256dh="A" * 87, auth="A" * 22)
        result = await push.sender.send(registration(bad), note(), provider(push.config))
        assert result.verdict is SendVerdict.GONE


async def test_a_push_service_without_http2_is_reached_by_http1(tmp_path: Path) -> None:
    """Over http on loopback, which only the policy for development allows."""
    browser = Subscription(
        "/1", new_vapid_key().public_key, ec.generate_private_key(ec.SECP256R1()), b"a" * 16
    )
    bodies: list[bytes] = []

    async def answer(request: web.Request) -> web.Response:
        bodies.append(await request.read())
        return web.Response(status=201)

    app = web.Application()
    app.router.add_post("/1", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    (address,) = runner.addresses
    async with open_web_push(tmp_path) as push:
        target = browser.target(f"http://127.0.0.1:{address[1]}")
        unknown = WebPushTarget(endpoint=target.endpoint, p256dh=target.p256dh, auth=target.auth)
        result = await push.sender.send(registration(unknown), note(), provider(push.config))
        assert result.verdict is SendVerdict.ACCEPTED
    await runner.cleanup()
    assert http_ece.decrypt(bodies[0], private_key=browser.private, auth_secret=b"a" * 16)
    assert base64.urlsafe_b64decode(target.auth + "==") == b"a" * 16

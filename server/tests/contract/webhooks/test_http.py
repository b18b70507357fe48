"""Requests to endpoints: which addresses are refused, redirects, limits of time and size."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from tidings.kernel.network_policy import NetworkPolicy
from tidings.webhooks.model import Attempt
from tidings.webhooks.store.http import TransportOptions, open_webhook_transport

INTERNAL = [
    # loopback
    "127.0.0.1", "127.1.2.3", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "2130706433", "0x7f000001",
    "127.1", "0177.0.0.1", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "localhost.",
    # cloud metadata
    "169.254.169.254", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]", "2852039166",
    "168.63.129.16", "[2002:a9fe:a9fe::]", "169.254.170.2", "100.100.100.200",
    # private networks
    "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.254", "192.168.1.1", "[fc00::1]", "[fd12:3456::1]",
    "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "100.64.0.1", "[fec0::1]", "[2002:c0a8:101::]",
    # link-local, multicast, reserved, documentation
    "[fe80::1]", "224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "192.0.2.1",
]  # fmt: skip

type Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def receiver(handle: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert runner.addresses
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def post(url: str, network: NetworkPolicy = NetworkPolicy.LOCAL, **more: Any) -> Attempt:
    more.setdefault("timeout_s", 2.0)
    async with open_webhook_transport(TransportOptions(network=network)) as transport:
        return await transport.post(url, b"{}", {"webhook-id": "evt_1"}, **more)


def test_there_are_forty_attempts() -> None:
    assert len(set(INTERNAL)) >= 40


@pytest.mark.parametrize("host", INTERNAL)
async def test_an_internal_address_is_refused_in_any_notation(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[object] = []
    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", lambda *given: connected.append(given))
    attempt = await post(f"https://{host}:443/hook", NetworkPolicy.PUBLIC)
    assert attempt.status is None
    assert attempt.reason in {
        "connections to this address are not allowed",
        "the name of the host cannot be resolved",
    } or attempt.reason.startswith("the URL is refused")
    assert connected == []


async def test_a_name_that_resolves_to_an_internal_address_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in DNS rebinding: the name is harmless when it is checked, and the address counts when it is connected."""

    async def resolve(*_: object, **__: object) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 443))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    attempt = await post("https://public.example/hook", NetworkPolicy.PUBLIC)
    assert attempt.reason == "connections to this address are not allowed"


async def test_private_networks_are_allowed_by_the_operator_only() -> None:
    async with open_webhook_transport(TransportOptions(network=NetworkPolicy.PUBLIC)) as transport:
        assert transport.check("http://127.0.0.1/") == "it must be https"
    async with open_webhook_transport(TransportOptions(network=NetworkPolicy.LOCAL)) as transport:
        assert transport.check("http://127.0.0.1/") is None


async def test_a_redirect_is_not_followed() -> None:
    asked: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        raise web.HTTPFound("/elsewhere")

    async with receiver(handle) as url:
        attempt = await post(f"{url}/hook")
    assert (attempt.status, attempt.reason, asked) == (302, "redirects are not followed", ["/hook"])


async def test_an_answer_has_status_latency_and_the_time_of_the_next_attempt() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.headers["Content-Type"] == "application/json"
        assert request.headers["webhook-id"] == "evt_1"
        assert await request.read() == b"{}"
        return web.Response(status=429, headers={"Retry-After": "7"})

    async with receiver(handle) as url:
        attempt = await post(url)
    assert (attempt.status, attempt.reason, attempt.retry_after_ms) == (
        429,
        "the endpoint answered 429",
        7000,
    )
    assert not attempt.is_ok


async def test_an_endpoint_that_does_not_answer_in_time_has_failed() -> None:
    async def handle(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(5)
        return web.Response()

    async with receiver(handle) as url:
        attempt = await post(url, timeout_s=0.2)
    assert (attempt.status, attempt.reason) == (None, "no answer within 0.2 s")


async def test_an_endless_answer_is_cut() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 1024)

    async with receiver(handle) as url:
        attempt = await post(url)
        assert attempt.is_ok
        limited = await post(url, max_answer_bytes=8192)
    assert limited.reason == "the answer is larger than 8192 bytes"


async def test_a_connection_that_is_refused_is_explained() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    attempt = await post(f"http://127.0.0.1:{port}/")
    assert (attempt.status, attempt.reason) == (None, "no connection: Connection refused")

"""Previews of links on a real Redis, with pages of a hostile server."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from encodings import punycode

import pytest
from aiohttp import web
from fixtures.engines import Namespace
from fixtures.loops import longest_pause_s
from fixtures.media_env import CollectedTasks, MediaEnv, MemoryLinkCache
from fixtures.use_cases import ANNA, BEN, CLEO, code_of
from PIL import Image

from tidings.app.wiring.link_previews import read_text
from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId
from tidings.kernel.network_policy import NetworkPolicy
from tidings.media.link_previews import LinkPreviewService, LinkPreviewWorker, LinkState
from tidings.media.links import LinkPreview
from tidings.media.model import MediaTask
from tidings.media.store import links
from tidings.media.store.links import GuardedLinkFetcher, RedisLinkCache
from tidings.platform.guarded_http import open_guarded_session
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.options import RedisOptions
from tidings.tenants.model import MediaPolicy

MAX_PAUSE_S = 0.05
PUNYCODE = b"-" + bytes(punycode.generate_generalized_integer(0x1F600 - 0x80, 72)) + b"a" * 300_000
PAGE = "<title>The beach</title><meta name=description content='Sand'>"


def picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (900, 600), (10, 120, 200)).save(out, "PNG")
    return out.getvalue()


class HostileServer:
    """Pages that redirect, never end, are slow or are not pages. `requests`: the paths that were requested."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.url = ""
        self.page = b""

    @asynccontextmanager
    async def running(self) -> AsyncIterator["HostileServer"]:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path[1:]
        self.requests.append(path)
        if path in ("to", "loop"):
            raise web.HTTPFound(request.query.get("where", "/loop"))
        if path == "picture":
            return web.Response(body=picture(), content_type="image/png")
        if path in ("huge", "slow", "huge-picture"):
            return await self._stream(request, path)
        if path == "raw":
            return web.Response(
                body=self.page, headers={"Content-Type": f"text/html; charset={request.query['charset']}"}
            )
        image = request.query.get("image", "/picture")
        page = f"{PAGE}<meta property='og:image' content='{image}'>"
        types = {"json": "application/json", "charset": "text/html; charset=no-such"}
        headers = {"Content-Type": types.get(path, "text/html")}
        return web.Response(body=page.encode(), headers=headers, status=500 if path == "error" else 200)

    async def _stream(self, request: web.Request, path: str) -> web.StreamResponse:
        """Send a title, then bytes until the client ends the connection; slowly if it is `slow`."""
        response = web.StreamResponse(
            headers={"Content-Type": "image/png" if path == "huge-picture" else "text/html"}
        )
        await response.prepare(request)
        try:
            await response.write(PAGE.encode() if path == "huge" else b"<")
            while True:
                await response.write(b" " * (10 if path == "slow" else 65_536))
                await asyncio.sleep(0.05 if path == "slow" else 0)
        except ConnectionError:
            return response


@asynccontextmanager
async def fetching(network: NetworkPolicy = NetworkPolicy.LOCAL) -> AsyncIterator[GuardedLinkFetcher]:
    async with open_guarded_session(
        network, max_connections=4, timeout_s=20, headers=links.HEADERS, keeps_connections=False
    ) as session:
        yield GuardedLinkFetcher(session, network)


async def test_a_page_has_title_description_and_a_small_picture() -> None:
    async with HostileServer().running() as server, fetching() as fetcher:
        found = await fetcher.fetch(f"{server.url}/page")
        again = await fetcher.fetch(f"{server.url}/to?where=/page")
    assert (found.title, found.description) == ("The beach", "Sand")
    assert found.image is not None
    assert found.image.startswith("data:image/webp;base64,")
    assert len(found.image) < 2 * links.THUMBNAIL_BYTES
    assert again.title == found.title


@pytest.mark.parametrize(
    "path",
    [
        "loop",
        "json",
        "error",
        "to?where=file:///etc/passwd",
        "to?where=http://user:password@127.0.0.1/",
        "to?where=http://10.0.0.1/",
        "to?where=http://[",
    ],
)
async def test_what_is_not_a_page_has_no_preview(path: str) -> None:
    async with HostileServer().running() as server, fetching() as fetcher:
        url = f"{server.url}/{path}"
        assert await fetcher.fetch(url) == LinkPreview(url=url)
        assert len(server.requests) <= links.MAX_REDIRECTS + 1


async def test_a_page_in_an_unknown_character_set_is_read_as_utf_8() -> None:
    async with HostileServer().running() as server, fetching() as fetcher:
        assert (await fetcher.fetch(f"{server.url}/charset")).title == "The beach"


@pytest.mark.parametrize(
    ("charset", "part"),
    [
        ("punycode", PUNYCODE),
        ("windows-1252", b"\x81"),
        ("tis-620", b"\xff"),
        ("gb18030", b"\x81"),
        ("utf-8", b"<meta " + b"a" * 3_900 + b">"),
        ("utf-8", b"<meta " + b"a= " * 1_300 + b">"),
        ("utf-8", b"<title "),
    ],
)
async def test_a_hostile_page_does_not_stop_the_event_loop(charset: str, part: bytes) -> None:
    async with HostileServer().running() as server, fetching() as fetcher:
        server.page = (part * (links.PAGE_BYTES // len(part) + 1))[: links.PAGE_BYTES]
        url = f"{server.url}/raw?charset={charset}"
        # A busy machine delays some attempts, but not all.
        pauses = [await longest_pause_s(fetcher.fetch(url)) for _ in range(3)]
    assert min(pauses) < MAX_PAUSE_S, pauses


async def test_only_the_beginning_of_a_huge_page_is_read() -> None:
    async with HostileServer().running() as server, fetching() as fetcher, asyncio.timeout(60):
        assert (await fetcher.fetch(f"{server.url}/huge")).title == "The beach"


@pytest.mark.parametrize("image", ["/huge-picture", "/json", "/error", "http://10.0.0.1/a.png", "data:,x"])
async def test_a_page_with_a_wrong_picture_has_a_preview_without_it(image: str) -> None:
    async with HostileServer().running() as server, fetching() as fetcher, asyncio.timeout(60):
        found = await fetcher.fetch(f"{server.url}/page?image={image}")
    assert (found.title, found.image) == ("The beach", None)


async def test_a_slow_page_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "TIMEOUT_S", 0.5)
    async with HostileServer().running() as server, fetching() as fetcher, asyncio.timeout(60):
        assert (await fetcher.fetch(f"{server.url}/slow")).title == ""


@pytest.mark.parametrize("network", [NetworkPolicy.PUBLIC, NetworkPolicy.PRIVATE])
async def test_private_addresses_are_never_requested(network: NetworkPolicy) -> None:
    async with HostileServer().running() as server, fetching(network) as fetcher:
        port = server.url.rpartition(":")[2]
        for url in (f"{server.url}/page", f"https://127.0.0.1:{port}/page", f"https://localhost:{port}/page"):
            assert await fetcher.fetch(url) == LinkPreview(url=url)
        for host in ("169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "2130706433"):
            assert (await fetcher.fetch(f"https://{host}:{port}/page")).title == ""
    assert server.requests == []


async def test_previews_are_cached_for_the_tenant(valkey: str, space: Namespace) -> None:
    redis = await RedisClient.connect(replace(RedisOptions.from_url(valkey), key_prefix=space.key_prefix))
    try:
        cache, acme, other = RedisLinkCache(redis), TenantId("acme"), TenantId("other")
        url = "https://example.com/a"
        assert await cache.find(acme, url) is None
        assert [await cache.claim(acme, url) for _ in range(2)] == [True, False]
        await cache.put(acme, LinkPreview(url=url, title="A"))
        assert await cache.find(acme, url) == LinkPreview(url=url, title="A")
        assert await cache.find(other, url) is None
    finally:
        await redis.close()


class Pages:
    """A fetcher that counts."""

    def __init__(self) -> None:
        self.fetched: list[str] = []

    async def fetch(self, url: str, /) -> LinkPreview:
        self.fetched.append(url)
        return LinkPreview(url=url, title="A page")


async def test_a_link_is_fetched_once_for_readers_of_its_message_if_the_tenant_allows_it(
    media: MediaEnv,
) -> None:
    cases, tasks, cache, pages = media.use_cases, CollectedTasks(), MemoryLinkCache(), Pages()
    service = LinkPreviewService(cache, tasks, media, read_text(cases.history))
    worker = LinkPreviewWorker(cache, pages, media)
    chat = await cases.group(BEN)
    sequence = (await cases.send(chat, ANNA, "look: https://example.com/a.", after=1)).sequence
    assert (await service.preview(chat, BEN, sequence)).state is LinkState.OFF
    task = MediaTask(tenant=media.tenant, upload="a", action="preview", url="https://example.com/a")
    await worker.run(task)
    assert (tasks.published, pages.fetched) == ([], [])

    media.policy = MediaPolicy(has_link_previews=True)
    assert await code_of(service.preview(chat, CLEO, sequence)) is Code.MESSAGE_NOT_FOUND
    for user in (ANNA, BEN):
        assert (await service.preview(chat, user, sequence)).state is LinkState.LOADING
    (asked,) = tasks.published
    for _ in range(2):
        await worker.run(asked)
    assert pages.fetched == ["https://example.com/a"]
    found = await service.preview(chat, BEN, sequence)
    assert found == (LinkState.READY, LinkPreview(url="https://example.com/a", title="A page"))
    plain = (await cases.send(chat, ANNA, "no link", after=1)).sequence
    assert (await service.preview(chat, BEN, plain)).state is LinkState.NONE

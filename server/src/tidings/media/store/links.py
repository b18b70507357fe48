"""Previews of links: the cache in Redis, and the client that fetches pages."""

import asyncio
import base64
import shutil
import tempfile
from pathlib import Path
from typing import cast
from urllib.parse import urljoin

import aiohttp
import msgspec

from tidings.kernel.ids import TenantId
from tidings.kernel.network_policy import NetworkPolicy, check_url
from tidings.media.charsets import decode_page
from tidings.media.links import LinkPreview, PageFacts, link_key, read_page
from tidings.media.sandbox import run_decoder
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.errors import translate_redis_errors
from tidings.platform.redis.keys import Key

KEPT_S, EMPTY_KEPT_S, CLAIM_S = 86_400, 3_600, 30
PAGE_BYTES = 256 * 1024
"""Of a page, only the beginning is read: previews are described in its head."""
IMAGE_BYTES = 2 * 1024 * 1024
THUMBNAIL_BYTES = 32 * 1024
MAX_REDIRECTS = 3
TIMEOUT_S = 8.0
HEADERS = {"User-Agent": "Tidings-LinkPreview/1", "Accept-Encoding": "identity"}
_PAGES = ("text/html", "application/xhtml+xml")
_OK = 200
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(LinkPreview).decode


class RedisLinkCache:
    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis

    async def find(self, tenant: TenantId, url: str) -> LinkPreview | None:
        with translate_redis_errors():
            found = cast("bytes | None", await self._redis.read("GET", self._key(tenant, url, "link")))
        return None if found is None else _decode(found)

    async def put(self, tenant: TenantId, preview: LinkPreview) -> None:
        kept_s = KEPT_S if preview.title else EMPTY_KEPT_S
        with translate_redis_errors():
            await self._redis.write(
                "SET", self._key(tenant, preview.url, "link"), _encode(preview), "EX", kept_s
            )

    async def claim(self, tenant: TenantId, url: str) -> bool:
        with translate_redis_errors():
            key = self._key(tenant, url, "link-claim")
            return await self._redis.write("SET", key, "1", "EX", CLAIM_S, "NX") is not None

    def _key(self, tenant: TenantId, url: str, kind: str) -> Key:
        return self._redis.keys.key(tenant, link_key(url), kind)


class GuardedLinkFetcher:
    """Fetches pages with a session of `open_guarded_session`, which refuses addresses that are not of `network`."""

    def __init__(self, session: aiohttp.ClientSession, network: NetworkPolicy) -> None:
        self._session = session
        self._network = network

    async def fetch(self, url: str) -> LinkPreview:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self._fetch(url)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
            return LinkPreview(url=url)

    async def _fetch(self, url: str) -> LinkPreview:
        found = await self._get(url, _PAGES, PAGE_BYTES, is_cut=True)
        if found is None:
            return LinkPreview(url=url)
        body, charset, address = found
        # A thread: a hostile page takes some 100 ms, and the interpreter changes threads every 5 ms.
        facts = await asyncio.to_thread(_read_page, body, charset, address)
        image = None
        if facts.title and facts.image_url:
            image = await self._picture(facts.image_url)
        return LinkPreview(url=url, title=facts.title, description=facts.description, image=image)

    async def _get(
        self, url: str, types: tuple[str, ...], max_bytes: int, *, is_cut: bool
    ) -> tuple[bytes, str | None, str] | None:
        """Return body, character set and final URL. Each redirect is checked like the first URL."""
        for _ in range(MAX_REDIRECTS + 1):
            if check_url(url, self._network) is not None:
                return None
            async with self._session.get(url, allow_redirects=False) as answer:
                location = answer.headers.get("Location")
                if answer.status in (301, 302, 303, 307, 308) and location:
                    url = urljoin(url, location).partition("#")[0]
                    continue
                if answer.status != _OK or not answer.content_type.startswith(types):
                    return None
                body = await _read(answer, max_bytes, is_cut=is_cut)
                return None if body is None else (body, answer.charset, url)
        return None

    async def _picture(self, url: str) -> str | None:
        """Return the thumbnail of an image. It is decoded in a process of its own, like the files of users."""
        try:
            found = await self._get(url, ("image/",), IMAGE_BYTES, is_cut=False)
        except (aiohttp.ClientError, OSError, ValueError):
            return None  # The text is a preview too.
        if found is None:
            return None
        folder = Path(tempfile.mkdtemp(prefix="tidings-link-"))
        try:
            await asyncio.to_thread((folder / "file").write_bytes, found[0])
            facts = await run_decoder(folder / "file", folder, strips_metadata=True, timeout_s=TIMEOUT_S / 2)
            if facts.reason is not None or not facts.has_thumbnail:
                return None
            made = await asyncio.to_thread((folder / "thumbnail").read_bytes)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        return (
            f"data:image/webp;base64,{base64.b64encode(made).decode()}"
            if len(made) <= THUMBNAIL_BYTES
            else None
        )


def _read_page(body: bytes, charset: str | None, url: str) -> PageFacts:
    return read_page(decode_page(body, charset), url)


async def _read(answer: aiohttp.ClientResponse, max_bytes: int, *, is_cut: bool) -> bytes | None:
    """Read up to `max_bytes`. A longer body is cut, or None."""
    body = bytearray()
    async for chunk in answer.content.iter_chunked(16 * 1024):
        body += chunk
        if len(body) > max_bytes:
            return bytes(body[:max_bytes]) if is_cut else None
    return bytes(body)

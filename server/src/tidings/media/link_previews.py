"""Previews of links in messages. A reader asks for one; the media worker fetches the page once for the tenant.

A preview is not part of the log: it may be lost at any time, and it changes neither the order nor the content of messages.
"""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import NamedTuple, Protocol

from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.media.links import LinkPreview, first_link, link_key
from tidings.media.model import MediaTask
from tidings.media.ports import MediaTaskPublisher
from tidings.tenants.model import TenantLookup

type ReadText = Callable[[ChatKey, UserId, int], Awaitable[str]]
"""Returns the text of a message that a user may read now; empty if it has none. Raises `message_not_found`."""


class LinkState(StrEnum):
    OFF = "off"
    """The tenant has no previews."""
    LOADING = "loading"
    NONE = "none"
    """The message has no link, or the page says nothing about itself."""
    READY = "ready"


class LinkResult(NamedTuple):
    state: LinkState
    preview: LinkPreview | None = None


class LinkCache(Protocol):
    """Previews of a tenant. They expire, and may be lost. Raises `UnavailableError`."""

    async def find(self, tenant: TenantId, url: str, /) -> LinkPreview | None: ...

    async def put(self, tenant: TenantId, preview: LinkPreview, /) -> None: ...

    async def claim(self, tenant: TenantId, url: str, /) -> bool:
        """Return whether this caller shall publish the task. For half a minute, the others receive False."""
        ...


class LinkFetcher(Protocol):
    async def fetch(self, url: str, /) -> LinkPreview:
        """Fetch a page of the public internet. The preview is empty if the page is refused or says nothing."""
        ...


class LinkPreviewService:
    def __init__(
        self, cache: LinkCache, tasks: MediaTaskPublisher, tenants: TenantLookup, read_text: ReadText
    ) -> None:
        self._cache = cache
        self._tasks = tasks
        self._tenants = tenants
        self._read_text = read_text

    async def preview(self, chat: ChatKey, user: UserId, sequence: int) -> LinkResult:
        """Return the preview of the first link of a message. Only links of messages that the user may read are fetched."""
        text = await self._read_text(chat, user, sequence)
        tenant = await self._tenants.find(chat.tenant)
        if tenant is None or not tenant.settings.media.has_link_previews:
            return LinkResult(LinkState.OFF)
        url = first_link(text)
        if url is None:
            return LinkResult(LinkState.NONE)
        try:
            found = await self._cache.find(chat.tenant, url)
            if found is None and await self._cache.claim(chat.tenant, url):
                task = MediaTask(tenant=chat.tenant, upload=link_key(url), action="preview", url=url)
                self._tasks.publish_soon(task)
        except UnavailableError:
            return LinkResult(LinkState.NONE)  # Redis is down. Messages are shown without previews.
        if found is None:
            return LinkResult(LinkState.LOADING)
        return LinkResult(LinkState.READY, found) if found.title else LinkResult(LinkState.NONE)


class LinkPreviewWorker:
    """Fetches pages. A failure is no reason to repeat a task: the next reader asks again when the empty preview expires."""

    def __init__(self, cache: LinkCache, fetcher: LinkFetcher, tenants: TenantLookup) -> None:
        self._cache = cache
        self._fetcher = fetcher
        self._tenants = tenants

    async def run(self, task: MediaTask) -> None:
        tenant = await self._tenants.find(task.tenant)
        if task.url is None or tenant is None or not tenant.settings.media.has_link_previews:
            return
        try:
            if await self._cache.find(task.tenant, task.url) is None:
                await self._cache.put(task.tenant, await self._fetcher.fetch(task.url))
        except (TidingsError, UnavailableError):
            return

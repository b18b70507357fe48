"""The fetch of published keys, opened when the first tenant needs it: most have none, and its library loads slowly."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module

from tidings.accounts.jwks import JwksFetcher
from tidings.accounts.reach import NetworkPolicy
from tidings.run.settings.accounts import AccountsSettings


class LazyJwksFetcher:
    def __init__(self, settings: AccountsSettings, open_things: AsyncExitStack) -> None:
        self._settings = settings
        self._open_things = open_things
        self._opening = asyncio.Lock()
        self._fetch: JwksFetcher | None = None

    async def __call__(self, url: str, /) -> bytes:
        async with self._opening:
            fetch = self._fetch = self._fetch or await self._opened()
        return await fetch(url)

    async def _opened(self) -> JwksFetcher:
        library = await asyncio.to_thread(import_module, "tidings.accounts.jwks_http")
        options = library.FetchOptions(
            reach=NetworkPolicy(self._settings.jwks_reach),
            timeout_s=self._settings.jwks_timeout_s,
            max_bytes=self._settings.jwks_max_bytes,
        )
        fetch: JwksFetcher = await self._open_things.enter_async_context(library.open_http_jwks(options))
        return fetch


@asynccontextmanager
async def open_jwks_fetcher(settings: AccountsSettings) -> AsyncIterator[LazyJwksFetcher]:
    async with AsyncExitStack() as open_things:
        yield LazyJwksFetcher(settings, open_things)

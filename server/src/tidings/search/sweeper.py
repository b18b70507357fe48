"""Delete documents that must not stay in the index: of tenants that turned search off, and of expired messages."""

import asyncio
import logging
from typing import Final

from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.search.ports import SearchIndex
from tidings.tenants.model import TenantStore

_log = logging.getLogger(__name__)

EVERY_S: Final = 20.0


class IndexSweeper:
    """Reads the settings from the table: a cached setting could delete what a rebuild has just indexed."""

    def __init__(self, index: SearchIndex, tenants: TenantStore, clock: Clock) -> None:
        self._index = index
        self._tenants = tenants
        self._clock = clock

    async def run(self) -> None:
        """Sweep until cancelled. After a retryable error it continues."""
        while True:
            try:
                await self.sweep()
            except TidingsError as error:
                if not error.retryable:
                    raise
                _log.warning("the index was not swept, retrying: %s", error.message)
            await asyncio.sleep(EVERY_S)

    async def sweep(self) -> None:
        """Sweep once. Idempotent."""
        await self._index.delete_expired(self._clock.now_ms())
        for tenant in await self._index.tenants():
            found = await self._tenants.read(tenant)
            if found is None or not found.settings.has_search:
                _log.info("the documents of tenant %s are deleted: search is off", tenant)
                await self._index.delete_tenant(tenant)

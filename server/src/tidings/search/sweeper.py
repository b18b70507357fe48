"""Delete documents that must not stay in the index: of tenants that turned search off, of ephemeral messages, and of
messages that expired by the tenant's retention policy.

Deleted documents stay in the files of the index until a purge, which runs every 12 hours. An erasure purges at once.
"""

import asyncio
import logging
from itertools import batched
from typing import Final

from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.messages.model import ExpiredRange
from tidings.search.chat_indexer import END
from tidings.search.model import DocumentRemoval, MessageRef
from tidings.search.ports import ExpiredMessages, SearchIndex
from tidings.tenants.model import TenantStore

_MAX_REMOVALS: Final = 500
_log = logging.getLogger(__name__)

EVERY_S: Final = 20.0
PURGE_EVERY_MS: Final = 12 * 3_600_000
"""Words of a redacted message must leave the files within 24 hours. A purge may fail and be repeated in between."""


class IndexSweeper:
    """Reads the settings from the table: a cached setting could delete what a rebuild has just indexed."""

    def __init__(
        self, index: SearchIndex, tenants: TenantStore, expired: ExpiredMessages, clock: Clock
    ) -> None:
        self._expired = expired
        self._index = index
        self._tenants = tenants
        self._clock = clock
        self._purged_ms: int | None = None

    @property
    def purge_age_s(self) -> float:
        """How long ago the last purge started, as known from the last sweep. 0 before the first."""
        return 0.0 if self._purged_ms is None else (self._clock.now_ms() - self._purged_ms) / 1000

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
            for each in await self._expired.unindexed(tenant):
                await self._remove(each)
        # Two processes may purge at the same time. The second one finds nothing to rewrite.
        self._purged_ms = await self._index.purged_ms() or None
        if self._purged_ms is None or self._clock.now_ms() - self._purged_ms >= PURGE_EVERY_MS:
            await self._index.purge()
            self._purged_ms = await self._index.purged_ms() or None
            _log.info("the index was purged: its files have no deleted words")

    async def _remove(self, expired: ExpiredRange) -> None:
        """Remove expired messages, then the note about them."""
        # Race: the indexer has read a message before it expired, and applies it after this removal. No version is higher
        # than this one, so the index refuses the document.
        for part in batched(range(expired.first, expired.last + 1), _MAX_REMOVALS):
            await self._index.apply([DocumentRemoval(MessageRef(expired.chat, n), END) for n in part])
        await self._expired.delete_unindexed(expired)

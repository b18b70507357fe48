"""Remove what a user or a whole tenant wrote from the index and from its files, for their erasure."""

from typing import Final

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import TenantId, UserId
from tidings.search.ports import SearchIndex

_MAX_TRIES: Final = 5


class IndexErasure:
    """Runs in a process that writes the index: `tidings run search`."""

    def __init__(self, index: SearchIndex, failpoints: Failpoints) -> None:
        self._index = index
        self._failpoints = failpoints

    async def erase_user(self, tenant: TenantId, user: UserId) -> None:
        """Delete the documents of all messages that a user has sent, purge the index, and verify both.

        Destroy the content keys of the user first: then nothing can be indexed again. When it returns, no search finds
        the messages, and no file of the index has words of them. Idempotent. Raises retryable errors; then repeat it.
        """
        for _ in range(_MAX_TRIES):
            await self._index.delete_user(tenant, user)
            await self._failpoints.hit("search.user_deleted")
            await self._index.purge()
            # Race: the indexer read a message before the keys were destroyed, and applied it after the deletion.
            if not await self._index.has_user(tenant, user):
                return
        raise TidingsError(Code.OUTCOME_UNKNOWN, f"The search index still has messages of {user}.")

    async def erase_tenant(self, tenant: TenantId) -> None:
        """Delete all documents of a tenant, purge the index, and verify it. As `erase_user`."""
        for _ in range(_MAX_TRIES):
            await self._index.delete_tenant(tenant)
            await self._failpoints.hit("search.tenant_deleted")
            await self._index.purge()
            # Race: as above. Every deletion is visible to `tenants` after a refresh.
            await self._index.refresh()
            if tenant not in await self._index.tenants():
                return
        raise TidingsError(Code.OUTCOME_UNKNOWN, f"The search index still has messages of tenant {tenant}.")

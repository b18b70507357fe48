"""Turn search of a tenant on and off."""

from collections.abc import Callable
from typing import Protocol

from msgspec.structs import replace

from tidings.jobs.model import JobId
from tidings.kernel.errors import Code, TidingsError
from tidings.search.rebuild import SearchRebuild
from tidings.tenants.model import Tenant, TenantSettings


class TenantAdmin(Protocol):
    async def read(self, tenant: str) -> Tenant: ...

    async def change(self, tenant: str, change: Callable[[TenantSettings], TenantSettings]) -> Tenant: ...


class SearchSwitch:
    def __init__(self, tenants: TenantAdmin, rebuild: SearchRebuild) -> None:
        self._tenants = tenants
        self._rebuild = rebuild

    async def enable(self, tenant: str) -> JobId:
        """Let the tenant's users search, and start a job that indexes the messages of the past."""
        return await self._rebuild.start((await self._set(tenant, is_on=True)).id)

    async def disable(self, tenant: str) -> None:
        """End search. The process `search` deletes the tenant's documents within a minute."""
        await self._set(tenant, is_on=False)

    async def rebuild(self, tenant: str) -> JobId:
        """Start a job that indexes all messages again. Raises `search_off`."""
        found = await self._tenants.read(tenant)
        if not found.settings.has_search:
            raise TidingsError(
                Code.SEARCH_OFF, f"Search is off for {tenant}.", hint=f"Run `tidings search enable {tenant}`."
            )
        return await self._rebuild.start(found.id)

    async def _set(self, tenant: str, *, is_on: bool) -> Tenant:
        return await self._tenants.change(tenant, lambda settings: replace(settings, has_search=is_on))

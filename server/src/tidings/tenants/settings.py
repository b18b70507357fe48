"""Settings of tenants: read through a cache by processes, changed by operators.

Processes see a change, or a new tenant, within `CachePolicy.fresh_s`.
"""

from collections.abc import Callable, Sequence

from tidings.kernel.action_notes import note_change
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.security import SecurityEventKind, record_security_event
from tidings.tenants.model import Tenant, TenantSettings, TenantStore
from tidings.tenants.rules import check_settings, check_tenant_id, is_tenant_id

LIST_PAGE = 500
CACHE_POLICY = CachePolicy(fresh_s=30.0, outage_s=600.0)

type SettingsChange = Callable[[TenantSettings], TenantSettings]


class TenantReader:
    """Reads tenants through a cache. Use it from one event loop."""

    def __init__(self, store: TenantStore, clock: Clock, policy: CachePolicy = CACHE_POLICY) -> None:
        self._cache: Cache[TenantId, Tenant] = Cache(store.read, clock, policy)

    async def find(self, tenant: TenantId, /) -> Tenant | None:
        """Return a tenant, or `None` if it does not exist. An invalid id costs no read."""
        return await self._cache.get(tenant) if is_tenant_id(tenant) else None


class TenantService:
    """Creates and changes tenants, for operators. Reads from the table, without a cache."""

    def __init__(self, store: TenantStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def create(self, tenant: str, settings: TenantSettings) -> Tenant:
        name = check_tenant_id(tenant)
        now = self._clock.now_ms()
        settings = check_settings(settings)
        # Before the creation, which creates keys of the tenant to sign its row.
        if await self._store.is_deleted(name):
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"Tenant {name} was deleted. Its id cannot be used again.",
                hint="Choose another id.",
            )
        if not await self._store.create(name, settings, now):
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"Tenant {name} already exists.",
                hint="Show it with `tidings tenant show`, or change it with `tidings tenant set`.",
            )
        note_change(None, settings)
        record_security_event(SecurityEventKind.TENANT_CREATED, tenant=name)
        return Tenant(id=name, settings=settings, version=1, created_at_ms=now, updated_at_ms=now)

    async def read(self, tenant: str) -> Tenant:
        found = await self._store.read(check_tenant_id(tenant))
        if found is None:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"Tenant {tenant} does not exist.",
                hint="Run `tidings tenant list`, or create it with `tidings tenant create`.",
            )
        return found

    async def list(self) -> Sequence[TenantId]:
        """List the ids of all tenants."""
        found: list[TenantId] = []
        while page := await self._store.list(found[-1] if found else None, LIST_PAGE):
            found.extend(page)
        return found

    async def change(self, tenant: str, change: SettingsChange) -> Tenant:
        """Apply `change` to the current settings. Retry after a concurrent change, so that none is lost."""

        async def step() -> Tenant:
            found = await self.read(tenant)
            settings = check_settings(change(found.settings))
            now = self._clock.now_ms()
            if not await self._store.update(found.id, settings, found.version, now):
                raise TidingsError(
                    Code.WRITE_CONFLICT, "The settings were changed at the same time. Try again."
                )
            note_change(found.settings, settings)
            record_security_event(
                SecurityEventKind.TENANT_CHANGED, tenant=found.id, subject=f"version {found.version + 1}"
            )
            return Tenant(
                id=found.id,
                settings=settings,
                version=found.version + 1,
                created_at_ms=found.created_at_ms,
                updated_at_ms=now,
            )

        return await retry_on_conflict(step)

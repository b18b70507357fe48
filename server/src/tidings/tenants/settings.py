"""What tenants have set: read through a cache by everything that serves requests, changed by operators.

A change is seen within `CachePolicy.fresh_s`, and so is a new tenant by who had asked for it before.
"""

from collections.abc import Callable, Sequence

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
    """Belongs to the event loop that it is used in."""

    def __init__(self, store: TenantStore, clock: Clock, policy: CachePolicy = CACHE_POLICY) -> None:
        self._cache: Cache[TenantId, Tenant] = Cache(store.read, clock, policy)

    async def find(self, tenant: TenantId, /) -> Tenant | None:
        """None: there is none of this id. What can't be an id costs no read."""
        return await self._cache.get(tenant) if is_tenant_id(tenant) else None


class TenantService:
    """For operators: reads what stands, not what is kept."""

    def __init__(self, store: TenantStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def create(self, tenant: str, settings: TenantSettings) -> Tenant:
        name = check_tenant_id(tenant)
        now = self._clock.now_ms()
        settings = check_settings(settings)
        if not await self._store.create(name, settings, now):
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"There is a tenant {name} already.",
                hint="`tidings tenant show` shows it; `tidings tenant set` changes it.",
            )
        record_security_event(SecurityEventKind.TENANT_CREATED, tenant=name)
        return Tenant(id=name, settings=settings, version=1, created_at_ms=now, updated_at_ms=now)

    async def read(self, tenant: str) -> Tenant:
        found = await self._store.read(check_tenant_id(tenant))
        if found is None:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"There is no tenant {tenant}.",
                hint="`tidings tenant create` makes one.",
            )
        return found

    async def list(self) -> Sequence[TenantId]:
        """List the ids of all tenants."""
        found: list[TenantId] = []
        while page := await self._store.list(found[-1] if found else None, LIST_PAGE):
            found.extend(page)
        return found

    async def change(self, tenant: str, change: SettingsChange) -> Tenant:
        """Again on what is there, if somebody else changes it at the same moment: no change is lost."""

        async def step() -> Tenant:
            found = await self.read(tenant)
            settings = check_settings(change(found.settings))
            now = self._clock.now_ms()
            if not await self._store.update(found.id, settings, found.version, now):
                raise TidingsError(Code.WRITE_CONFLICT, "Somebody else changed the settings just now.")
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

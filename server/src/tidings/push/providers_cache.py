"""Providers of tenants: read through a cache by processes, changed by operators without an interruption."""

from collections.abc import Mapping

from tidings.kernel.action_notes import note_change
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.push.model import PushKind
from tidings.push.ports import ProviderStore
from tidings.push.provider_config import (
    ProviderConfig,
    StoredProvider,
    WebPushConfig,
    provider_kind,
    rotated,
)

_POLICY = CachePolicy(fresh_s=30.0, outage_s=600.0)


class PushProviders:
    """Reads providers through a cache. A change is used within 30 seconds. Use it from one event loop."""

    def __init__(self, store: ProviderStore, clock: Clock, policy: CachePolicy = _POLICY) -> None:
        self._store = store
        self._cache: Cache[TenantId, Mapping[PushKind, StoredProvider]] = Cache(self._read, clock, policy)

    async def of(self, tenant: TenantId) -> Mapping[PushKind, StoredProvider]:
        return await self._cache.get(tenant) or {}

    async def web_push_key(self, tenant: TenantId) -> str:
        """Return the public key that browsers subscribe with. Raise `push_not_configured`."""
        found = (await self.of(tenant)).get(PushKind.WEB_PUSH)
        if found is None or not isinstance(found.config, WebPushConfig):
            raise TidingsError(
                Code.PUSH_NOT_CONFIGURED,
                "The tenant has no key for Web Push.",
                hint="An operator creates it with `tidings push set-web-push`.",
            )
        return found.config.keys[0].public_key

    async def _read(self, tenant: TenantId) -> Mapping[PushKind, StoredProvider] | None:
        return await self._store.read(tenant)


class PushProviderService:
    """Changes providers, for operators. Reads from the table, without a cache."""

    def __init__(self, store: ProviderStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def read(self, tenant: TenantId) -> Mapping[PushKind, StoredProvider]:
        return await self._store.read(tenant)

    async def set(
        self, tenant: TenantId, config: ProviderConfig, *, keeps_former: bool = True
    ) -> StoredProvider:
        """Store credentials. `keeps_former`: former credentials stay valid behind the new ones, at most three in all.

        Browsers that subscribed with a former key of Web Push can be reached only with that key.
        """

        async def step() -> StoredProvider:
            former = (await self._store.read(tenant)).get(provider_kind(config))
            joined = config if former is None or not keeps_former else rotated(former.config, config)
            made = StoredProvider(
                config=joined,
                version=1 if former is None else former.version + 1,
                updated_ms=self._clock.now_ms(),
            )
            if not await self._store.put(tenant, made):
                raise TidingsError(Code.WRITE_CONFLICT, "The provider was changed at the same time.")
            note_change(_noted(former), _noted(made))
            return made

        return await retry_on_conflict(step)


def _noted(provider: StoredProvider | None) -> dict[str, object] | None:
    """Return what the audit log may contain: no credentials."""
    if provider is None:
        return None
    return {"provider": provider_kind(provider.config).value, "version": provider.version}

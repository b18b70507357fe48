"""Keys that sign access tokens: created at first use, rotated, and accepted while their tokens live."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId
from tidings.tenants.key_ring import KeyFactory
from tidings.tenants.model import KeyKind, KeyName, KeyStore, UnwrapError, WrappedKey
from tidings.tenants.ports import Kms
from tidings.tenants.rules import is_due

_log = logging.getLogger(__name__)

_SLACK_S = 60.0
"""Allowance for clock differences and slow reads."""
_RECHECK_S = 1.0
"""How often the table is read for a tenant without a key: its first login may have just created one."""

type WrappedKeys = Mapping[int, WrappedKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningPolicy:
    """`token_life_s` is the lifetime of tokens; `refresh_s` the time within which every process reads a new key."""

    token_life_s: float
    rotate_after_s: float = 90 * 86_400.0
    refresh_s: float = 300.0
    max_cached_tenants: int = 10_000

    @property
    def announced_s(self) -> float:
        return self.refresh_s + _SLACK_S


class SigningKeyRing:
    """Cache of the keys that sign access tokens. Use it from one event loop."""

    def __init__(self, store: KeyStore, kms: Kms, clock: Clock, policy: SigningPolicy) -> None:
        self._store = store
        self._clock = clock
        self._policy = policy
        self._factory = KeyFactory(store, kms, clock, policy.rotate_after_s)
        count = policy.max_cached_tenants
        cache_policy = CachePolicy(
            fresh_s=policy.refresh_s, outage_s=policy.token_life_s, count=count, absent_count=count
        )
        self._rows: Cache[TenantId, WrappedKeys] = Cache(self._load, clock, cache_policy)
        self._new: Cache[TenantId, WrappedKeys] = Cache(self._list, clock, CachePolicy(fresh_s=_RECHECK_S))
        self._makes: SingleFlight[tuple[TenantId, int], WrappedKey] = SingleFlight()
        # The row is part of the cache key: a row that was changed in the table is unwrapped again.
        self._secrets: Cache[tuple[TenantId, WrappedKey], bytes] = Cache(
            self._unwrap, clock, CachePolicy(fresh_s=policy.rotate_after_s, count=4 * count)
        )

    async def signing_key(self, tenant: TenantId, /) -> tuple[int, bytes]:
        """Return version and key. Create the first key of a tenant. Raise `keys_unavailable`."""
        rows = await self._rows_of(tenant) or await self._make(tenant, 1)
        version = signing_version(rows, self._clock.now_ms(), self._policy.announced_s)
        secret = await self._secrets.get((tenant, rows[version]))
        if secret is None:
            raise self._factory.unusable(tenant, rows[version])
        return version, secret

    async def to_verify(self, tenant: TenantId, version: int, /) -> bytes | None:
        """Return a key to verify with. Creates nothing, because the tenant's id is not verified yet."""
        rows = await self._rows_of(tenant)
        policy = self._policy
        if rows is None or not still_verifies(
            rows, version, self._clock.now_ms(), policy.announced_s, policy.token_life_s + _SLACK_S
        ):
            return None
        return await self._secrets.get((tenant, rows[version]))

    async def rotate(self, tenant: TenantId, /) -> int:
        """Create the next key. It signs once every process has had time to read it."""
        rows = await self._list(tenant) or {}
        version = max(rows, default=0) + 1
        await self._make(tenant, version)
        return version

    async def _rows_of(self, tenant: TenantId) -> WrappedKeys | None:
        rows = await self._rows.get(tenant)
        if rows is None and (rows := await self._new.get(tenant)) is not None:
            self._rows.evict(tenant)
        return rows

    async def _load(self, tenant: TenantId) -> WrappedKeys | None:
        """Read the keys and create the next one if it is due. If the KMS is unavailable, the old key stays in use."""
        rows = await self._list(tenant)
        if rows and is_due(rows[max(rows)], self._clock.now_ms(), self._policy.rotate_after_s):
            name = KeyName(KeyKind.ACCESS, max(rows) + 1)
            try:
                return {**rows, name.version: await self._factory.make(tenant, name)}
            except TidingsError as error:
                _log.warning("key %s of %s is due and could not be created: %s", name, tenant, error)
        return rows

    async def _make(self, tenant: TenantId, version: int) -> WrappedKeys:
        """Create a key. Race: two processes create the same version. The first one is stored, and both use it."""
        await self._makes.run(
            (tenant, version), lambda: self._factory.make(tenant, KeyName(KeyKind.ACCESS, version))
        )
        self._rows.evict(tenant)
        self._new.evict(tenant)
        return await self._list(tenant) or {}

    async def _list(self, tenant: TenantId) -> WrappedKeys | None:
        rows = await self._store.list(tenant)
        found = {row.name.version: row for row in rows if row.name.kind is KeyKind.ACCESS}
        return found or None

    async def _unwrap(self, key: tuple[TenantId, WrappedKey]) -> bytes | None:
        tenant, row = key
        try:
            return await self._factory.unwrap(tenant, row)
        except UnwrapError as error:
            _log.warning("tokens signed with key %s of %s cannot be verified: %s", row.name, tenant, error)
            return None


def signs_from_ms(key: WrappedKey, announced_s: float) -> int:
    """Return when a new key may sign. By then every process has read it, so none receives a token with an unknown key."""
    return key.created_at_ms + round(announced_s * 1000)


def signing_version(keys: Mapping[int, WrappedKey], now_ms: int, announced_s: float) -> int:
    """Return the newest key that every process has read. A tenant's first key signs at once."""
    known = [version for version, key in keys.items() if signs_from_ms(key, announced_s) <= now_ms]
    return max(known, default=min(keys))


def still_verifies(
    keys: Mapping[int, WrappedKey], version: int, now_ms: int, announced_s: float, token_life_s: float
) -> bool:
    """Return whether tokens of this version are accepted: until its successor signs, and then for a token's lifetime.

    So an old key that leaks is of no use.
    """
    if version not in keys:
        return False
    later = [key for newer, key in keys.items() if newer > version]
    return not later or now_ms < min(signs_from_ms(key, announced_s) for key in later) + token_life_s * 1000

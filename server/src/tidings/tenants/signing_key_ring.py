"""The keys that sign access tokens: made at first use, replaced in time, believed for as long as their tokens live."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId
from tidings.tenants.key_ring import KeyFactory
from tidings.tenants.model import KeyKind, KeyName, KeyStore, Kms, UnwrapError, WrappedKey
from tidings.tenants.rules import is_due

_log = logging.getLogger(__name__)

_SLACK_S = 60.0
"""For clocks that differ, and for a look that takes its time."""
_RECHECK_S = 1.0
"""A tenant without a key is looked at again after this, because its first login may be a moment ago."""

type WrappedKeys = Mapping[int, WrappedKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningPolicy:
    """`token_life_s` is that of the tokens; `refresh_s` how long a new key may go unnoticed by a process."""

    token_life_s: float
    rotate_after_s: float = 90 * 86_400.0
    refresh_s: float = 300.0
    max_cached_tenants: int = 10_000

    @property
    def announced_s(self) -> float:
        return self.refresh_s + _SLACK_S


class SigningKeyRing:
    """Belongs to the event loop that it is used in."""

    def __init__(self, store: KeyStore, kms: Kms, clock: Clock, policy: SigningPolicy) -> None:
        self._store = store
        self._clock = clock
        self._policy = policy
        self._maker = KeyFactory(store, kms, clock, policy.rotate_after_s)
        kept, count = policy.refresh_s, policy.max_cached_tenants
        keep = CachePolicy(fresh_s=kept, outage_s=policy.token_life_s, count=count, absent_count=count)
        self._rows: Cache[TenantId, WrappedKeys] = Cache(self._load, clock, keep)
        self._new: Cache[TenantId, WrappedKeys] = Cache(self._list, clock, CachePolicy(fresh_s=_RECHECK_S))
        self._makes: SingleFlight[tuple[TenantId, int], WrappedKey] = SingleFlight()
        # by the row itself: one that was changed in the table is unwrapped anew
        self._secrets: Cache[tuple[TenantId, WrappedKey], bytes] = Cache(
            self._unwrap, clock, CachePolicy(fresh_s=policy.rotate_after_s, count=4 * count)
        )

    async def signing_key(self, tenant: TenantId, /) -> tuple[int, bytes]:
        """Makes the first one for a tenant that has none. Raises `keys_unavailable`."""
        rows = await self._rows_of(tenant) or await self._make(tenant, 1)
        version = signing_version(rows, self._clock.now_ms(), self._policy.announced_s)
        secret = await self._secrets.get((tenant, rows[version]))
        if secret is None:
            raise self._maker.unusable(tenant, rows[version])
        return version, secret

    async def to_verify(self, tenant: TenantId, version: int, /) -> bytes | None:
        """Makes nothing: the tenant's name is a stranger's word."""
        rows = await self._rows_of(tenant)
        policy = self._policy
        if rows is None or not still_verifies(
            rows, version, self._clock.now_ms(), policy.announced_s, policy.token_life_s + _SLACK_S
        ):
            return None
        return await self._secrets.get((tenant, rows[version]))

    async def rotate(self, tenant: TenantId, /) -> int:
        """The next key. It signs when every process can have seen it."""
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
        """A key that is past its time still signs: better than to let nobody in while the key service is away."""
        rows = await self._list(tenant)
        if rows and is_due(rows[max(rows)], self._clock.now_ms(), self._policy.rotate_after_s):
            name = KeyName(KeyKind.ACCESS, max(rows) + 1)
            try:
                return {**rows, name.version: await self._maker.make(tenant, name)}
            except TidingsError as error:
                _log.warning("%s of %s is due and can't be made: %s", name, tenant, error)
        return rows

    async def _make(self, tenant: TenantId, version: int) -> WrappedKeys:
        """The race: two make it. One's stands, and both go on with that."""
        await self._makes.run(
            (tenant, version), lambda: self._maker.make(tenant, KeyName(KeyKind.ACCESS, version))
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
            return await self._maker.unwrap(tenant, row)
        except UnwrapError as error:
            _log.warning("what %s of %s signed can't be verified: %s", row.name, tenant, error)
            return None


def signs_from_ms(key: WrappedKey, announced_s: float) -> int:
    """A new signing key waits until every process has seen it: then none meets a token whose key it does not know."""
    return key.created_at_ms + round(announced_s * 1000)


def signing_version(keys: Mapping[int, WrappedKey], now_ms: int, announced_s: float) -> int:
    """The newest that everybody knows; the first key of all has nobody to wait for."""
    known = [version for version, key in keys.items() if signs_from_ms(key, announced_s) <= now_ms]
    return max(known, default=min(keys))


def still_verifies(
    keys: Mapping[int, WrappedKey], version: int, now_ms: int, announced_s: float, token_life_s: float
) -> bool:
    """While the next one is not yet in use, or tokens of this one may still live. So an old key that leaked is of no use."""
    if version not in keys:
        return False
    later = [key for newer, key in keys.items() if newer > version]
    return not later or now_ms < min(signs_from_ms(key, announced_s) for key in later) + token_life_s * 1000

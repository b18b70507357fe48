"""The keys of every tenant that this process works for: found or made at first use, kept, looked at again in time.

Unwrapped keys live in this process's memory only. Sealing itself is in `sealing.py`.
"""

import logging
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.sharing import SingleFlight
from tidings.tenants.making import KeyFactory, OpenedKeys
from tidings.tenants.model import FINGERPRINT, KeyKind, KeyName, WrappedKey
from tidings.tenants.ports import KeyStore, Kms, UnwrapError
from tidings.tenants.sealing import ContentKeys

_log = logging.getLogger(__name__)

RETRY_S = 15.0
"""After a look at the table that failed: how long the keys at hand are used before the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPolicy:
    """`refresh_s` is how long a key that another process made may go unnoticed."""

    is_encrypting: bool = True
    rotate_after_s: float = 90 * 86_400.0
    refresh_s: float = 300.0
    max_cached_tenants: int = 10_000


@dataclass(slots=True)
class _CachedKeys:
    opened: OpenedKeys
    keys: ContentKeys
    fresh_until: float


class KeyRing:
    """Belongs to the event loop that it is used in."""

    def __init__(self, store: KeyStore, kms: Kms, clock: Clock, policy: KeyPolicy) -> None:
        self._maker = KeyFactory(store, kms, clock, policy.rotate_after_s)
        self._clock = clock
        self._policy = policy
        self._cache: OrderedDict[TenantId, _CachedKeys] = OrderedDict()
        self._loads: SingleFlight[TenantId, _CachedKeys] = SingleFlight()
        self._unwraps: SingleFlight[tuple[TenantId, WrappedKey], bytes | None] = SingleFlight()

    async def of(self, tenant: TenantId, /) -> ContentKeys:
        """Keys to seal with. Makes them for a tenant that has none."""
        return (await self._fresh(tenant)).keys

    async def to_read(self, tenant: TenantId, contents: Collection[bytes], /) -> ContentKeys:
        """Keys to open these contents with. One that is not known here is looked for, once."""
        held = await self._fresh(tenant)
        if versions := held.keys.lacks(contents):
            lacking = {KeyName(KeyKind.CONTENT, version) for version in versions}
            held = await self._know(tenant, held, lacking)
            await self._unwrap_older(tenant, held, lacking)
        return held.keys

    async def rotate(self, tenant: TenantId) -> int:
        """A new content key: in use here at once, elsewhere within `refresh_s`. Nothing that is stored is touched.

        Two who rotate at the same time make one key. Returns its version.
        """
        await self._fresh(tenant)
        made = await self._maker.make_next(tenant)
        if held := self._cache.get(tenant):
            await self._know(tenant, held, {made})
        return made.version

    async def _fresh(self, tenant: TenantId) -> _CachedKeys:
        held = self._cache.get(tenant)
        if held is not None and self._clock.monotonic() < held.fresh_until:
            self._cache.move_to_end(tenant)
            return held
        try:
            return await self._refresh(tenant)
        except TidingsError:
            if held is None:
                raise
            # who has keys goes on with them: sending needs neither this table nor the key service
            held.fresh_until = self._clock.monotonic() + RETRY_S
            return held

    async def _know(self, tenant: TenantId, held: _CachedKeys, names: set[KeyName]) -> _CachedKeys:
        """Looks for keys that another process made. The race: a look that is under way may have come too early.

        So whoever still misses one after it looks again; that look is later than the key.
        """
        if not names <= held.opened.rows.keys() and tenant in self._loads:
            held = await self._refresh(tenant)
        if not names <= held.opened.rows.keys():
            held = await self._refresh(tenant)
        return held

    async def _unwrap_older(self, tenant: TenantId, held: _CachedKeys, names: set[KeyName]) -> None:
        """Older keys are unwrapped when something that they sealed is read, not before."""
        for name in names & held.opened.rows.keys():
            if name in held.opened.secrets or name.version not in held.keys.versions:
                continue
            row = held.opened.rows[name]
            secret = await self._unwraps((tenant, row), partial(self._unwrap_or_none, tenant, row))
            if secret is None:
                held.keys.versions.discard(name.version)
            else:
                held.opened.secrets[name] = secret
                held.keys.add(name.version, secret)

    async def _unwrap_or_none(self, tenant: TenantId, row: WrappedKey) -> bytes | None:
        """One that does not unwrap makes unreadable what it sealed, and nothing else."""
        try:
            return await self._maker.unwrap(tenant, row)
        except UnwrapError as error:
            _log.warning("what %s of %s sealed can't be read: %s", row.name, tenant, error)
            return None

    async def _refresh(self, tenant: TenantId) -> _CachedKeys:
        return await self._loads(tenant, partial(self._load, tenant))

    async def _load(self, tenant: TenantId) -> _CachedKeys:
        looked_at = self._clock.monotonic()
        held = self._cache.get(tenant)
        try:
            opened = await self._maker.open(tenant, held.opened if held else OpenedKeys({}, {}))
        except TidingsError as error:
            _log.warning("the keys of %s can't be loaded: %s", tenant, error)
            raise
        held = _CachedKeys(opened, self._keys(tenant, opened), looked_at + self._policy.refresh_s)
        self._cache[tenant] = held
        self._cache.move_to_end(tenant)
        if len(self._cache) > self._policy.max_cached_tenants:
            self._cache.popitem(last=False)
        return held

    def _keys(self, tenant: TenantId, opened: OpenedKeys) -> ContentKeys:
        return ContentKeys(
            tenant,
            fingerprint_key=opened.secrets[FINGERPRINT],
            content_keys={
                name.version: key for name, key in opened.secrets.items() if name.kind is KeyKind.CONTENT
            },
            versions=(name.version for name in opened.contents),
            is_encrypting=self._policy.is_encrypting,
        )

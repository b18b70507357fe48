"""Opens a tenant's data keys as they stand, and makes what is missing or due. Remembers nothing."""

import logging
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.tenants.model import (
    FINGERPRINT,
    FIRST_CONTENT,
    KEY_BYTES,
    KeyKind,
    KeyName,
    KeyStore,
    Kms,
    UnwrapError,
    WrappedKey,
)
from tidings.tenants.rules import is_due, wrap_context
from tidings.tenants.sealing import ContentKeys

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class OpenedKeys:
    """A tenant's keys as they stand, and unwrapped those that were needed so far."""

    rows: dict[KeyName, WrappedKey]
    secrets: dict[KeyName, bytes] = field(repr=False)

    @property
    def contents(self) -> list[KeyName]:
        return sorted(name for name in self.rows if name.kind is KeyKind.CONTENT)

    def still_good(self, rows: dict[KeyName, WrappedKey]) -> "OpenedKeys":
        """What was unwrapped and stands as it was need not be unwrapped again."""
        secrets = {name: key for name, key in self.secrets.items() if rows.get(name) == self.rows[name]}
        return OpenedKeys(rows, secrets)


class KeyFactory:
    def __init__(self, store: KeyStore, kms: Kms, clock: Clock, rotate_after_s: float) -> None:
        self._store = store
        self._kms = kms
        self._clock = clock
        self._rotate_after_s = rotate_after_s

    async def open(self, tenant: TenantId, before: OpenedKeys) -> OpenedKeys:
        """The fingerprint key and the newest content key, unwrapped.

        The first comes first: a key service that can't unwrap what is there must not wrap what comes, or a wrong
        key file would divide the tenant's keys between two.
        """
        opened = before.still_good({row.name: row for row in await self._store.list(tenant)})
        await self._have_fingerprint(tenant, opened)
        await self._have_content(tenant, opened)
        return opened

    async def make_next(self, tenant: TenantId) -> KeyName:
        """The next content key, whether one is due or not."""
        opened = OpenedKeys({row.name: row for row in await self._store.list(tenant)}, {})
        return (await self.make(tenant, _next(opened))).name

    async def unwrap(self, tenant: TenantId, key: WrappedKey) -> bytes:
        """Raises `UnwrapError`."""
        unwrapped = await self._kms.unwrap(key.wrapped, wrap_context(tenant, key.name))
        if len(unwrapped) != KEY_BYTES:
            raise UnwrapError(f"it has {len(unwrapped)} bytes")
        return unwrapped

    async def _have_fingerprint(self, tenant: TenantId, opened: OpenedKeys) -> None:
        if FINGERPRINT not in opened.rows:
            if opened.contents:
                raise _unavailable(
                    f"The fingerprint key of {tenant} is gone, and others are there.",
                    "Restore its row in the table `tenants`: with another one, no repeat would be recognised.",
                )
            opened.rows[FINGERPRINT] = await self.make(tenant, FINGERPRINT)
        await self._have_unwrapped(tenant, opened, FINGERPRINT)

    async def _have_content(self, tenant: TenantId, opened: OpenedKeys) -> None:
        if not opened.contents:
            opened.rows[FIRST_CONTENT] = await self.make(tenant, FIRST_CONTENT)
        elif is_due(opened.rows[opened.contents[-1]], self._clock.now_ms(), self._rotate_after_s):
            await self._replace(tenant, opened)
        await self._have_unwrapped(tenant, opened, opened.contents[-1])

    async def _replace(self, tenant: TenantId, opened: OpenedKeys) -> None:
        """A key that is past its time still seals: better than not to send while the key service is away."""
        name = _next(opened)
        try:
            opened.rows[name] = await self.make(tenant, name)
        except TidingsError as error:
            _log.warning("%s of %s is due and can't be made: %s", name, tenant, error)

    async def make(self, tenant: TenantId, name: KeyName) -> WrappedKey:
        """The race: two processes make it. One's stands, and both go on with that."""
        generated = await self._kms.generate(wrap_context(tenant, name))
        made = WrappedKey(name, generated.wrapped, generated.wrapped_by, self._clock.now_ms())
        return await self._store.add(tenant, made)

    async def _have_unwrapped(self, tenant: TenantId, opened: OpenedKeys, name: KeyName) -> None:
        if name in opened.secrets:
            return
        row = opened.rows[name]
        try:
            opened.secrets[name] = await self.unwrap(tenant, row)
        except UnwrapError as error:
            raise self.unusable(tenant, row, str(error)) from error

    @staticmethod
    def unusable(
        tenant: TenantId, row: WrappedKey, why: str = "altered, or wrapped for another"
    ) -> TidingsError:
        return _unavailable(
            f"The key {row.name} of {tenant} does not unwrap: {why}.",
            f"{row.wrapped_by} wrapped it. Look at [encryption] in the settings; if that is right, "
            "somebody has changed the row, and it must be restored.",
        )


def _next(opened: OpenedKeys) -> KeyName:
    contents = opened.contents
    return KeyName(KeyKind.CONTENT, contents[-1].version + 1) if contents else FIRST_CONTENT


def _unavailable(message: str, hint: str) -> TidingsError:
    return TidingsError(Code.KEYS_UNAVAILABLE, message, hint=hint)


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

    async def fingerprint(self, tenant: TenantId, data: bytes, /) -> bytes:
        """Return a MAC of `data` under a key of the tenant, which is created if there is none."""
        return (await self.of(tenant)).fingerprint(data)

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
            secret = await self._unwraps.run((tenant, row), partial(self._unwrap_or_none, tenant, row))
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
        return await self._loads.run(tenant, partial(self._load, tenant))

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

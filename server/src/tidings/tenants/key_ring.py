"""Data keys of tenants: create, unwrap, cache, rotate and rewrap them."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
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
    UnwrapError,
    WrappedKey,
)
from tidings.tenants.ports import Kms
from tidings.tenants.rules import is_due, wrap_context
from tidings.tenants.sealing import ContentKeys

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class OpenedKeys:
    """A tenant's wrapped keys, and in `secrets` the ones that were unwrapped so far."""

    rows: dict[KeyName, WrappedKey]
    secrets: dict[KeyName, bytes] = field(repr=False)

    @property
    def contents(self) -> list[KeyName]:
        return sorted(name for name in self.rows if name.kind is KeyKind.CONTENT)

    def carry_over(self, rows: dict[KeyName, WrappedKey]) -> "OpenedKeys":
        """Return `rows` with the secrets of unchanged keys, which need not be unwrapped again."""
        secrets = {name: key for name, key in self.secrets.items() if rows.get(name) == self.rows[name]}
        return OpenedKeys(rows, secrets)


INSTALLATION = TenantId("_system")
"""The owner of keys that belong to the installation. No tenant has this id."""


class KeyFactory:
    """Creates and unwraps a tenant's data keys. Caches nothing."""

    def __init__(self, store: KeyStore, kms: Kms, clock: Clock, rotate_after_s: float) -> None:
        self._store = store
        self._kms = kms
        self._clock = clock
        self._rotate_after_s = rotate_after_s

    async def open(self, tenant: TenantId, before: OpenedKeys) -> OpenedKeys:
        """Unwrap the fingerprint key and the newest content key, creating them if needed.

        The fingerprint key comes first: a KMS that cannot unwrap existing keys must not wrap new ones. Otherwise a
        wrong key file would split the tenant's keys between two master keys.
        """
        opened = before.carry_over({row.name: row for row in await self._store.list(tenant)})
        await self._ensure_fingerprint(tenant, opened)
        await self._ensure_content(tenant, opened)
        return opened

    async def make_next(self, tenant: TenantId) -> KeyName:
        """Create the next content key, whether it is due or not."""
        opened = OpenedKeys({row.name: row for row in await self._store.list(tenant)}, {})
        return (await self.make(tenant, _next(opened))).name

    async def unwrap(self, tenant: TenantId, key: WrappedKey) -> bytes:
        """Unwrap a key. Raise `UnwrapError`."""
        unwrapped = await self._kms.unwrap(key.wrapped, wrap_context(tenant, key.name))
        if len(unwrapped) != KEY_BYTES:
            raise UnwrapError(f"it has {len(unwrapped)} bytes")
        return unwrapped

    async def unrotated(self, tenant: TenantId, name: KeyName) -> bytes:
        """Return a key that is never rotated. Create it at first use. Raise `keys_unavailable`."""
        rows = {row.name: row for row in await self._store.list(tenant)}
        row = rows.get(name) or await self.make(tenant, name)
        try:
            return await self.unwrap(tenant, row)
        except UnwrapError as error:
            raise self.unusable(tenant, row, str(error)) from error

    async def _ensure_fingerprint(self, tenant: TenantId, opened: OpenedKeys) -> None:
        if FINGERPRINT not in opened.rows:
            if opened.contents:
                raise _unavailable(
                    f"The fingerprint key of {tenant} is missing, although content keys exist.",
                    "Restore its row in the table `tenants`. A new key would not recognise retries of messages.",
                )
            opened.rows[FINGERPRINT] = await self.make(tenant, FINGERPRINT)
        await self._ensure_unwrapped(tenant, opened, FINGERPRINT)

    async def _ensure_content(self, tenant: TenantId, opened: OpenedKeys) -> None:
        if not opened.contents:
            opened.rows[FIRST_CONTENT] = await self.make(tenant, FIRST_CONTENT)
        elif is_due(opened.rows[opened.contents[-1]], self._clock.now_ms(), self._rotate_after_s):
            await self._replace(tenant, opened)
        await self._ensure_unwrapped(tenant, opened, opened.contents[-1])

    async def _replace(self, tenant: TenantId, opened: OpenedKeys) -> None:
        """Create the next content key. If the KMS is unavailable, the old key stays in use, so messages can be sent."""
        name = _next(opened)
        try:
            opened.rows[name] = await self.make(tenant, name)
        except TidingsError as error:
            _log.warning("key %s of %s is due and could not be created: %s", name, tenant, error)

    async def make(self, tenant: TenantId, name: KeyName) -> WrappedKey:
        """Create a key. Race: two processes create the same version. The first one is stored, and both use it."""
        generated = await self._kms.generate(wrap_context(tenant, name))
        made = WrappedKey(name, generated.wrapped, generated.wrapped_by, self._clock.now_ms())
        return await self._store.add(tenant, made)

    async def _ensure_unwrapped(self, tenant: TenantId, opened: OpenedKeys, name: KeyName) -> None:
        if name in opened.secrets:
            return
        row = opened.rows[name]
        try:
            opened.secrets[name] = await self.unwrap(tenant, row)
        except UnwrapError as error:
            raise self.unusable(tenant, row, str(error)) from error

    @staticmethod
    def unusable(
        tenant: TenantId, row: WrappedKey, why: str = "it was altered, or wrapped for another tenant"
    ) -> TidingsError:
        return _unavailable(
            f"The key {row.name} of {tenant} cannot be unwrapped: {why}.",
            f"It was wrapped by {row.wrapped_by}. Check [encryption] in the settings. If they are correct, the row "
            "was changed and must be restored.",
        )


def _next(opened: OpenedKeys) -> KeyName:
    contents = opened.contents
    return KeyName(KeyKind.CONTENT, contents[-1].version + 1) if contents else FIRST_CONTENT


def _unavailable(message: str, hint: str) -> TidingsError:
    return TidingsError(Code.KEYS_UNAVAILABLE, message, hint=hint)


RETRY_S = 15.0
"""How long cached keys stay in use after a failed refresh, before the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPolicy:
    """`refresh_s` is the time within which a process uses a key that another process created."""

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
    """Cache of the tenants' unwrapped keys. Use it from one event loop."""

    def __init__(self, store: KeyStore, kms: Kms, clock: Clock, policy: KeyPolicy) -> None:
        self._factory = KeyFactory(store, kms, clock, policy.rotate_after_s)
        self._clock = clock
        self._policy = policy
        self._cache: OrderedDict[TenantId, _CachedKeys] = OrderedDict()
        self._loads: SingleFlight[TenantId, _CachedKeys] = SingleFlight()
        self._unwraps: SingleFlight[tuple[TenantId, WrappedKey], bytes | None] = SingleFlight()

    async def of(self, tenant: TenantId, /) -> ContentKeys:
        """Return keys to seal with. Create them for a tenant that has none. Raise `keys_unavailable`."""
        return (await self._fresh(tenant)).keys

    async def certificate_seed(self) -> bytes:
        """Return the seed of the key that signs the installation's certificates. Raise `keys_unavailable`."""
        return await self._factory.unrotated(INSTALLATION, KeyName(KeyKind.CERTIFICATE, 1))

    async def mac(self, tenant: TenantId, /) -> Callable[[bytes], bytes]:
        """Return the tenant's keyed hash function. Create the tenant's keys if it has none."""
        return (await self.of(tenant)).fingerprint

    async def to_read(self, tenant: TenantId, contents: Collection[bytes], /) -> ContentKeys:
        """Return keys to open these contents with. An unknown version causes one more read of the table."""
        cached = await self._fresh(tenant)
        if versions := cached.keys.lacks(contents):
            missing = {KeyName(KeyKind.CONTENT, version) for version in versions}
            cached = await self._find_keys(tenant, cached, missing)
            await self._unwrap_older(tenant, cached, missing)
        return cached.keys

    async def rotate(self, tenant: TenantId) -> int:
        """Create a content key and return its version. Stored content is not touched.

        This process uses it at once, others within `refresh_s`. Concurrent calls create one key.
        """
        await self._fresh(tenant)
        name = await self._factory.make_next(tenant)
        if cached := self._cache.get(tenant):
            await self._find_keys(tenant, cached, {name})
        return name.version

    async def _fresh(self, tenant: TenantId) -> _CachedKeys:
        cached = self._cache.get(tenant)
        if cached is not None and self._clock.monotonic() < cached.fresh_until:
            self._cache.move_to_end(tenant)
            return cached
        try:
            return await self._refresh(tenant)
        except TidingsError:
            if cached is None:
                raise
            # Continue with the cached keys, so that sending depends neither on this table nor on the KMS.
            cached.fresh_until = self._clock.monotonic() + RETRY_S
            return cached

    async def _find_keys(self, tenant: TenantId, cached: _CachedKeys, names: set[KeyName]) -> _CachedKeys:
        """Load keys that another process created.

        Race: a load in flight may have read the table before the key was written. If a key is still missing after
        that load, a second load starts later than the write and finds it.
        """
        if not names <= cached.opened.rows.keys() and tenant in self._loads:
            cached = await self._refresh(tenant)
        if not names <= cached.opened.rows.keys():
            cached = await self._refresh(tenant)
        return cached

    async def _unwrap_older(self, tenant: TenantId, cached: _CachedKeys, names: set[KeyName]) -> None:
        """Unwrap older keys, when content that they sealed is first read."""
        for name in names & cached.opened.rows.keys():
            if name in cached.opened.secrets or name.version not in cached.keys.versions:
                continue
            row = cached.opened.rows[name]
            secret = await self._unwraps.run((tenant, row), partial(self._unwrap_or_none, tenant, row))
            if secret is None:
                cached.keys.versions.discard(name.version)
            else:
                cached.opened.secrets[name] = secret
                cached.keys.add(name.version, secret)

    async def _unwrap_or_none(self, tenant: TenantId, row: WrappedKey) -> bytes | None:
        """Unwrap a key, or log the failure: it makes only the content unreadable that this key sealed."""
        try:
            return await self._factory.unwrap(tenant, row)
        except UnwrapError as error:
            _log.warning("content sealed with key %s of %s cannot be read: %s", row.name, tenant, error)
            return None

    async def _refresh(self, tenant: TenantId) -> _CachedKeys:
        return await self._loads.run(tenant, partial(self._load, tenant))

    async def _load(self, tenant: TenantId) -> _CachedKeys:
        started_at = self._clock.monotonic()
        cached = self._cache.get(tenant)
        try:
            opened = await self._factory.open(tenant, cached.opened if cached else OpenedKeys({}, {}))
        except TidingsError as error:
            _log.warning("the keys of %s could not be loaded: %s", tenant, error)
            raise
        cached = _CachedKeys(opened, self._keys(tenant, opened), started_at + self._policy.refresh_s)
        self._cache[tenant] = cached
        self._cache.move_to_end(tenant)
        if len(self._cache) > self._policy.max_cached_tenants:
            self._cache.popitem(last=False)
        return cached

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


@dataclass(slots=True)
class RewrapResult:
    """Numbers of keys. `failed` lists the keys that were not rewrapped, with tenant and reason."""

    rewrapped: int = 0
    present: int = 0
    """Keys that the current master key had already wrapped."""
    failed: list[str] = field(default_factory=list)


class KeyRewrapper:
    """Wraps data keys with the current master key, so that a former one can be removed.

    The data keys do not change: sealed content stays readable. Each row is replaced on condition that it is unchanged
    since it was read, so the work can be interrupted, repeated, and done by two operators at once.
    """

    def __init__(self, store: KeyStore, kms: Kms) -> None:
        self._store = store
        self._kms = kms

    async def rewrap(self, tenants: Iterable[TenantId]) -> RewrapResult:
        """Rewrap all keys of the tenants. Raise `keys_unavailable`; a repeat continues.

        A key that cannot be unwrapped is reported in the result and does not stop the others.
        """
        result = RewrapResult()
        for tenant in tenants:
            for row in await self._store.list(tenant):
                try:
                    is_rewrapped = await self._rewrap_key(tenant, row)
                except UnwrapError as error:
                    result.failed.append(f"{tenant} {row.name}: {error}")
                else:
                    result.rewrapped += is_rewrapped
                    result.present += not is_rewrapped
        return result

    async def _rewrap_key(self, tenant: TenantId, row: WrappedKey) -> bool:
        """Return whether this call rewrapped the key. False: an earlier call or another operator did."""
        context = wrap_context(tenant, row.name)
        rewrapped = await self._kms.rewrap(row.wrapped, context)
        if rewrapped is None:
            return False
        # The old form is overwritten below. If the new one were another key, sealed content would be lost.
        if await self._kms.unwrap(rewrapped.wrapped, context) != await self._kms.unwrap(row.wrapped, context):
            raise UnwrapError("the KMS returned another key than it was given")
        new = replace(row, wrapped=rewrapped.wrapped, wrapped_by=rewrapped.wrapped_by)
        return await self._store.replace(tenant, row, new)

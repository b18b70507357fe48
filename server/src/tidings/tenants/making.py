"""Opens a tenant's data keys as they stand, and makes what is missing or due. Remembers nothing."""

import logging
from dataclasses import dataclass, field

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.tenants.model import FINGERPRINT, FIRST_CONTENT, KEY_BYTES, KeyKind, KeyName, WrappedKey
from tidings.tenants.ports import KeyStore, Kms, UnwrapError
from tidings.tenants.rules import is_due, wrap_context

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

"""Content keys of users: create, unwrap, cache, rotate and destroy them.

A user's keys are random, wrapped by the tenant's content key. After a rotation of the tenant's key, a user gets a new
key with their next message. Destroying them makes everything that the user wrote
unreadable, in every copy: docs/adr/0021-content-keys-of-users.md.
"""

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.schema.tables.limits import MAX_USER_KEYS
from tidings.tenants.key_ring import KeyRing
from tidings.tenants.model import KEY_BYTES, UserKeyRow, UserKeyStore
from tidings.tenants.sealing import ContentKeys, DecryptionError, UserKeys, version_of

_log = logging.getLogger(__name__)

NEVER_WRITTEN = UserKeyRow(wrapped=())


@dataclass(frozen=True, slots=True, kw_only=True)
class UserKeyPolicy:
    """`keep_s`: how long a process uses cached keys, also after the user's keys were destroyed."""

    is_encrypting: bool = True
    keep_s: float = 3600.0
    max_cached_users: int = 50_000


@dataclass(frozen=True, slots=True)
class _CachedKeys:
    """`keys` is None for a user whose keys were destroyed, or who has none.

    `is_due`: the newest key was created before the tenant's newest one, so the user's next message needs a new key.
    """

    keys: UserKeys | None
    row: UserKeyRow
    read_at: float
    is_due: bool


class AuthorKeys:
    """Keys to open what several users of a tenant wrote."""

    __slots__ = ("_users",)

    def __init__(self, users: Mapping[UserId, UserKeys | None]) -> None:
        self._users = users

    def unseal(self, chat: ChatKey, sequence: int, author: UserId, content: bytes, /) -> bytes | None:
        """Open content. None: the author's keys were destroyed. Raise `decryption_failed` if it was altered."""
        keys = self._users.get(author)
        return None if keys is None else keys.unseal(chat, sequence, content)

    def unseal_preview(self, chat: ChatKey, sequence: int, author: UserId, preview: bytes, /) -> bytes | None:
        keys = self._users.get(author)
        return None if keys is None else keys.unseal_preview(chat, sequence, preview)

    def seal_preview(self, chat: ChatKey, sequence: int, author: UserId, preview: bytes, /) -> bytes | None:
        keys = self._users.get(author)
        return None if keys is None else keys.seal_preview(chat, sequence, preview)


class UserKeyRing:
    """Cache of users' unwrapped keys. Use it from one event loop."""

    def __init__(self, store: UserKeyStore, tenants: KeyRing, clock: Clock, policy: UserKeyPolicy) -> None:
        self._store = store
        self.tenants = tenants
        self._clock = clock
        self._policy = policy
        self._cache: OrderedDict[tuple[TenantId, UserId], _CachedKeys] = OrderedDict()
        self._loads: dict[tuple[TenantId, UserId], asyncio.Task[dict[UserId, _CachedKeys]]] = {}
        self._creations: SingleFlight[tuple[TenantId, UserId], UserKeys] = SingleFlight()

    async def of(self, tenant: TenantId, user: UserId, /) -> UserKeys:
        """Return the user's keys to seal with. Create them for a user without keys, and rotate them when due.

        Raises `user_erased` for a user whose keys were destroyed, and `keys_unavailable`.
        """
        cached = self._fresh(tenant, user)
        if cached is None or cached.keys is None or cached.is_due:
            return await self._creations.run((tenant, user), lambda: self._ensure(tenant, user))
        return cached.keys

    async def to_read(self, tenant: TenantId, contents: Collection[tuple[UserId, bytes]], /) -> AuthorKeys:
        """Return keys to open these contents, each with its author. Reads the keys that are not cached in one batch."""
        return AuthorKeys(await self._to_open(tenant, contents))

    async def fields_of(
        self, tenant: TenantId, fields: Collection[tuple[UserId, bytes]], /
    ) -> Mapping[UserId, UserKeys | None]:
        """Return keys to open these fields of profiles, each with its user. None: they were destroyed."""
        return await self._to_open(tenant, fields)

    async def destroy(self, tenant: TenantId, user: UserId) -> None:
        """Destroy the user's keys permanently. Other processes use cached keys for at most `keep_s`."""
        await self._store.destroy(tenant, user, self._clock.now_ms())
        self._cache.pop((tenant, user), None)

    async def rotate(self, tenant: TenantId, user: UserId) -> int:
        """Create the next key of a user and return its version. Stored content is not touched."""
        row = (await self._load(tenant, {user}, is_strong=True))[user].row
        return len((await self._add(tenant, user, row)).row.wrapped)

    async def _to_open(
        self, tenant: TenantId, contents: Collection[tuple[UserId, bytes]]
    ) -> Mapping[UserId, UserKeys | None]:
        """Return the keys of the users who sealed these contents.

        A user without a key for a content is read again, strongly consistent: another process may have created the
        key just now. Without this, new content would appear as erased.
        """
        found = await self._load(tenant, {user for user, _ in contents})
        unsure = {user for user, content in contents if _is_unsure(found[user], content)}
        if unsure:
            found |= await self._load(tenant, unsure, is_strong=True)
        return {user: cached.keys for user, cached in found.items()}

    def _fresh(self, tenant: TenantId, user: UserId) -> _CachedKeys | None:
        cached = self._cache.get((tenant, user))
        if cached is None or self._clock.monotonic() - cached.read_at >= self._policy.keep_s:
            return None
        self._cache.move_to_end((tenant, user))
        return cached

    async def _ensure(self, tenant: TenantId, user: UserId) -> UserKeys:
        """Create or rotate the user's keys, and return them."""
        cached = (await self._load(tenant, {user}))[user]
        if not cached.row.wrapped and not cached.row.is_destroyed:
            # An eventually consistent read may miss a key that another process has just created.
            cached = (await self._load(tenant, {user}, is_strong=True))[user]
        if not cached.row.is_destroyed and (not cached.row.wrapped or cached.is_due):
            cached = await self._add(tenant, user, cached.row)
        if cached.row.is_destroyed:
            raise TidingsError(
                Code.USER_ERASED,
                f"User {user} was erased.",
                hint="The id cannot be used again. Use another one.",
            )
        if cached.keys is None:
            raise TidingsError(
                Code.KEYS_UNAVAILABLE,
                f"The keys of user {user} cannot be unwrapped.",
                hint="Restore the user's row in the table `user_keys`. It was altered, or belongs to another user.",
            )
        return cached.keys

    async def _add(self, tenant: TenantId, user: UserId, row: UserKeyRow) -> _CachedKeys:
        """Add the next version. Race: two processes add the same version. The first one is stored, and both use it."""
        version = len(row.wrapped) + 1
        wrapped = (await self.tenants.of(tenant)).wrap(user, version, os.urandom(KEY_BYTES))
        started_at = self._clock.monotonic()
        stored = await self._store.add(tenant, user, row, wrapped)
        return await self._keep(tenant, user, stored, started_at)

    async def _load(
        self, tenant: TenantId, users: Iterable[UserId], *, is_strong: bool = False
    ) -> dict[UserId, _CachedKeys]:
        """Return the cached keys, and read all others in one batch. Each key is read once at a time."""
        found: dict[UserId, _CachedKeys] = {}
        loads: dict[UserId, asyncio.Task[dict[UserId, _CachedKeys]]] = {}
        missing: list[UserId] = []
        for user in users:
            if not is_strong and (cached := self._fresh(tenant, user)) is not None:
                found[user] = cached
            elif not is_strong and (load := self._loads.get((tenant, user))) is not None:
                loads[user] = load
            else:
                missing.append(user)
        if missing:
            batch = self._start(tenant, missing, is_strong=is_strong)
            loads.update(dict.fromkeys(missing, batch))
        for user, load in loads.items():
            # A cancelled call does not cancel the read: others may wait for it.
            found[user] = (await asyncio.shield(load))[user]
        return found

    def _start(
        self, tenant: TenantId, users: Collection[UserId], *, is_strong: bool
    ) -> asyncio.Task[dict[UserId, _CachedKeys]]:
        batch = asyncio.create_task(self._read(tenant, users, is_strong=is_strong))
        for user in users:
            self._loads[tenant, user] = batch
        batch.add_done_callback(lambda done: self._end(tenant, users, done))
        return batch

    def _end(
        self, tenant: TenantId, users: Iterable[UserId], batch: asyncio.Task[dict[UserId, _CachedKeys]]
    ) -> None:
        for user in users:
            if self._loads.get((tenant, user)) is batch:
                del self._loads[tenant, user]
        if not batch.cancelled():
            # Every caller may have been cancelled. Reading the exception keeps asyncio from logging it as lost.
            batch.exception()

    async def _read(
        self, tenant: TenantId, users: Collection[UserId], *, is_strong: bool
    ) -> dict[UserId, _CachedKeys]:
        started_at = self._clock.monotonic()
        rows = await self._store.read(tenant, users, is_strong=is_strong)
        return {
            user: await self._keep(tenant, user, rows.get(user, NEVER_WRITTEN), started_at) for user in users
        }

    def _opened(
        self, tenant: TenantId, user: UserId, row: UserKeyRow, wrapping: ContentKeys
    ) -> UserKeys | None:
        """Unwrap all versions. None if one was altered."""
        try:
            keys = {
                version: wrapping.unwrap(user, version, key) for version, key in enumerate(row.wrapped, 1)
            }
        except DecryptionError:
            _log.warning("the keys of user %s of %s cannot be unwrapped", user, tenant)
            return None
        return UserKeys(tenant, user, keys, is_encrypting=self._policy.is_encrypting)

    async def _keep(self, tenant: TenantId, user: UserId, row: UserKeyRow, read_at: float) -> _CachedKeys:
        cached = _CachedKeys(None, row, read_at, is_due=False)
        if row.wrapped:
            wrapping = await self.tenants.to_read(tenant, row.wrapped)
            is_older = version_of(row.wrapped[-1]) < wrapping.active_version
            is_due = is_older and len(row.wrapped) < MAX_USER_KEYS
            cached = _CachedKeys(self._opened(tenant, user, row, wrapping), row, read_at, is_due=is_due)
        self._cache[tenant, user] = cached
        self._cache.move_to_end((tenant, user))
        if len(self._cache) > self._policy.max_cached_users:
            self._cache.popitem(last=False)
        return cached


def _is_unsure(cached: _CachedKeys, content: bytes) -> bool:
    """Return whether a content needs a key that the cached row does not have, although it was not destroyed."""
    if cached.row.is_destroyed:
        return False
    return cached.keys is None or not cached.keys.has(content)

"""Read and change the inboxes of a tenant.

The process that made a change uses it at once, processes that receive the invalidation shortly after, and all
processes within `CACHE_POLICY.fresh_s`.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from tidings.inboxes.config import Inbox, InboxDefaults, InboxSpec, apply_spec, check_inbox_id
from tidings.inboxes.model import ConfigPage, InboxId
from tidings.inboxes.ports import InboxStore
from tidings.kernel.action_notes import note_change
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId

CACHE_POLICY = CachePolicy(fresh_s=5.0, outage_s=600.0)
_PAGE_ITEMS: Final = 100

type EditInbox = Callable[[Inbox | None], InboxSpec]
type EditDefaults = Callable[[InboxDefaults], InboxDefaults]
type OnConfigChange = Callable[[TenantId, InboxId], Awaitable[None]]
"""Makes other processes read this inbox again. Never raises; a call can be lost."""


class ReadPage[T](Protocol):
    """Read a page of a tenant's inboxes or segments."""

    def __call__(
        self, tenant: TenantId, limit: int, after: str | None = None
    ) -> Awaitable[ConfigPage[T]]: ...


async def read_all_pages[T](read: ReadPage[T], tenant: TenantId) -> list[T]:
    page = await read(tenant, _PAGE_ITEMS)
    found = list(page.items)
    while page.last is not None:
        page = await read(tenant, _PAGE_ITEMS, page.last)
        found += page.items
    return found


class InboxConfigCache:
    """Serves inboxes to the request path. Belongs to one event loop."""

    def __init__(self, store: InboxStore, clock: Clock, policy: CachePolicy = CACHE_POLICY) -> None:
        self._cache: Cache[tuple[TenantId, InboxId], Inbox] = Cache(
            lambda key: store.read(*key), clock, policy
        )

    async def of(self, tenant: TenantId, inbox: str, /) -> Inbox:
        """Return an inbox. Raises `inbox_not_found`."""
        found = await self._cache.get((tenant, check_inbox_id(inbox)))
        if found is None:
            raise inbox_not_found(inbox)
        return found

    def evict(self, tenant: TenantId, inbox: InboxId) -> None:
        self._cache.evict((tenant, inbox))


class InboxConfigService:
    """Reads from the store, not from the cache."""

    def __init__(
        self,
        store: InboxStore,
        clock: Clock,
        cache: InboxConfigCache | None = None,
        on_change: OnConfigChange | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._cache = cache
        self._on_change = on_change

    async def read(self, tenant: TenantId, inbox: str) -> Inbox:
        found = await self._store.read(tenant, check_inbox_id(inbox))
        if found is None:
            raise inbox_not_found(inbox)
        return found

    async def listed(self, tenant: TenantId, limit: int, after: str | None = None) -> ConfigPage[Inbox]:
        """Return a page of the inboxes by id."""
        return await self._store.listed(tenant, limit, None if after is None else InboxId(after))

    async def set(self, tenant: TenantId, inbox: str, edit: EditInbox) -> Inbox:
        """Create or change an inbox. No concurrent change is lost: `edit` runs again on a conflict.

        `edit` receives the stored inbox, or None. An error that it raises aborts the change.
        """
        name = check_inbox_id(inbox)

        async def step() -> Inbox:
            before = await self._store.read(tenant, name)
            after = apply_spec(name, before, edit(before), self._clock.now_ms())
            if not await self._store.write(tenant, after):
                raise TidingsError(Code.WRITE_CONFLICT, "Another request changed the inbox. Try again.")
            note_change(before, after)
            return after

        after = await retry_on_conflict(step)
        if self._cache is not None:
            self._cache.evict(tenant, name)
        if self._on_change is not None:
            await self._on_change(tenant, name)
        return after


def inbox_not_found(inbox: str) -> TidingsError:
    return TidingsError(
        Code.INBOX_NOT_FOUND,
        f"Inbox `{inbox}` does not exist.",
        hint="Create it with `tidings inbox set`.",
    )


class InboxDefaultsService:
    def __init__(self, store: InboxStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def read(self, tenant: TenantId) -> InboxDefaults:
        return await self._store.read_defaults(tenant) or InboxDefaults()

    async def set(self, tenant: TenantId, edit: EditDefaults) -> InboxDefaults:
        """Change the defaults of a tenant. They apply to inboxes that are created afterwards.

        No concurrent change is lost: `edit` runs again on a conflict.
        """

        async def step() -> InboxDefaults:
            before, now_ms = await self.read(tenant), self._clock.now_ms()
            after = replace(
                _checked(edit(before)),
                version=before.version + 1,
                created_ms=before.created_ms or now_ms,
                updated_ms=now_ms,
            )
            if not await self._store.write_defaults(tenant, after):
                raise TidingsError(Code.WRITE_CONFLICT, "Another request changed the defaults. Try again.")
            note_change(before, after)
            return after

        return await retry_on_conflict(step)


def _checked(defaults: InboxDefaults) -> InboxDefaults:
    try:
        return msgspec.convert(msgspec.to_builtins(defaults), InboxDefaults)
    except msgspec.ValidationError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"Invalid inbox defaults: {error}") from error

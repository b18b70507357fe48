"""A tenant's inboxes: read through a cache by everything that serves, changed by who holds the tenant's keys.

A change is seen at once by the process that made it, a moment later by those that hear of it, and everywhere within
`CACHE_POLICY.fresh_s`.
"""

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from tidings.inboxes.config import Inbox, InboxDefaults, InboxSpec, apply_spec, check_inbox_id
from tidings.inboxes.model import InboxId
from tidings.inboxes.ports import ConfigInvalidation, DefaultsStore, InboxStore, NoConfigInvalidation
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId

CACHE_POLICY = CachePolicy(fresh_s=5.0, outage_s=600.0)

type EditInbox = Callable[[Inbox | None], InboxSpec]


class InboxConfigCache:
    """Belongs to the event loop that it is used in."""

    def __init__(self, store: InboxStore, clock: Clock, policy: CachePolicy = CACHE_POLICY) -> None:
        self._cache: Cache[tuple[TenantId, InboxId], Inbox] = Cache(
            lambda key: store.read(*key), clock, policy
        )

    async def of(self, tenant: TenantId, inbox: str, /) -> Inbox:
        found = await self._cache.get((tenant, check_inbox_id(inbox)))
        if found is None:
            raise inbox_not_found(inbox)
        return found

    async def retention_days(self, tenant: TenantId, inbox: InboxId, /) -> int | None:
        return (await self.of(tenant, inbox)).retention_days

    def evict(self, tenant: TenantId, inbox: InboxId) -> None:
        self._cache.evict((tenant, inbox))


class InboxConfigService:
    """Reads what stands, not what is kept."""

    def __init__(
        self,
        store: InboxStore,
        clock: Clock,
        reader: InboxConfigCache | None = None,
        invalidation: ConfigInvalidation | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._reader = reader
        self._invalidation = invalidation or NoConfigInvalidation()

    async def read(self, tenant: TenantId, inbox: str) -> Inbox:
        found = await self._store.read(tenant, check_inbox_id(inbox))
        if found is None:
            raise inbox_not_found(inbox)
        return found

    async def listed(self, tenant: TenantId) -> Sequence[Inbox]:
        return await self._store.listed(tenant)

    async def set(self, tenant: TenantId, inbox: str, edit: EditInbox) -> Inbox:
        """Made, or changed on what is there; no change is lost. `edit` may refuse."""
        name = check_inbox_id(inbox)

        async def step() -> Inbox:
            before = await self._store.read(tenant, name)
            after = apply_spec(name, before, edit(before), self._clock.now_ms())
            if not await self._store.write(tenant, after):
                raise TidingsError(Code.WRITE_CONFLICT, "Somebody else changed the inbox just now.")
            return after

        after = await retry_on_conflict(step)
        if self._reader is not None:
            self._reader.evict(tenant, name)
        await self._invalidation.changed(tenant, name)
        return after


def inbox_not_found(inbox: str) -> TidingsError:
    return TidingsError(
        Code.INBOX_NOT_FOUND, f"There is no inbox {inbox}.", hint="`tidings inbox set` makes one."
    )


type EditDefaults = Callable[[InboxDefaults], InboxDefaults]


class InboxDefaultsService:
    def __init__(self, store: DefaultsStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def read(self, tenant: TenantId) -> InboxDefaults:
        return await self._store.read(tenant) or InboxDefaults()

    async def set(self, tenant: TenantId, edit: EditDefaults) -> InboxDefaults:
        """On what is there; no change is lost. Holds from the answer on, for inboxes that are set after it."""

        async def step() -> InboxDefaults:
            before, now_ms = await self.read(tenant), self._clock.now_ms()
            after = replace(
                _checked(edit(before)),
                version=before.version + 1,
                created_ms=before.created_ms or now_ms,
                updated_ms=now_ms,
            )
            if not await self._store.write(tenant, after):
                raise TidingsError(Code.WRITE_CONFLICT, "Somebody else changed the defaults just now.")
            return after

        return await retry_on_conflict(step)


def _checked(wanted: InboxDefaults) -> InboxDefaults:
    try:
        return msgspec.convert(msgspec.to_builtins(wanted), InboxDefaults)
    except msgspec.ValidationError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"The defaults have a fault: {error}") from error

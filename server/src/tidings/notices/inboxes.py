"""A tenant's inboxes: read through a cache by everything that serves, changed by who holds the tenant's keys.

A change is seen at once by the process that made it, a moment later by those that hear of it, and everywhere within
`KEEP.fresh_s`.
"""

from collections.abc import Callable, Sequence

from tidings.kernel.caching import Cache, Keep
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.tries import on_what_is_there
from tidings.notices.config import Inbox, Wanted, check_inbox_id, made
from tidings.notices.model import InboxId
from tidings.notices.ports import ConfigNews, InboxStore, NoConfigNews

KEEP = Keep(fresh_s=5.0, outage_s=600.0)

type Wish = Callable[[Inbox | None], Wanted]


class InboxReader:
    """Belongs to the event loop that it is used in."""

    def __init__(self, store: InboxStore, clock: Clock, keep: Keep = KEEP) -> None:
        self._cache: Cache[tuple[TenantId, InboxId], Inbox] = Cache(lambda key: store.read(*key), clock, keep)

    async def of(self, tenant: TenantId, inbox: str, /) -> Inbox:
        found = await self._cache.get((tenant, check_inbox_id(inbox)))
        if found is None:
            raise unknown(inbox)
        return found

    async def retention_days(self, tenant: TenantId, inbox: InboxId, /) -> int | None:
        return (await self.of(tenant, inbox)).retention_days

    def forget(self, tenant: TenantId, inbox: InboxId) -> None:
        self._cache.forget((tenant, inbox))


class Inboxes:
    """Reads what stands, not what is kept."""

    def __init__(
        self,
        store: InboxStore,
        clock: Clock,
        reader: InboxReader | None = None,
        news: ConfigNews | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._reader = reader
        self._news = news or NoConfigNews()

    async def read(self, tenant: TenantId, inbox: str) -> Inbox:
        found = await self._store.read(tenant, check_inbox_id(inbox))
        if found is None:
            raise unknown(inbox)
        return found

    async def listed(self, tenant: TenantId) -> Sequence[Inbox]:
        return await self._store.listed(tenant)

    async def set(self, tenant: TenantId, inbox: str, wish: Wish) -> Inbox:
        """Made, or changed on what is there; no change is lost. `wish` may refuse."""
        name = check_inbox_id(inbox)

        async def step() -> Inbox:
            before = await self._store.read(tenant, name)
            after = made(name, before, wish(before), self._clock.now_ms())
            if not await self._store.write(tenant, after):
                raise TidingsError(Code.CHANGED_MEANWHILE, "Somebody else changed the inbox just now.")
            return after

        after = await on_what_is_there(step)
        if self._reader is not None:
            self._reader.forget(tenant, name)
        await self._news.changed(tenant, name)
        return after


def unknown(inbox: str) -> TidingsError:
    return TidingsError(
        Code.INBOX_NOT_FOUND, f"There is no inbox {inbox}.", hint="`tidings inbox set` makes one."
    )

"""What a tenant's new inboxes get if nothing else is said. Not kept in memory: inboxes are set by hand, a few times a day."""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.tries import on_what_is_there
from tidings.notices.config import Defaults
from tidings.notices.ports import DefaultsStore

type Wish = Callable[[Defaults], Defaults]


class InboxDefaults:
    def __init__(self, store: DefaultsStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def read(self, tenant: TenantId) -> Defaults:
        return await self._store.read(tenant) or Defaults()

    async def set(self, tenant: TenantId, wish: Wish) -> Defaults:
        """On what is there; no change is lost. Holds from the answer on, for inboxes that are set after it."""

        async def step() -> Defaults:
            before, now_ms = await self.read(tenant), self._clock.now_ms()
            after = replace(
                _checked(wish(before)),
                version=before.version + 1,
                created_ms=before.created_ms or now_ms,
                updated_ms=now_ms,
            )
            if not await self._store.write(tenant, after):
                raise TidingsError(Code.CHANGED_MEANWHILE, "Somebody else changed the defaults just now.")
            return after

        return await on_what_is_there(step)


def _checked(wanted: Defaults) -> Defaults:
    try:
        return msgspec.convert(msgspec.to_builtins(wanted), Defaults)
    except msgspec.ValidationError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"The defaults have a fault: {error}") from error

"""What a tenant's new inboxes get if nothing else is said. Not kept in memory: inboxes are set by hand, a few times a day."""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.tries import retry_on_conflict
from tidings.notices.config import InboxDefaults
from tidings.notices.ports import DefaultsStore

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

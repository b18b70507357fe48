"""Profiles: what a tenant tells of its users, for segments and for when somebody came."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidings.broadcasts.model import Profile
from tidings.broadcasts.ports import ProfileStore
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId

MAX_BYTES = 4 * 1024
MAX_ATTRIBUTES = 64


class ProfileService:
    def __init__(self, store: ProfileStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def read(self, tenant: TenantId, user: UserId) -> Profile:
        found = await self._store.read(tenant, user)
        if found is None:
            raise TidingsError(Code.USER_NOT_FOUND, f"There is no profile of {user}.")
        return found

    async def set(
        self, tenant: TenantId, user: UserId, attributes: Mapping[str, Any], created_ms: int | None = None
    ) -> Profile:
        """All attributes anew. `created_ms`, now if not given, is kept from the first time."""
        if len(attributes) > MAX_ATTRIBUTES or len(msgspec.json.encode(attributes)) > MAX_BYTES:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"A profile has at most {MAX_ATTRIBUTES} attributes and {MAX_BYTES} bytes.",
            )
        await self._store.set(tenant, user, attributes, created_ms, self._clock.now_ms())
        return await self.read(tenant, user)

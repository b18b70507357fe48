"""A user's preferences for push notifications."""

from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId, UserId
from tidings.push.model import PushPreferences
from tidings.push.ports import AlertStore
from tidings.push.rules import check_preferences


class PushPreferencesService:
    def __init__(self, store: AlertStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def read(self, tenant: TenantId, user: UserId) -> PushPreferences:
        return await self._store.preferences(tenant, user)

    async def set(self, tenant: TenantId, user: UserId, preferences: PushPreferences) -> None:
        """Replace the preferences. Raise `request_invalid` for an unknown time zone."""
        checked = check_preferences(preferences)
        await self._store.put_preferences(tenant, user, checked, self._clock.now_ms())

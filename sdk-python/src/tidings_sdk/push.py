"""Push notifications of the client's device and user."""

from typing import Literal, Protocol, final

from tidings_wire.frames.push import (
    ApnsToken,
    Badge,
    GetBadge,
    GetPushPreferences,
    GetWebPushKey,
    PushPreferences,
    QuietHours,
    RegisterPush,
    SetPushPreferences,
    UnregisterPush,
    WebPushKey,
    WebPushSubscription,
)
from tidings_wire.frames.structs import Body


class PushBackend(Protocol):
    async def request(self, body: Body, /) -> Body: ...


@final
class PushNotifications:
    """Registers the device, and reads the user's preferences and badge. Methods raise `TidingsError`."""

    def __init__(self, backend: PushBackend) -> None:
        self._backend = backend

    async def register(
        self,
        *,
        apns: ApnsToken | None = None,
        fcm: str | None = None,
        web_push: WebPushSubscription | None = None,
        http: str | None = None,
        locale: str = "",
        data_only: bool = False,
    ) -> None:
        """Register the device with exactly one token or subscription, replacing its former one. Idempotent.

        Call it at each start of the app, because tokens change. A token that another user registered is taken over.
        `locale`: the language of notifications. `data_only`: notifications have ids and the badge, but no text.
        """
        await self._backend.request(
            RegisterPush(apns=apns, fcm=fcm, web_push=web_push, http=http, locale=locale, data_only=data_only)
        )

    async def unregister(self) -> None:
        """Stop push notifications of the device, before the user signs out. Idempotent."""
        await self._backend.request(UnregisterPush())

    async def preferences(self) -> PushPreferences:
        found = await self._backend.request(GetPushPreferences())
        assert isinstance(found, PushPreferences)  # noqa: S101 - the answer to `push_preferences`
        return found

    async def set_preferences(
        self,
        *,
        notify: Literal["all", "mentions", "none"] = "all",
        time_zone: str = "UTC",
        quiet_hours: QuietHours | None = None,
    ) -> None:
        """Replace the user's preferences. `time_zone`: a name of the IANA database, such as `Europe/Berlin`."""
        await self._backend.request(
            SetPushPreferences(notify=notify, time_zone=time_zone, quiet_hours=quiet_hours)
        )

    async def badge(self) -> Badge:
        """Read the number for the app's icon. Push notifications contain the same number."""
        found = await self._backend.request(GetBadge())
        assert isinstance(found, Badge)  # noqa: S101 - the answer to `badge`
        return found

    async def web_push_key(self) -> str:
        """Read the public key that browsers subscribe with."""
        found = await self._backend.request(GetWebPushKey())
        assert isinstance(found, WebPushKey)  # noqa: S101 - the answer to `web_push_key`
        return found.public_key

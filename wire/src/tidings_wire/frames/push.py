"""Push notifications: the registration of the connected device, the user's preferences, and the badge."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from tidings_wire.frames.structs import RequestBody, ResponseBody

_END: Final = r"(?!\n)"
ProviderToken = Annotated[str, Meta(min_length=1, max_length=2048, pattern=r"^[!-~]+$" + _END)]
Locale = Annotated[str, Meta(max_length=35, pattern=r"^([A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*)?$" + _END)]
DayTime = Annotated[str, Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$" + _END)]
NotifyMode = Literal["all", "mentions", "none"]


class ApnsToken(RequestBody, frozen=True, kw_only=True):
    """A device token of Apple's push service, in hexadecimal. `topic`: the bundle id of the app."""

    token: Annotated[str, Meta(min_length=64, max_length=200, pattern=r"^[0-9a-fA-F]+$" + _END)]
    topic: Annotated[str, Meta(min_length=1, max_length=155, pattern=r"^[A-Za-z0-9.-]+$" + _END)]
    environment: Literal["production", "sandbox"] = "production"


class WebPushSubscription(RequestBody, frozen=True, kw_only=True):
    """A subscription of a browser. `server_key`: the key that it subscribed with; by default the newest."""

    endpoint: Annotated[str, Meta(min_length=9, max_length=2048, pattern=r"^https?://[!-~]+$" + _END)]
    p256dh: Annotated[str, Meta(min_length=87, max_length=88, pattern=r"^[A-Za-z0-9_-]+=?$" + _END)]
    auth: Annotated[str, Meta(min_length=22, max_length=24, pattern=r"^[A-Za-z0-9_-]+={0,2}$" + _END)]
    server_key: Annotated[str, Meta(max_length=88, pattern=r"^[A-Za-z0-9_-]+=*$" + _END)] | None = None


class RegisterPush(RequestBody, frozen=True, kw_only=True):
    """Register this device for push notifications, with exactly one of `apns`, `fcm`, `web_push` and `http`.

    It replaces the registration of the device. Send it at each start of the app, because tokens change.

    `locale`: the language of notifications. `data_only`: send ids and the badge without text.
    """

    apns: ApnsToken | None = None
    fcm: ProviderToken | None = None
    web_push: WebPushSubscription | None = None
    http: ProviderToken | None = None
    locale: Locale = ""
    data_only: bool = False


class UnregisterPush(RequestBody, frozen=True, kw_only=True):
    """Stop push notifications of this device. A device that is not registered causes no error."""


class QuietHours(RequestBody, frozen=True, kw_only=True):
    """Local times, such as `22:00`, between which the user is not notified. An end before the start is on the next day.

    `days`: the weekdays on which the hours start, 0 for Monday.
    """

    start: DayTime
    end: DayTime
    days: Annotated[tuple[Annotated[int, Meta(ge=0, le=6)], ...], Meta(max_length=7)] = (0, 1, 2, 3, 4, 5, 6)


class SetPushPreferences(RequestBody, frozen=True, kw_only=True):
    """Replace the user's preferences for push notifications.

    `notify` applies to chats without a choice of their own. `time_zone`: a name of the IANA database.
    """

    notify: NotifyMode = "all"
    time_zone: Annotated[str, Meta(min_length=1, max_length=64)] = "UTC"
    quiet_hours: QuietHours | None = None


class GetPushPreferences(RequestBody, frozen=True, kw_only=True):
    """Read the user's preferences for push notifications."""


class QuietHoursOut(ResponseBody, frozen=True, kw_only=True):
    """The quiet hours of a user."""

    start: str
    end: str
    days: tuple[int, ...]


class PushPreferences(ResponseBody, frozen=True, kw_only=True):
    """The user's preferences for push notifications."""

    notify: NotifyMode
    time_zone: str
    quiet_hours: QuietHoursOut | None = None


class GetBadge(RequestBody, frozen=True, kw_only=True):
    """Read the number for the app's icon."""


class Badge(ResponseBody, frozen=True, kw_only=True):
    """The number for the app's icon, as in push notifications: unread messages or chats, plus unread notifications."""

    badge: int
    messages: int
    chats: int
    notifications: int


class GetWebPushKey(RequestBody, frozen=True, kw_only=True):
    """Read the public key that browsers subscribe with."""


class WebPushKey(ResponseBody, frozen=True, kw_only=True):
    """The `applicationServerKey` of `pushManager.subscribe`."""

    public_key: str

"""Schemas of push notifications."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic.config import JsonDict

from tidings.accounts.model import Principal
from tidings.api.schemas.api_model import ApiModel, Time, with_examples
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import DeviceId, UserId
from tidings.push.badge import Badge
from tidings.push.model import (
    ApnsTarget,
    FcmTarget,
    HttpTarget,
    PushPreferences,
    PushRegistration,
    PushResult,
    PushTarget,
    QuietHours,
    WebPushTarget,
)
from tidings.push.rules import day_time, parse_day_time

_WEB_PUSH: JsonDict = {
    "endpoint": "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABm",
    "keys": {
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "auth": "BTBZMqHH6r4Tts7J_aSIgg",
    },
}

ProviderToken = Annotated[str, Field(min_length=1, max_length=2048, pattern=r"^[!-~]+$")]


class ApnsBody(ApiModel):
    """A device token of Apple's push service (APNs)."""

    token: Annotated[
        str,
        Field(
            min_length=64,
            max_length=200,
            pattern=r"^[0-9a-fA-F]+$",
            description="The device token, in hexadecimal.",
        ),
    ]
    topic: Annotated[
        str,
        Field(
            min_length=1,
            max_length=155,
            pattern=r"^[A-Za-z0-9.-]+$",
            description="The bundle id of the app.",
            examples=["com.example.chat"],
        ),
    ]
    environment: Annotated[
        Literal["production", "sandbox"], Field(description="`sandbox` for apps that Xcode installed.")
    ] = "production"


class FcmBody(ApiModel):
    """A registration token of Firebase Cloud Messaging (FCM)."""

    token: ProviderToken


class WebPushKeysBody(ApiModel):
    p256dh: Annotated[str, Field(min_length=87, max_length=88, pattern=r"^[A-Za-z0-9_-]+=?$")]
    auth: Annotated[str, Field(min_length=22, max_length=24, pattern=r"^[A-Za-z0-9_-]+={0,2}$")]


class WebPushBody(ApiModel):
    """A subscription of a browser: the result of `PushSubscription.toJSON()`."""

    model_config = with_examples(_WEB_PUSH)

    endpoint: Annotated[str, Field(min_length=9, max_length=2048, pattern=r"^https?://[!-~]+$")]
    keys: WebPushKeysBody
    expirationTime: Annotated[float | None, Field(description="Ignored.")] = None  # noqa: N815 - the browser's name
    server_key: Annotated[
        str | None,
        Field(
            max_length=88,
            pattern=r"^[A-Za-z0-9_-]+=*$",
            description="The `applicationServerKey` that the browser subscribed with. By default the newest key.",
        ),
    ] = None


class HttpTokenBody(ApiModel):
    """A token of your own push service."""

    token: ProviderToken


class RegisterDeviceBody(ApiModel):
    """Exactly one of `apns`, `fcm`, `web_push` and `http`."""

    model_config = with_examples({"web_push": _WEB_PUSH, "locale": "de"})

    apns: ApnsBody | None = None
    fcm: FcmBody | None = None
    web_push: WebPushBody | None = None
    http: HttpTokenBody | None = None
    locale: Annotated[
        str,
        Field(
            max_length=35,
            pattern=r"^([A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*)?$",
            description="The language of notifications, as a BCP 47 tag.",
            examples=["de"],
        ),
    ] = ""
    data_only: Annotated[
        bool,
        Field(description="Send ids and the badge without text. The app shows the notification itself."),
    ] = False

    @model_validator(mode="after")
    def _has_one_target(self) -> "RegisterDeviceBody":
        given = [each for each in (self.apns, self.fcm, self.web_push, self.http) if each is not None]
        if len(given) != 1:
            raise ValueError("Give exactly one of apns, fcm, web_push and http.")
        return self

    def registration(self, principal: Principal, user: UserId, device: DeviceId) -> PushRegistration:
        return PushRegistration(
            tenant=principal.tenant,
            user=user,
            device=device,
            target=self._target(),
            session=principal.session,
            locale=self.locale,
            is_data_only=self.data_only,
            registered_ms=0,
        )

    def _target(self) -> PushTarget:
        if self.apns is not None:
            token, topic = self.apns.token.lower(), self.apns.topic
            return ApnsTarget(token=token, topic=topic, environment=self.apns.environment)
        if self.fcm is not None:
            return FcmTarget(token=self.fcm.token)
        if self.web_push is not None:
            given = self.web_push
            return WebPushTarget(
                endpoint=given.endpoint,
                p256dh=given.keys.p256dh,
                auth=given.keys.auth,
                server_key=given.server_key,
            )
        assert self.http is not None  # noqa: S101 - the validator of the model has checked it
        return HttpTarget(token=self.http.token)


class BadgeResponse(ApiModel):
    """The number on the app's icon, and what it is the sum of."""

    model_config = with_examples({"badge": 5, "messages": 3, "chats": 2, "notifications": 2})

    badge: Annotated[
        int, Field(description="Unread messages or chats, as the tenant chooses, plus unread notifications.")
    ]
    messages: Annotated[int, Field(description="Unread messages in all chats.")]
    chats: Annotated[int, Field(description="Chats with unread messages.")]
    notifications: Annotated[int, Field(description="Unread notifications in all inboxes.")]

    @classmethod
    def of(cls, badge: Badge) -> Self:
        return cls(
            badge=badge.total, messages=badge.messages, chats=badge.chats, notifications=badge.notifications
        )


DayTime = Annotated[
    str,
    Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", description="A local time of day.", examples=["22:00"]),
]


class QuietHoursBody(ApiModel):
    """Local times between which no notification is sent. An end before the start is on the next day."""

    start: DayTime
    end: DayTime
    days: Annotated[
        list[Annotated[int, Field(ge=0, le=6)]],
        Field(max_length=7, description="Weekdays on which the hours start, 0 for Monday."),
    ] = [0, 1, 2, 3, 4, 5, 6]  # noqa: RUF012 - pydantic copies it


class PushPreferencesBody(ApiModel):
    """A user's preferences for push notifications. `notify` applies to chats without a choice of their own."""

    model_config = with_examples(
        {
            "notify": "all",
            "time_zone": "Europe/Berlin",
            "quiet_hours": {"start": "22:00", "end": "07:00", "days": [0, 1, 2, 3, 4, 5, 6]},
        }
    )

    notify: Literal["all", "mentions", "none"] = "all"
    time_zone: Annotated[
        str,
        Field(
            min_length=1,
            max_length=64,
            description="A name of the IANA database. Quiet hours follow its clock changes.",
            examples=["Europe/Berlin"],
        ),
    ] = "UTC"
    quiet_hours: QuietHoursBody | None = None

    def preferences(self) -> PushPreferences:
        quiet = self.quiet_hours
        return PushPreferences(
            notify=self.notify,
            time_zone=self.time_zone,
            quiet_hours=None
            if quiet is None
            else QuietHours(
                start=parse_day_time(quiet.start),
                end=parse_day_time(quiet.end),
                days=tuple(sorted(set(quiet.days))),
            ),
        )

    @classmethod
    def of(cls, preferences: PushPreferences) -> Self:
        quiet = preferences.quiet_hours
        return cls(
            notify=preferences.notify,
            time_zone=preferences.time_zone,
            quiet_hours=None
            if quiet is None
            else QuietHoursBody(start=day_time(quiet.start), end=day_time(quiet.end), days=list(quiet.days)),
        )


class WebPushKeyResponse(ApiModel):
    """The key that a browser subscribes with."""

    model_config = with_examples(
        {
            "public_key": "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"
        }
    )

    public_key: Annotated[
        str, Field(description="Pass it to `pushManager.subscribe` as `applicationServerKey`.")
    ]


class PushAttemptResponse(ApiModel):
    at: Time
    action: Annotated[
        Literal["alert", "update", "withdraw", "none"],
        Field(description="`alert` makes a sound, `update` replaces the shown notification silently."),
    ]
    status: Annotated[int, Field(description="The status of the provider's answer; 0 without one.")]
    answer: str


class PushResultResponse(ApiModel):
    """What happened to a notification. Without `device`, a decision about all devices of the recipient."""

    user: str
    device: str | None = None
    outcome: Literal["sent", "retrying", "gone", "failed", "skipped"]
    reason: str
    provider: Literal["apns", "fcm", "web_push", "http"] | None = None
    decided_at: Time
    attempts: list[PushAttemptResponse]

    @classmethod
    def of(cls, result: PushResult) -> Self:
        return cls(
            user=result.user,
            device=result.device,
            outcome=result.outcome.value,
            reason=result.reason,
            provider=None if result.provider is None else result.provider.value,
            decided_at=format_ms(result.decided_ms),
            attempts=[
                PushAttemptResponse(
                    at=format_ms(each.at_ms), action=each.action.value, status=each.status, answer=each.answer
                )
                for each in result.attempts
            ],
        )


class PushResultsResponse(ApiModel):
    model_config = with_examples(
        {
            "results": [
                {
                    "user": "ben",
                    "device": "phone",
                    "outcome": "sent",
                    "reason": "",
                    "provider": "apns",
                    "decided_at": "2026-11-17T08:30:00.000Z",
                    "attempts": [
                        {"at": "2026-11-17T08:30:00.120Z", "action": "alert", "status": 200, "answer": ""}
                    ],
                }
            ]
        }
    )

    results: list[PushResultResponse]

"""The requests of push notifications."""

from tidings_sdk.push import PushNotifications
from tidings_wire.frames.push import (
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
)
from tidings_wire.frames.structs import Body, Ok

ANSWERS: dict[type[Body], Body] = {
    GetPushPreferences: PushPreferences(notify="mentions", time_zone="UTC"),
    GetBadge: Badge(badge=5, messages=3, chats=1, notifications=2),
    GetWebPushKey: WebPushKey(public_key="BN"),
}


class RecordingBackend:
    def __init__(self) -> None:
        self.asked: list[Body] = []

    async def request(self, body: Body) -> Body:
        self.asked.append(body)
        return ANSWERS.get(type(body), Ok())


async def test_each_method_sends_its_request_and_returns_the_answer() -> None:
    backend, hours = RecordingBackend(), QuietHours(start="22:00", end="07:00")
    push = PushNotifications(backend)
    await push.register(fcm="token", locale="de", data_only=True)
    await push.unregister()
    await push.set_preferences(notify="none", time_zone="Europe/Berlin", quiet_hours=hours)
    assert backend.asked == [
        RegisterPush(fcm="token", locale="de", data_only=True),
        UnregisterPush(),
        SetPushPreferences(notify="none", time_zone="Europe/Berlin", quiet_hours=hours),
    ]
    assert (await push.preferences()).notify == "mentions"
    assert (await push.badge()).badge == 5
    assert await push.web_push_key() == "BN"

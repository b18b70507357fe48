"""Answer requests about push notifications: the registration of a device, preferences, and the badge."""

from msgspec import Struct

from tidings.accounts.model import Principal
from tidings.gateway.ports import PushUseCases
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceKey
from tidings.push import model
from tidings.push.rules import day_time, parse_day_time
from tidings_wire.frames import push
from tidings_wire.frames.structs import Ok

PUSH_REQUESTS = (
    push.RegisterPush,
    push.UnregisterPush,
    push.GetPushPreferences,
    push.SetPushPreferences,
    push.GetWebPushKey,
    push.GetBadge,
)


async def serve_push_request(
    cases: PushUseCases | None, principal: Principal, device: DeviceKey, frame: Struct
) -> Struct:
    """Apply a request of a connected device. A registration belongs to this device, and ends with its session."""
    if cases is None:
        raise TidingsError(Code.UNKNOWN_REQUEST, "This server has no push notifications.")
    tenant, user = device.tenant, device.user
    match frame:
        case push.RegisterPush():
            await cases.registrations.register(_registration(principal, device, frame))
        case push.UnregisterPush():
            await cases.registrations.remove(tenant, user, device.device)
        case push.SetPushPreferences():
            await cases.preferences.set(tenant, user, _preferences(frame))
        case push.GetPushPreferences():
            return _preferences_frame(await cases.preferences.read(tenant, user))
        case push.GetWebPushKey():
            return push.WebPushKey(public_key=await cases.providers.web_push_key(tenant))
        case push.GetBadge():
            badge = await cases.badge.read(tenant, user)
            return push.Badge(
                badge=badge.total,
                messages=badge.messages,
                chats=badge.chats,
                notifications=badge.notifications,
            )
    return Ok()


def _registration(
    principal: Principal, device: DeviceKey, frame: push.RegisterPush
) -> model.PushRegistration:
    return model.PushRegistration(
        tenant=device.tenant,
        user=device.user,
        device=device.device,
        target=_target(frame),
        session=principal.session,
        locale=frame.locale,
        is_data_only=frame.data_only,
        registered_ms=0,
    )


def _target(frame: push.RegisterPush) -> model.PushTarget:
    targets: list[model.PushTarget] = []
    if (apns := frame.apns) is not None:
        token = apns.token.lower()
        targets.append(model.ApnsTarget(token=token, topic=apns.topic, environment=apns.environment))
    if frame.fcm is not None:
        targets.append(model.FcmTarget(token=frame.fcm))
    if (web := frame.web_push) is not None:
        targets.append(
            model.WebPushTarget(
                endpoint=web.endpoint, p256dh=web.p256dh, auth=web.auth, server_key=web.server_key
            )
        )
    if frame.http is not None:
        targets.append(model.HttpTarget(token=frame.http))
    if len(targets) != 1:
        raise TidingsError(Code.REQUEST_INVALID, "Give exactly one of apns, fcm, web_push and http.")
    return targets[0]


def _preferences(frame: push.SetPushPreferences) -> model.PushPreferences:
    quiet = frame.quiet_hours
    hours = None
    if quiet is not None:
        days = tuple(sorted(set(quiet.days)))
        hours = model.QuietHours(start=parse_day_time(quiet.start), end=parse_day_time(quiet.end), days=days)
    return model.PushPreferences(notify=frame.notify, time_zone=frame.time_zone, quiet_hours=hours)


def _preferences_frame(preferences: model.PushPreferences) -> push.PushPreferences:
    quiet = preferences.quiet_hours
    hours = None
    if quiet is not None:
        hours = push.QuietHoursOut(start=day_time(quiet.start), end=day_time(quiet.end), days=quiet.days)
    return push.PushPreferences(notify=preferences.notify, time_zone=preferences.time_zone, quiet_hours=hours)

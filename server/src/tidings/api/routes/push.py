"""Push notifications: registered devices, preferences, the badge, and results."""

from typing import Annotated

from fastapi import APIRouter, Path

from tidings.api.auth import AsNotificationsServer, AsUser, AsUsersServer, AuthenticatedRoute, UserRequest
from tidings.api.openapi import OF_BODIES, route_options
from tidings.api.schemas.api_model import USER_PART, MessageInPath, UserInPath
from tidings.api.schemas.notifications import InboxInPath, NotificationInPath
from tidings.api.schemas.push import (
    BadgeResponse,
    PushPreferencesBody,
    PushResultResponse,
    PushResultsResponse,
    RegisterDeviceBody,
    WebPushKeyResponse,
)
from tidings.inboxes.model import InboxKey
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, DeviceId, split_message_id

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["push"])

_KEYS = ("tenants.list_data_keys", "tenants.put_data_key")
_UNSURE = Code.OUTCOME_UNKNOWN

DeviceInPath = Annotated[
    DeviceId,
    Path(
        min_length=1,
        max_length=64,
        pattern=USER_PART,
        description="A device id, chosen by the client: one per installation.",
        examples=["01JCQ50Y8D2JX4N6T0V3Z7K9PA"],
    ),
]


@router.put(
    "/devices/{device}/push",
    **route_options(
        "register_push",
        *OF_BODIES,
        _UNSURE,
        Code.FORBIDDEN,
        Code.WRITE_CONFLICT,
        Code.KEYS_UNAVAILABLE,
        touches=("devices.list_registrations", "devices.find_token_owner", "devices.register", *_KEYS),
        status_code=204,
        summary="Register a device for push notifications",
    ),
)
async def register_push(call: AsUser, device: DeviceInPath, body: RegisterDeviceBody) -> None:
    """Register a device, or replace its registration. Send it at each start of the app, because tokens change.

    A token has one owner. If another user registered it before, they no longer receive notifications there. The
    registration ends with the session of the device.
    """
    _check_own_device(call, device)
    await call.services.push.registrations.register(body.registration(call.principal, call.user, device))


@router.delete(
    "/devices/{device}/push",
    **route_options(
        "unregister_push",
        _UNSURE,
        Code.FORBIDDEN,
        Code.KEYS_UNAVAILABLE,
        touches=("devices.list_registrations", "devices.unregister", *_KEYS),
        status_code=204,
        summary="Stop push notifications of a device",
    ),
)
async def unregister_push(call: AsUser, device: DeviceInPath) -> None:
    """Remove the registration of a device. A device without one causes no error."""
    _check_own_device(call, device)
    await call.services.push.registrations.remove(call.tenant, call.user, device)


def _check_own_device(call: UserRequest, device: DeviceId) -> None:
    own = call.principal.device
    if own is not None and own != device:
        raise TidingsError(
            Code.FORBIDDEN, f"The credential belongs to the device {own}. It cannot register {device}."
        )


@router.get(
    "/me/badge",
    **route_options(
        "get_badge",
        touches=(
            "chat_list.read",
            "counters.read_many",
            "inbox.list_configs",
            "inbox.read_counts",
            "inbox.settle",
            "inbox.recount",
            "inbox.delete_rows",
            "inbox.open_broadcasts",
            "inbox.follow_broadcasts",
            "tenants.read_settings",
        ),
        summary="Get the badge",
    ),
)
async def get_badge(call: AsUser) -> BadgeResponse:
    """Get the number for the app's icon. Push notifications contain the same number."""
    return BadgeResponse.of(await call.services.push.badge.read(call.tenant, call.user))


@router.get(
    "/me/push-preferences",
    **route_options(
        "get_push_preferences", touches=("devices.read_alert_state",), summary="Get push preferences"
    ),
)
async def get_push_preferences(call: AsUser) -> PushPreferencesBody:
    """Get the user's preferences for push notifications."""
    return PushPreferencesBody.of(await call.services.push.preferences.read(call.tenant, call.user))


@router.put(
    "/me/push-preferences",
    **route_options(
        "set_push_preferences",
        *OF_BODIES,
        _UNSURE,
        touches=("devices.put_preferences",),
        status_code=204,
        summary="Set push preferences",
    ),
)
async def set_push_preferences(call: AsUser, body: PushPreferencesBody) -> None:
    """Set the user's preferences: which messages notify, the time zone, and quiet hours."""
    await call.services.push.preferences.set(call.tenant, call.user, body.preferences())


@router.get(
    "/push/web-push-key",
    **route_options(
        "get_web_push_key",
        Code.PUSH_NOT_CONFIGURED,
        Code.KEYS_UNAVAILABLE,
        touches=("tenants.list_push_providers", *_KEYS),
        summary="Get the key for browsers",
    ),
)
async def get_web_push_key(call: AsUser) -> WebPushKeyResponse:
    """Get the public key that browsers subscribe with. Send it as `server_key` when you register the subscription."""
    return WebPushKeyResponse(public_key=await call.services.push.providers.web_push_key(call.tenant))


@router.get(
    "/messages/{message}/pushes",
    **route_options(
        "list_pushes",
        Code.MESSAGE_NOT_FOUND,
        Code.DECRYPTION_FAILED,
        Code.KEYS_UNAVAILABLE,
        touches=(
            "push_results.list",
            "messages.read_one",
            "messages.read_ephemeral",
            "user_keys.read",
            "user_keys.confirm",
            *_KEYS,
        ),
        summary="Explain push notifications",
    ),
)
async def list_pushes(call: AsUsersServer, message: MessageInPath) -> PushResultsResponse:
    """List what happened to the push notifications of a message in the last 7 days, with the providers' answers.

    Requires an API key with the scope `users`.
    """
    found = split_message_id(message)
    if found is None:
        raise TidingsError(Code.MESSAGE_NOT_FOUND, f"{message!r} is not a message id.")
    chat, sequence = ChatKey(call.tenant, found[0]), found[1]
    results = await call.edge.services.push.results.of_message(chat, sequence)
    if not results and not await call.edge.services.history.now(chat, [sequence]):
        raise TidingsError(Code.MESSAGE_NOT_FOUND, "There is no such message.")
    return PushResultsResponse(results=[PushResultResponse.of(each) for each in results])


@router.get(
    "/inboxes/{inbox}/notifications/{notification}/users/{user}/pushes",
    **route_options(
        "list_notification_pushes",
        touches=("push_results.read_notification",),
        summary="Explain push notifications of an inbox",
    ),
)
async def list_notification_pushes(
    call: AsNotificationsServer, inbox: InboxInPath, notification: NotificationInPath, user: UserInPath
) -> PushResultsResponse:
    """List what happened to the push notifications of a user's notification in the last 7 days.

    The list is empty if the user has no registered device, or the tenant has no push provider.
    """
    inbox_key = InboxKey(call.tenant, user, inbox)
    results = await call.edge.services.push.results.of_notification(inbox_key, notification)
    return PushResultsResponse(results=[PushResultResponse.of(each) for each in results])

"""Access patterns of push notifications."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import DEVICES, PUSH_RESULTS, TENANTS
from tidings.schema.tables.patterns.builders import (
    PatternRole,
    batch_get,
    batch_write,
    get,
    put,
    query,
    transact,
    update,
)

LIST_REGISTRATIONS = query(
    "devices.list_registrations",
    DEVICES,
    "user_id, begins with d#",
    PatternRole.DELIVERS,
    "The registered devices of a user: before a push, and before a registration.",
)
FIND_TOKEN_OWNER = get(
    "devices.find_token_owner",
    DEVICES,
    "token#hash, token",
    PatternRole.AUTHORISES,
    "The user and device that registered a token.",
)
REGISTER_DEVICE = transact(
    "devices.register",
    (DEVICES,),
    "user_id, d#device; token#hash; both if they are as they were read; the registration of the former owner",
    "Register a device for push notifications, and take the token over from its former owner.",
)
UNREGISTER_DEVICE = transact(
    "devices.unregister",
    (DEVICES,),
    "user_id, d#device, if token_hash = the one that was read; token#hash, if it is this device's",
    "Remove a registration: the device signed out, or its provider reported the token as invalid.",
)
LIST_OWN = query(
    "devices.list_own", DEVICES, "user_id", PatternRole.MAINTAINS, "All items of an erased user."
)
DELETE_OWN = batch_write(
    "devices.delete_own",
    DEVICES,
    "user_id, item",
    "Delete the items of an erased user.",
    role=PatternRole.MAINTAINS,
)
READ_ALERT_STATE = batch_get(
    "devices.read_alert_state",
    DEVICES,
    "user_id, a#chat and preferences",
    PatternRole.DELIVERS,
    "The alert that a chat shows, and the user's preferences.",
    consistency=Consistency.STRONG,
)
RAISE_ALERT = update(
    "devices.raise_alert",
    DEVICES,
    "user_id, a#chat, if it is absent or shows an older message",
    "Record the message that a notification shows.",
)
WITHDRAW_ALERT = update(
    "devices.withdraw_alert",
    DEVICES,
    "user_id, a#chat, if it exists",
    "Record that the notification of a chat was removed, because the user has read it.",
)
PUT_PREFERENCES = put("devices.put_preferences", DEVICES, "user_id, preferences", "Change push preferences.")
LIST_PROVIDERS = query(
    "tenants.list_push_providers",
    TENANTS,
    "tenant, begins with push#",
    PatternRole.DELIVERS,
    "The push providers of a tenant; cached.",
)
PUT_PROVIDER = put(
    "tenants.put_push_provider",
    TENANTS,
    "tenant, push#kind, if version = n or absent",
    "Set or rotate the credentials of a push provider.",
)
PUT_RESULTS = batch_write(
    "push_results.put", PUSH_RESULTS, "message, user#device", "Record what happened to push notifications."
)
READ_RESULTS = query(
    "push_results.read",
    PUSH_RESULTS,
    "message, begins with user#",
    PatternRole.DELIVERS,
    "The results of a message for one recipient: a repeated event sends nothing twice.",
)
LIST_RESULTS = query(
    "push_results.list",
    PUSH_RESULTS,
    "message",
    PatternRole.SHOWS,
    "The results of a message for all recipients.",
    consistency=Consistency.EVENTUAL,
)
READ_NOTIFICATION_RESULTS = query(
    "push_results.read_notification",
    PUSH_RESULTS,
    "notification and user",
    PatternRole.DELIVERS,
    "The results of a notification for one user: a repeated job sends nothing twice.",
)

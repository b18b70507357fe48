"""Items of push notifications: registrations of devices, preferences, shown alerts, providers and results."""

from tidings.schema.tables.items.accounts import TENANT
from tidings.schema.tables.items.chats import CHATS_OF_A_USER, OWN_USER, USER
from tidings.schema.tables.limits import (
    MS,
    PART_BYTES,
    SEAL_BYTES,
    SECONDS,
    SEQUENCE,
    TIME,
    AttributeLimits,
    BlobLimit,
    FlagLimit,
    ListLimit,
    NumberLimit,
    TextLimit,
)
from tidings.schema.tables.model import Growth, KeyTemplate, TableItem

MAX_DEVICES = 50
"""Registered devices of a user. A further device replaces the one that was registered first."""
MAX_ATTEMPTS = 20
"""Attempts that a result lists. Of more, the newest."""

REGISTRATION_SORT = KeyTemplate("d#{device}")
PREFERENCES_SORT = KeyTemplate("preferences")
ALERT_SORT = KeyTemplate("a#{chat}")
TOKEN = KeyTemplate("{tenant}#token#{key}")
TOKEN_SORT = KeyTemplate("token")
PROVIDER_SORT = KeyTemplate("push#{provider}")
RESULT = KeyTemplate("{tenant}#{chat}#{sequence:012d}")
NOTIFICATION_RESULT = KeyTemplate("{tenant}#n#{notification}#{user}")
RESULT_SORT = KeyTemplate("{user}#{device}")
DECISION_SORT = KeyTemplate("{user}#")

_KEY = TextLimit(PART_BYTES["key"])

REGISTRATION = TableItem(
    "push registration",
    OWN_USER,
    REGISTRATION_SORT,
    {
        "kind": TextLimit(8),
        "target": BlobLimit(3 * 1024 + SEAL_BYTES),
        "token_hash": _KEY,
        "session_id": TextLimit(PART_BYTES["session"]),
        "locale": TextLimit(35),
        "data_only": FlagLimit(),
        "registered_ms": MS,
    },
    max_bytes=4 * 1024,
    holds="where push notifications of a device are sent: a token of APNs or FCM, a Web Push subscription, or a token of the "
    "tenant's own service. `target` is encrypted for its user and device",
    growth=Growth("a further device replaces the oldest", MAX_DEVICES),
)
TOKEN_OWNER = TableItem(
    "token owner",
    TOKEN,
    TOKEN_SORT,
    {"owner": USER, "device_id": USER},
    max_bytes=512,
    holds="the user and device of a token, written in one transaction with the registration, so that a token has one owner. "
    "The key contains a keyed hash of the token",
)
PREFERENCES = TableItem(
    "push preferences",
    OWN_USER,
    PREFERENCES_SORT,
    {"settings": BlobLimit(2 * 1024), "updated_at": TIME},
    max_bytes=3 * 1024,
    holds="quiet hours, time zone and the default of a user's chats",
)
ALERT = TableItem(
    "alert",
    OWN_USER,
    ALERT_SORT,
    {
        "sequence": SEQUENCE,
        "alerted_ms": MS,
        "alerted_sequence": SEQUENCE,
        "withdrawn": SEQUENCE,
        "ttl": SECONDS,
    },
    max_bytes=512,
    holds="the newest message of a chat that a notification shows, and when the last one made a sound",
    growth=Growth("planned: 100,000 chats of a user", CHATS_OF_A_USER),
)
PROVIDER = TableItem(
    "push provider",
    TENANT,
    PROVIDER_SORT,
    {"config": BlobLimit(32 * 1024 + SEAL_BYTES), "version": NumberLimit(9), "updated_at": TIME},
    max_bytes=33 * 1024,
    holds="the credentials of a push provider, encrypted with the tenant's key",
    growth=Growth("one for each kind of provider", 4),
)
_RESULT_VALUES: AttributeLimits = {
    "outcome": TextLimit(16),
    "reason": TextLimit(256),
    "provider": TextLimit(8),
    "attempts": ListLimit(MAX_ATTEMPTS, TextLimit(512)),
    "collapse_id": TextLimit(64),
    "decided_ms": MS,
    "ttl": SECONDS,
}
PUSH_RESULT = TableItem(
    "push result",
    RESULT,
    RESULT_SORT,
    _RESULT_VALUES,
    max_bytes=12 * 1024,
    holds="the attempts to notify one device of one message, each with the provider's answer",
    growth=Growth("planned: 100 recipients with 50 devices each", 5_000),
)
PUSH_DECISION = TableItem(
    "push decision",
    RESULT,
    DECISION_SORT,
    _RESULT_VALUES,
    max_bytes=12 * 1024,
    holds="why no device of a recipient was notified of a message",
    growth=Growth("one for each of 100 recipients", 100),
)
NOTIFICATION_PUSH = TableItem(
    "notification push",
    NOTIFICATION_RESULT,
    RESULT_SORT,
    {**_RESULT_VALUES, "inbox": TextLimit(PART_BYTES["inbox"])},
    max_bytes=12 * 1024,
    holds="the attempts to notify one device of a user of one notification of an inbox",
    growth=Growth("devices of a user", MAX_DEVICES),
)
NOTIFICATION_PUSH_DECISION = TableItem(
    "notification push decision",
    NOTIFICATION_RESULT,
    DECISION_SORT,
    {**_RESULT_VALUES, "inbox": TextLimit(PART_BYTES["inbox"])},
    max_bytes=12 * 1024,
    holds="why no device of a user was notified of one notification of an inbox",
    growth=Growth("one for each user and notification", 1),
)

"""Items of users, sessions, tenants, leases and the audit log."""

from tidings.schema.tables.items.chats import EPOCH, OWN_USER, USER
from tidings.schema.tables.limits import (
    AUDIT_VALUE_BYTES,
    MAX_USER_KEYS,
    MS,
    PART_BYTES,
    SEAL_BYTES,
    SECONDS,
    TIME,
    AttributeLimits,
    BlobLimit,
    FlagLimit,
    ListLimit,
    NumberLimit,
    TextLimit,
)
from tidings.schema.tables.model import Growth, KeyTemplate, TableItem

PHONE = KeyTemplate("{tenant}#{phone}")
PHONE_CLAIM = KeyTemplate("{tenant}#phone#{phone}")
SESSION_KEY = KeyTemplate("{tenant}#{session}")
CODE_KEY = KeyTemplate("{tenant}#code#{key}")
CODE_SORT = KeyTemplate("code")
TENANT = KeyTemplate("{tenant}")
SETTINGS_KEY = KeyTemplate("settings")
API_KEY_KEY = KeyTemplate("key#{key}")
SYSTEM = KeyTemplate("_system")
INSTALLATION_KEY = KeyTemplate("installation")
SIGNING_KEY_KEY = KeyTemplate("jwk#{key}")
LISTED_TENANT_KEY = KeyTemplate("tenant#{tenant}")
REVOCATIONS = KeyTemplate("_system#revoked")
REVOCATION_KEY = KeyTemplate("{at_ms:013d}#{key}")
OPERATOR_SESSIONS = KeyTemplate("_system#operator_sessions")
OPERATOR_SESSION_KEY = KeyTemplate("{session}")
DEAD_LETTER_MARKS = KeyTemplate("_system#dead_letters")
DEAD_LETTER_MARK_KEY = KeyTemplate("{topic}#{partition:05d}#{offset:015d}")
AUDIT_MONTH = KeyTemplate("{tenant}#{month}")
SYSTEM_AUDIT_MONTH = KeyTemplate("_system#{month}")
AUDIT_KEY = KeyTemplate("{key}")

ROW_MAC = BlobLimit(32)
"""MAC with the tenant's key over all other attributes of the row: `platform/dynamo/protected_rows.py`."""

USER_ROW = TableItem(
    "user",
    OWN_USER,
    None,
    {
        "phone_number": TextLimit(PHONE.max_bytes),
        "phone": BlobLimit(16 + SEAL_BYTES),
        "phone_verified": FlagLimit(),
        "display_name": BlobLimit(256 + SEAL_BYTES),
        "avatar_uri": BlobLimit(896 + SEAL_BYTES),
        "email": BlobLimit(254 + SEAL_BYTES),
        "email_refused": TextLimit(9),
        "locale": TextLimit(35),
        "last_seen": TextLimit(8),
        "phone_search": TextLimit(8),
        "sessions_epoch": NumberLimit(9),
        "not_before": TIME,
        "suspended_at": TIME,
        "erased": FlagLimit(),
        "created_at": TIME,
        "updated_at": TIME,
    },
    max_bytes=2 * 1024,
    holds="identity and profile, and which users may see their presence and find them by phone. `phone`, `email`, "
    "`display_name` and `avatar_uri` are encrypted with the user's key; `phone_number` is a keyed hash. "
    "`sessions_epoch` is incremented when all sessions are ended. Tokens issued before `not_before` are rejected, and from "
    "`suspended_at` on every credential. An erased user keeps the row with `erased`, which refuses the id",
)
# It has no attribute `phone_number`: the index would contain it in addition to the user.
CLAIM = TableItem(
    "phone claim",
    PHONE_CLAIM,
    None,
    {"owner": USER, "created_at": TIME, "mac": ROW_MAC},
    max_bytes=512,
    holds="the user of a phone number, written in one transaction with the user, so that a number has one user. The key "
    "contains a keyed hash of the number",
)
SESSION = TableItem(
    "session",
    SESSION_KEY,
    None,
    {
        "user_id": TextLimit(OWN_USER.max_bytes),
        "device_id": USER,
        "device_name": TextLimit(128),
        "refresh_token_hash": BlobLimit(32),
        "previous_token_hash": BlobLimit(32),
        "rotation_key_hash": BlobLimit(32),
        "epoch": NumberLimit(9),
        "created_at": TIME,
        "refreshed_at": TIME,
        "expires_at": TIME,
        "ttl": SECONDS,
        "mac": ROW_MAC,
    },
    max_bytes=1024,
    holds="a login of a device and its refresh-token family",
)

_NAMED: AttributeLimits = {"name": TextLimit(128), "created_at": TIME, "updated_at": TIME}

TENANT_SETTINGS = TableItem(
    "settings",
    TENANT,
    SETTINGS_KEY,
    {**_NAMED, "settings": BlobLimit(24_576), "version": NumberLimit(9), "deleted_at": TIME, "mac": ROW_MAC},
    max_bytes=25 * 1024,
    holds="the tenant's settings. A deleted tenant keeps the row with `deleted_at`, which refuses the id",
)
API_KEY = TableItem(
    "API key",
    TENANT,
    API_KEY_KEY,
    {
        **_NAMED,
        "secret_hash": BlobLimit(32),
        "scopes": ListLimit(16, TextLimit(32)),
        "revoked_at": TIME,
        "expires_at": TIME,
        "last_used_at": TIME,
        "mac": ROW_MAC,
    },
    max_bytes=1024,
    holds="hash, scopes and expiry of an API key, and its last use, at most an hour old; the MAC does not cover the last use",
    growth=Growth("planned: 1,000 keys of a tenant", 1_000),
)
SIGNING_KEY = TableItem(
    "signing key",
    TENANT,
    SIGNING_KEY_KEY,
    {**_NAMED, "jwk": BlobLimit(4096), "not_after": TIME, "mac": ROW_MAC},
    max_bytes=5 * 1024,
    holds="a public key that verifies the tenant's tokens",
    growth=Growth("planned: 1,000 keys of a tenant", 1_000),
)
_WRAPPED_KEY: AttributeLimits = {**_NAMED, "wrapped_key": BlobLimit(1024), "wrapped_by": TextLimit(256)}
DATA_KEY = TableItem(
    "data key",
    TENANT,
    KeyTemplate("data_key#{key}"),
    _WRAPPED_KEY,
    max_bytes=2 * 1024,
    holds="a wrapped key for content or fingerprints; if it is lost, the content cannot be read",
    growth=Growth("planned: one a day for 27 years", 10_000),
)
USER_KEYS = TableItem(
    "keys of a user",
    OWN_USER,
    None,
    {
        "wrapped_keys": ListLimit(MAX_USER_KEYS, BlobLimit(32 + SEAL_BYTES)),
        "newest": NumberLimit(2),
        "erased_at": TIME,
    },
    max_bytes=8 * 1024,
    holds="the content keys of a user, wrapped by the tenant's key, and `newest`, the number of them. An erased user has "
    "`erased_at` and no keys",
)
ONE_TIME_CODE = TableItem(
    "one-time code",
    CODE_KEY,
    CODE_SORT,
    {"code_hash": BlobLimit(32), "tries": NumberLimit(2), "ttl": SECONDS, "mac": ROW_MAC},
    max_bytes=512,
    holds="a code that was sent, until it is used; the phone number is only in the hash",
)

INSTALLATION = TableItem(
    "installation",
    SYSTEM,
    INSTALLATION_KEY,
    {
        "epoch": EPOCH,
        "phase": TextLimit(8),
        "restored_to": TextLimit(32),
        "log_id": TextLimit(64),
        "data_format": NumberLimit(4),
        "updated_at": TIME,
    },
    max_bytes=512,
    holds="the installation's epoch, whether a restore is in progress, the id of its log table, which detects a copy, and "
    "the newest format that stored data may have",
)

INSTALLATION_DATA_KEY = TableItem(
    "key of the installation",
    SYSTEM,
    KeyTemplate("data_key#{key}"),
    _WRAPPED_KEY,
    max_bytes=2 * 1024,
    holds="the wrapped key that signs certificates; if it is lost, earlier certificates still verify",
)
LISTED_TENANT = TableItem(
    "listed tenant",
    SYSTEM,
    LISTED_TENANT_KEY,
    {"created_at": TIME},
    max_bytes=512,
    holds="an entry of the list of tenants, written in one transaction with the tenant's settings",
    growth=Growth("planned: 1 million tenants", 1_000_000),
)
REVOCATION = TableItem(
    "revocation",
    REVOCATIONS,
    REVOCATION_KEY,
    {
        "owner": TextLimit(PART_BYTES["tenant"]),
        "user_id": USER,
        "session_id": TextLimit(PART_BYTES["session"]),
        "kid": TextLimit(64),
        "from_ms": MS,
        "ttl": SECONDS,
    },
    max_bytes=512,
    holds="a revoked session, user or signing key, for an hour: every process reads new ones every two seconds and "
    "evicts their cached data, and a gateway closes their connections",
    growth=Growth("planned: 1,000 a second, for the hour of the TTL", 3_600_000),
)
OPERATOR_SESSION = TableItem(
    "operator session",
    OPERATOR_SESSIONS,
    OPERATOR_SESSION_KEY,
    {
        "operator": TextLimit(300),
        "name": TextLimit(1024),
        "email": TextLimit(1024),
        "role": TextLimit(16),
        "tenants": ListLimit(100, TextLimit(PART_BYTES["tenant"])),
        "secret_hash": BlobLimit(32),
        "created_at": TIME,
        "expires_at": TIME,
        "ttl": SECONDS,
        "mac": ROW_MAC,
    },
    max_bytes=8 * 1024,
    holds="a sign-in to the console with its role and tenants; of its secret only the hash. Its MAC key is derived from "
    "`api.cursor_secret`",
    growth=Growth("planned: 1,000 operators with 10 sign-ins each in the days of the TTL", 10_000),
)
DEAD_LETTER_MARK = TableItem(
    "dead-letter mark",
    DEAD_LETTER_MARKS,
    DEAD_LETTER_MARK_KEY,
    {"action": TextLimit(16), "marked_at": TIME, "ttl": SECONDS},
    max_bytes=512,
    holds="a dead letter that was replayed or dropped, until Kafka has deleted it",
    growth=Growth("planned: 100,000 handled dead letters in the 15 days of the TTL", 100_000),
)

LEASE = TableItem(
    "lease",
    KeyTemplate("_system#{lease}"),
    None,
    {
        "holder": TextLimit(128),
        "token": NumberLimit(15),
        "until_ms": MS,
        "checkpoint": TextLimit(128),
        "updated_at": TIME,
        "ttl": SECONDS,
    },
    max_bytes=1024,
    holds="the process that does a job for one process at a time, until when, and its checkpoint",
)
SHARD_LEASE = TableItem(
    "shard lease",
    KeyTemplate("_system#relay#{stream_shard}"),
    None,
    {
        "holder": TextLimit(128),
        "token": NumberLimit(15),
        "checkpoint": TextLimit(128),
        "updated_at": TIME,
        "ttl": SECONDS,
    },
    max_bytes=1024,
    holds="the relay that reads a shard of the stream, and its checkpoint. Every write increments `token`: other relays "
    "take over a lease whose token has not changed for a time, measured by their own clock",
)

_ACTION: AttributeLimits = {
    "action": TextLimit(26),
    "phase": TextLimit(8),
    "source": TextLimit(8),
    "actor": TextLimit(256),
    "credential": TextLimit(128),
    "operation": TextLimit(64),
    "target": TextLimit(512),
    "reason": TextLimit(2048),
    "address": TextLimit(64),
    "request_id": TextLimit(64),
    "outcome": TextLimit(32),
    "before": BlobLimit(AUDIT_VALUE_BYTES),
    "after": BlobLimit(AUDIT_VALUE_BYTES),
}
AUDIT_RECORD = TableItem(
    "audit record",
    AUDIT_MONTH,
    AUDIT_KEY,
    _ACTION,
    max_bytes=10 * 1024,
    holds="the start or the end of an administrative action in a tenant. It is never changed or deleted",
    growth=Growth("planned: 200,000 actions of a tenant in a month, two records each", 400_000),
)
SYSTEM_AUDIT_RECORD = TableItem(
    "audit record of the installation",
    SYSTEM_AUDIT_MONTH,
    AUDIT_KEY,
    _ACTION,
    max_bytes=10 * 1024,
    holds="the same for actions that concern no tenant: sign-ins, tables, topics, restores",
    growth=Growth("planned: 200,000 actions in a month, two records each", 400_000),
)

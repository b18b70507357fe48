"""Access patterns of users, sessions, tenants and leases."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import (
    ERASURES,
    INBOX,
    LEASES,
    SESSIONS,
    TENANTS,
    USER_KEYS,
    USERS,
)
from tidings.schema.tables.patterns.builders import (
    PatternRole,
    batch_get,
    batch_write,
    delete,
    get,
    put,
    query,
    query_index,
    transact,
    update,
)

READ_USER = get(
    "users.read",
    USERS,
    "user_id",
    PatternRole.SHOWS,
    "A user's profile.",
    consistency=Consistency.EVENTUAL,
    asked_as="Get user by ID",
)
READ_USERS = batch_get(
    "users.read_many",
    USERS,
    "user_ids",
    PatternRole.SHOWS,
    "Names of a page of members or senders.",
    consistency=Consistency.EVENTUAL,
)
FIND_BY_PHONE = query_index(
    "users.find_by_phone",
    USERS,
    "phone_number",
    PatternRole.SHOWS,
    "The user that may have this number, for users who search for others; users.confirm decides.",
    index="phone_number-index",
    asked_as="Find user by phone",
)
CONFIRM_USER = get(
    "users.confirm",
    USERS,
    "user_id",
    PatternRole.AUTHORISES,
    "Whether the user exists, and whether all sessions were ended since this one began.",
)
CONFIRM_USERS = batch_get(
    "users.confirm_many",
    USERS,
    "user_ids",
    PatternRole.AUTHORISES,
    "Which of these users share their presence; before a subscription to it.",
    consistency=Consistency.STRONG,
)
FIND_ERASED = batch_get(
    "users.find_erased",
    USERS,
    "user_ids",
    PatternRole.AUTHORISES,
    "Which of these users were erased; before they become members of a chat.",
    consistency=Consistency.EVENTUAL,
)
FIND_CLAIM = get(
    "users.find_claim", USERS, "phone#hash", PatternRole.AUTHORISES, "The user of a phone number, at login."
)
CREATE_USER = transact(
    "users.create",
    (USERS, INBOX),
    "user_id, if absent; t#TD#hash, u#U",
    "Create a user without a phone number, with their item in the tenant's directory: by a server, or at their first "
    "authentication.",
)
CREATE_WITH_PHONE = transact(
    "users.create_with_phone",
    (USERS, INBOX),
    "user_id, phone#hash, both if absent; t#TD#hash, u#U",
    "Create a user with their item in the directory and claim the number. A failed condition returns the claim of the "
    "existing user.",
)
END_SESSIONS = transact(
    "users.end_sessions",
    (USERS, TENANTS),
    "user_id, if it exists; _system#revoked",
    "Increment `sessions_epoch`, which ends all sessions of earlier epochs, also those that an index does not show yet. "
    "Set `not_before`: the tenant's tokens that were issued earlier are rejected.",
)
SUSPEND_USER = transact(
    "users.suspend",
    (USERS, TENANTS),
    "user_id, if it exists; _system#revoked",
    "Reject every credential of a user, or accept them again.",
)
LIST_DIRECTORY = query(
    "users.list_directory",
    INBOX,
    "t#TD#0 … t#TD#255, begins with u#prefix",
    PatternRole.SHOWS,
    "Ids of a tenant's users, a page of one of 256 partitions at a time: lists and searches for support.",
    consistency=Consistency.EVENTUAL,
)
REFUSE_EMAIL = update(
    "users.refuse_email", USERS, "user_id, if email is unchanged", "Send no more mail to an address."
)
UPDATE_USER = update("users.update", USERS, "user_id, if it exists", "Change a profile.")

CREATE_SESSION = put("sessions.create", SESSIONS, "session_id, if absent", "Log a device in.")
VALIDATE_SESSION = get(
    "sessions.validate",
    SESSIONS,
    "session_id",
    PatternRole.AUTHORISES,
    "Whether the session of a verified token was revoked.",
    consistency=Consistency.EVENTUAL,
    asked_as="Validate session",
)
READ_SESSION = get(
    "sessions.read",
    SESSIONS,
    "session_id",
    PatternRole.AUTHORISES,
    "The current refresh token, when a client presents one.",
)
ROTATE_SESSION = update(
    "sessions.rotate",
    SESSIONS,
    "session_id, if refresh_token_hash = the one presented",
    "Issue a new refresh token. A failed condition returns the row, which distinguishes a retry from a reused token.",
)
LIST_SESSIONS = query_index(
    "sessions.list",
    SESSIONS,
    "user_id",
    PatternRole.SHOWS,
    "A user's devices.",
    index="user_sessions-index",
    asked_as="List user sessions",
)
REVOKE_SESSION = transact(
    "sessions.revoke",
    (SESSIONS, TENANTS),
    "session_id, if it is the user's; _system#revoked",
    "Log a device out, and have gateways close its socket.",
)
REVOKE_SESSIONS = batch_write(
    "sessions.revoke_many", SESSIONS, "session_ids", "Log out all devices of sessions.list."
)

READ_SETTINGS = get(
    "tenants.read_settings",
    TENANTS,
    "tenant, settings",
    PatternRole.AUTHORISES,
    "A tenant's settings; cached.",
)
CREATE_TENANT = transact(
    "tenants.create",
    (TENANTS,),
    "tenant, settings, if absent; _system, tenant#id",
    "Create a tenant, and list it.",
)
LIST_TENANTS = query(
    "tenants.list",
    TENANTS,
    "_system, begins with tenant#",
    PatternRole.SHOWS,
    "All tenants, a page at a time.",
    consistency=Consistency.EVENTUAL,
)
UPDATE_SETTINGS = update(
    "tenants.update_settings", TENANTS, "tenant, settings, if version = n", "Change a tenant's settings."
)
FIND_API_KEY = get(
    "tenants.find_key", TENANTS, "tenant, key#id", PatternRole.AUTHORISES, "Verify an API key; cached."
)
LIST_API_KEYS = query(
    "tenants.list_keys",
    TENANTS,
    "tenant, begins with key#",
    PatternRole.SHOWS,
    "A tenant's API keys, for display.",
    consistency=Consistency.EVENTUAL,
)
PUT_API_KEY = put("tenants.put_key", TENANTS, "tenant, key#id, if absent", "Issue an API key.")
REVOKE_API_KEY = update("tenants.revoke_key", TENANTS, "tenant, key#id, if it exists", "Revoke an API key.")
USE_API_KEY = update(
    "tenants.use_key",
    TENANTS,
    "tenant, key#id, if it exists and its last use is an hour old",
    "Record the last use of an API key: once per hour and process.",
)
LIST_SIGNING_KEYS = query(
    "tenants.list_jwks",
    TENANTS,
    "tenant, begins with jwk#",
    PatternRole.AUTHORISES,
    "Public keys that verify a tenant's tokens; cached.",
)
PUT_SIGNING_KEY = put("tenants.put_jwk", TENANTS, "tenant, jwk#id, if absent", "Add a signing key.")
RETIRE_SIGNING_KEY = transact(
    "tenants.retire_jwk",
    (TENANTS,),
    "tenant, jwk#id, if it is as it was read; _system#revoked",
    "Retire a signing key, and have gateways close the sockets of its tokens.",
)
READ_REVOCATIONS = query(
    "tenants.read_revocations",
    TENANTS,
    "_system#revoked, at_ms >= two minutes ago",
    PatternRole.AUTHORISES,
    "Recently revoked credentials; every serving process reads them every two seconds.",
)
LIST_DATA_KEYS = query(
    "tenants.list_data_keys",
    TENANTS,
    "tenant, begins with data_key#",
    PatternRole.AUTHORISES,
    "Keys for content and fingerprints; cached.",
)
PUT_DATA_KEY = transact(
    "tenants.put_data_key",
    (TENANTS,),
    "tenant, data_key#id, if absent; tenant, settings, if not deleted",
    "Add a data key.",
)
REPLACE_DATA_KEY = update(
    "tenants.replace_data_key",
    TENANTS,
    "tenant, data_key#id, if wrapped_key = before",
    "Wrap a data key with another master key.",
)
READ_USER_KEYS = batch_get(
    "user_keys.read",
    USER_KEYS,
    "user_ids",
    PatternRole.SHOWS,
    "Content keys of the authors of a page, or of the users whose profiles are shown; cached.",
    consistency=Consistency.EVENTUAL,
)
CONFIRM_USER_KEYS = batch_get(
    "user_keys.confirm",
    USER_KEYS,
    "user_ids",
    PatternRole.AUTHORISES,
    "The same where a key was missing: it may have been created just now.",
    consistency=Consistency.STRONG,
)
PUT_USER_KEY = put(
    "user_keys.put",
    USER_KEYS,
    "user_id, if absent or newest = before",
    "Add a version of a user's content key.",
)
DESTROY_USER_KEYS = put(
    "user_keys.destroy",
    USER_KEYS,
    "user_id",
    "Replace the keys of an erased user by the time of the erasure.",
)
PUT_ERASURE = put("erasures.put", ERASURES, "tenant, time#user", "Record an erasure.")
LIST_ERASURES = query(
    "erasures.list",
    ERASURES,
    "tenant, from a time on",
    PatternRole.AUTHORISES,
    "Users whose keys a restore must destroy again.",
)
PUT_CODE = put("tenants.put_code", TENANTS, "tenant#code#id", "Store a one-time code that is sent.")
TRY_CODE = update(
    "tenants.try_code",
    TENANTS,
    "tenant#code#id, if tries < max and it has not expired",
    "Count an attempt and return the hash to compare, so that a code can't be guessed in parallel.",
    role=PatternRole.AUTHORISES,
)
REDEEM_CODE = delete(
    "tenants.redeem_code",
    TENANTS,
    "tenant#code#id, if it exists",
    "Use a code. The request that deletes it succeeds; a second one fails.",
    role=PatternRole.AUTHORISES,
)

READ_EPOCH = get(
    "tenants.read_epoch",
    TENANTS,
    "_system, installation",
    PatternRole.AUTHORISES,
    "The current epoch; every process reads it before it serves, and then every few seconds.",
)
BEGIN_EPOCH = put(
    "tenants.begin_epoch",
    TENANTS,
    "_system, installation, if absent",
    "The first process of a new installation stores the id of its log table.",
)
RAISE_EPOCH = put(
    "tenants.raise_epoch",
    TENANTS,
    "_system, installation, if epoch = n and phase = p, or absent",
    "`tidings restore finish`: begin a new epoch, or finish the restore. `tidings tables apply`: record the data format.",
)

TAKE_LEASE = update(
    "leases.take",
    LEASES,
    "lease, if absent or token = n",
    "Become the holder. The token is incremented and fences off an earlier holder.",
)
RENEW_LEASE = update(
    "leases.renew",
    LEASES,
    "lease, if token = n and the holder is this process",
    "Remain the holder and store the checkpoint.",
)
RELEASE_LEASE = update("leases.release", LEASES, "lease, if token = n", "Release the lease at once.")
WATCH_LEASES = batch_get(
    "leases.watch",
    LEASES,
    "lease",
    PatternRole.RECORDS,
    "Holder, checkpoint and token of each shard's lease.",
    consistency=Consistency.STRONG,
)
PROBE = get(
    "leases.probe",
    LEASES,
    "lease",
    PatternRole.MAINTAINS,
    "Whether the engine answers; every process checks every few seconds, for its health page.",
    consistency=Consistency.EVENTUAL,
)

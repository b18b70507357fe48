"""Items of the table `inbox`: configuration, profiles, notifications, broadcasts."""

from tidings.kernel.ids import TenantId, UserId, stable_hash
from tidings.schema.tables.items.chats import USER
from tidings.schema.tables.items.jobs import CHANGED, JOBS, NOTIFICATION, VERSION
from tidings.schema.tables.limits import (
    CATEGORIES,
    LIVE_BROADCASTS,
    MS,
    PART_BYTES,
    SECONDS,
    TIME,
    BlobLimit,
    FlagLimit,
    ListLimit,
    MapLimit,
    NumberLimit,
    SetLimit,
    TextLimit,
)
from tidings.schema.tables.model import Growth, KeyTemplate, TableItem

OF_TENANT = KeyTemplate("t#{tenant}")
OF_USER = KeyTemplate("t#{tenant}U#{user}#{inbox}")
OF_BUCKET = KeyTemplate("t#{tenant}D#{bucket}")
PROFILE_SORT = KeyTemplate("u#{user}")
BUCKETS = 256
"""Partitions of a tenant's directory."""

SETTINGS_SORT = KeyTemplate("st#tenant_settings")
CONFIG_SORT = KeyTemplate("si#{inbox}")
CONTENT_SORT = KeyTemplate("v#{version:04d}")
KEY_SORT = KeyTemplate("k")
ROW_SORT = KeyTemplate("m#{notification}")
COUNTS_SORT = KeyTemplate("c#*")
MAIL_CONFIG_SORT = KeyTemplate("se#{inbox}")
MAIL_SORT = KeyTemplate("w#{notification}")
DIGEST_SORT = KeyTemplate("g#{category}#{digest}")
EXPIRING_SORT = KeyTemplate("e#{at_ms:013d}#{notification}")
OF_NOTIFICATION = KeyTemplate("t#{tenant}M#{notification}")
OF_LOG = KeyTemplate("t#{tenant}B#{inbox}")
ENTRY_SORT = KeyTemplate("b#{sequence:012d}")
SEGMENT_SORT = KeyTemplate("sg#{segment}")
STATE_SORT = KeyTemplate("c#*#b")
PREFERENCES_SORT = KeyTemplate("c#*#p")
READER_SORT = KeyTemplate("r#{user}")
OF_KEY = KeyTemplate("t#{tenant}K#{inbox}#{origin}#{host_key}")

COUNT = NumberLimit(7)
BROADCAST = NumberLimit(9)

CONFIGURATION = (
    TableItem(
        "tenant settings",
        OF_TENANT,
        SETTINGS_SORT,
        {**CHANGED, "settings": BlobLimit(16 * 1024)},
        max_bytes=17 * 1024,
        holds="default values of a new inbox",
    ),
    TableItem(
        "inbox config",
        OF_TENANT,
        CONFIG_SORT,
        {
            **CHANGED,
            "title": TextLimit(256),
            "description": TextLimit(1024),
            "schema": BlobLimit(32 * 1024),
            "schema_version": NumberLimit(4),
            "categories": MapLimit(CATEGORIES, 64, NumberLimit(3)),
            "retired": ListLimit(CATEGORIES, NumberLimit(3)),
            "retention_days": NumberLimit(4),
            "expires_after_s": NumberLimit(9),
            "default_category": TextLimit(64),
            "known_users": FlagLimit(),
            # JSON: the default channels, and the settings of each category.
            "preferences": BlobLimit(16 * 1024),
        },
        max_bytes=56 * 1024,
        holds="message schema, channels, categories and their permanent codes",
        growth=Growth("planned: 1,000 inboxes of a tenant", 1_000),
    ),
    TableItem(
        "mail config",
        OF_TENANT,
        MAIL_CONFIG_SORT,
        {"version": VERSION, "updated_at": TIME, "config": BlobLimit(60 * 1024)},
        max_bytes=61 * 1024,
        holds="sender name and templates of the mails of an inbox",
        growth=Growth("at most one for each inbox", 1_000),
    ),
    TableItem(
        "segment",
        OF_TENANT,
        SEGMENT_SORT,
        {
            **CHANGED,
            "predicate": BlobLimit(8 * 1024),
            "list": FlagLimit(),
            "active": VERSION,
            "newest": VERSION,
        },
        max_bytes=9 * 1024,
        holds="a predicate, or a list and its active version",
        growth=Growth("planned: 10,000 segments of a tenant", 10_000),
    ),
)
PROFILE = TableItem(
    "profile",
    OF_BUCKET,
    PROFILE_SORT,
    {
        **CHANGED,
        "since": MS,
        "attributes": BlobLimit(4 * 1024),
        "lists": MapLimit(64, PART_BYTES["segment"], VERSION),
        # The version before: either the newest version or the one before it is active.
        "lists_before": MapLimit(64, PART_BYTES["segment"], VERSION),
    },
    max_bytes=15 * 1024,
    holds="attributes and lists of a user, written with the user's row; together they are the tenant's directory",
    growth=Growth("planned: 100 million users of a tenant in 256 parts", 100_000_000 // BUCKETS),
)


def profile_key(tenant: TenantId, user: UserId) -> dict[str, object]:
    """Return the key of a user's item in the tenant's directory."""
    bucket = stable_hash(user) % BUCKETS
    return {"PK": OF_BUCKET.render(tenant=tenant, bucket=bucket), "SK": PROFILE_SORT.render(user=user)}


BROADCAST_ENTRY = TableItem(
    "broadcast entry",
    OF_LOG,
    ENTRY_SORT,
    {
        "kind": TextLimit(16),
        "id": NOTIFICATION,
        "notification": NOTIFICATION,
        "at": MS,
        "category": NumberLimit(3),
        "segment": TextLimit(PART_BYTES["segment"]),
        "hashes": ListLimit(2, NumberLimit(5)),
        "expires_at_ms": MS,
        "tracked": FlagLimit(),
        "critical": FlagLimit(),
    },
    max_bytes=1024,
    holds="publish, ramp, halt, redact, in order; never deleted, because a sequence must not be used twice",
    growth=Growth("planned: 1,000 a day for 2.7 years", 1_000_000),
)
CONTENT = TableItem(
    "content",
    OF_NOTIFICATION,
    CONTENT_SORT,
    {
        "message": BlobLimit(32 * 1024),
        "sender": USER,
        "created_at": TIME,
        "ttl": SECONDS,
        "version": NumberLimit(4),
        "inbox": TextLimit(PART_BYTES["inbox"]),
        "category": NumberLimit(3),
        "job": NOTIFICATION,
        "recall": NOTIFICATION,
        "host_system_id": TextLimit(PART_BYTES["host_key"]),
        "label": TextLimit(256),
        "count": NumberLimit(6),
        "expires_at_ms": MS,
        "redacted": MS,
        "reach": TextLimit(PART_BYTES["segment"]),
        "tracked": FlagLimit(),
        "critical": FlagLimit(),
        "digest_key": TextLimit(PART_BYTES["digest"]),
    },
    max_bytes=34 * 1024,
    holds="`v#0000`: the current content of a notification, or its redaction; above it every version, immutable",
    growth=Growth("refused: more than 90 versions in addition to the current one", 91),
)
READER = TableItem(
    "reader of a broadcast",
    OF_NOTIFICATION,
    READER_SORT,
    {"at": MS},
    max_bytes=1024,
    holds="that a user has read a broadcast with read tracking",
    growth=Growth("planned: 20 million readers of a tracked broadcast", 20_000_000),
)
KEY = TableItem(
    "idempotency key",
    OF_KEY,
    KEY_SORT,
    {
        "notification": NOTIFICATION,
        "job": NOTIFICATION,
        "fingerprint": BlobLimit(32),
        "created_at": TIME,
        "ttl": SECONDS,
    },
    max_bytes=1024,
    holds="the notification that was sent with this key or `host_system_id`, or the job that adds members with it",
)
DIRECT = TableItem(
    "direct row",
    OF_USER,
    ROW_SORT,
    {
        "id": NOTIFICATION,
        "host_system_id": TextLimit(PART_BYTES["host_key"]),
        "category": NumberLimit(3),
        "received": MS,
        "delivered": MS,
        "readat": MS,
        "reopened": MS,
        "archived": MS,
        "redacted": MS,
        "expires_at_ms": MS,
        "excluded": TextLimit(16),
        "gathered": COUNT,
        "newest": NOTIFICATION,
        "withdrawn": MS,
        "digest_of": NOTIFICATION,
    },
    max_bytes=1024,
    holds="a reference to a notification, with the user's state",
    growth=Growth("planned: 1 million notifications in a user's inbox", 1_000_000),
)
COUNTS = TableItem(
    "direct counts",
    OF_USER,
    COUNTS_SORT,
    {
        "count": COUNT,
        # One attribute each, not a map: a delivery adds to them, and the item may not exist yet.
        **{f"n{code}": COUNT for code in range(1, CATEGORIES + 1)},
        # The last window of a throttled category, and the deliveries in it.
        **{f"t{code}": NumberLimit(12) for code in range(1, CATEGORIES + 1)},
        "unseen": COUNT,
        "read_before": MS,
        "category_read_before": MapLimit(CATEGORIES, 3, MS),
        "seen_before": MS,
        "kept_from": MS,
        "latest": MS,
        "version": VERSION,
        "last_updated": MS,
    },
    max_bytes=2 * 1024,
    holds="unread in total and per category, unseen, watermarks, the inbox's own time",
)
STATE = TableItem(
    "broadcast state",
    OF_USER,
    STATE_SORT,
    {
        "joined": BROADCAST,
        "read_before": BROADCAST,
        "category_read_before": MapLimit(CATEGORIES, 3, BROADCAST),
        "seen_before": BROADCAST,
        "read": SetLimit(LIVE_BROADCASTS, BROADCAST),
        # With the time: a mark of all up to an earlier time leaves it unread.
        "unread": MapLimit(LIVE_BROADCASTS, 12, MS),
        "archived": SetLimit(LIVE_BROADCASTS, BROADCAST),
        "version": VERSION,
        "last_updated": MS,
    },
    max_bytes=40 * 1024,
    holds="the user's state of broadcasts: join point, watermarks, sets",
)
PREFERENCES = TableItem(
    "preferences",
    OF_USER,
    PREFERENCES_SORT,
    {
        # Bits of the channels that are on, plus 16 times those that are off.
        "all": NumberLimit(3),
        "categories": MapLimit(CATEGORIES + 1, 3, NumberLimit(3)),
        "version": VERSION,
        "last_updated": MS,
    },
    max_bytes=1024,
    holds="the channels that the user has switched on or off, for all categories and for single ones",
)
EXPIRING = TableItem(
    "unread that expires",
    OF_USER,
    EXPIRING_SORT,
    {"category": NumberLimit(3), "since": MS, "delivered": MS},
    max_bytes=1024,
    holds="an unread notification with an expiry, while it is counted",
    growth=Growth("at most the user's notifications", 1_000_000),
)
DIGEST = TableItem(
    "digest",
    OF_USER,
    DIGEST_SORT,
    {"first": NOTIFICATION, "until": MS, "ttl": SECONDS},
    max_bytes=1024,
    holds="the notification that later ones with the same key join, and until when",
    growth=Growth("planned: 10,000 keys of a user in a week", 10_000),
)
MAIL = TableItem(
    "mail",
    OF_USER,
    MAIL_SORT,
    {
        "state": TextLimit(8),
        "at": MS,
        "attempts": NumberLimit(2),
        "until": MS,
        "reason": TextLimit(1024),
        "ttl": SECONDS,
    },
    max_bytes=2 * 1024,
    holds="what happened to the mail of a notification: the claim of a worker, then the result",
    growth=Growth("at most the user's notifications of 90 days", 1_000_000),
)
INBOX = (
    *CONFIGURATION,
    PROFILE,
    BROADCAST_ENTRY,
    CONTENT,
    READER,
    KEY,
    DIRECT,
    COUNTS,
    STATE,
    PREFERENCES,
    EXPIRING,
    DIGEST,
    MAIL,
    *JOBS,
)

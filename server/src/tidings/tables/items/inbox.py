"""Items of the one table of notices. Keys as the design's section 8 spells them."""

from tidings.kernel.ids import TenantId, UserId, hash_of
from tidings.tables.bounds import (
    MS,
    SECONDS,
    TIME,
    Attributes,
    Blob,
    Flag,
    ListOf,
    MapOf,
    Number,
    SetOf,
    Text,
)
from tidings.tables.items.chat import USER
from tidings.tables.keys import KeyTemplate
from tidings.tables.limits import CATEGORIES, CHUNK_PARTITIONS, CHUNK_USERS, LIVE_BROADCASTS, PART_BYTES
from tidings.tables.model import Growth, Item

OF_TENANT = KeyTemplate("t#{tenant}")
OF_USER = KeyTemplate("t#{tenant}U#{user}#{inbox}")
OF_BUCKET = KeyTemplate("t#{tenant}D#{bucket}")
PROFILE_SORT = KeyTemplate("u#{user}")
BUCKETS = 256
"""Parts of a tenant's directory."""
OF_JOB = KeyTemplate("t#{tenant}J#{job}")
JOBS_OF_TENANT = KeyTemplate("t#{tenant}L#{shard}")
SHARDS = 16
"""Of the jobs of a tenant, and of those that are due: one partition would be full at 500 sends a second."""

SETTINGS_SORT = KeyTemplate("st#tenant_settings")
CONFIG_SORT = KeyTemplate("si#{inbox}")
CONTENT_SORT = KeyTemplate("v#{version:04d}")
KEY_SORT = KeyTemplate("k")
ROW_SORT = KeyTemplate("m#{notice}")
COUNTS_SORT = KeyTemplate("c#*")
EXPIRING_SORT = KeyTemplate("e#{at_ms:013d}#{notice}")
JOB_SORT = KeyTemplate("job")
CHUNK_SORT = KeyTemplate("k#{chunk:06d}")
DONE_SORT = KeyTemplate("d#{chunk:06d}")
LISTED_SORT = KeyTemplate("jb#{job}")
DUE_SORT = KeyTemplate("{at_ms:013d}#{tenant}#{job}")
DUE = KeyTemplate("t#_Q#{shard}")
OF_NOTICE = KeyTemplate("t#{tenant}M#{notice}")
OF_LOG = KeyTemplate("t#{tenant}B#{inbox}")
ENTRY_SORT = KeyTemplate("b#{sequence:012d}")
SEGMENT_SORT = KeyTemplate("sg#{segment}")
STATE_SORT = KeyTemplate("c#*#b")
READER_SORT = KeyTemplate("r#{user}")
OF_KEY = KeyTemplate("t#{tenant}K#{inbox}#{origin}#{host_key}")

NOTICE = Text(PART_BYTES["notice"])
VERSION = Number(9)
COUNT = Number(7)
BROADCAST = Number(9)
_CHANGED: Attributes = {"created_at": TIME, "updated_at": TIME, "version": VERSION}

CONFIGURATION = (
    Item(
        "tenant settings",
        OF_TENANT,
        SETTINGS_SORT,
        {**_CHANGED, "settings": Blob(16 * 1024)},
        max_bytes=17 * 1024,
        holds="what an inbox has if nothing else is said when it is set",
    ),
    Item(
        "inbox config",
        OF_TENANT,
        CONFIG_SORT,
        {
            **_CHANGED,
            "title": Text(256),
            "description": Text(1024),
            "schema": Blob(32 * 1024),
            "schema_version": Number(4),
            "categories": MapOf(CATEGORIES, 64, Number(3)),
            "retired": ListOf(CATEGORIES, Number(3)),
            "retention_days": Number(4),
            "expires_after_s": Number(9),
            "default_category": Text(64),
            "known_users": Flag(),
        },
        max_bytes=40 * 1024,
        holds="schema of payloads, categories and their permanent codes",
        growth=Growth("planned: 1,000 inboxes of a tenant", 1_000),
    ),
    Item(
        "segment",
        OF_TENANT,
        SEGMENT_SORT,
        {**_CHANGED, "predicate": Blob(8 * 1024), "list": Flag(), "active": VERSION, "newest": VERSION},
        max_bytes=9 * 1024,
        holds="a predicate, or a list and its active version",
        growth=Growth("planned: 10,000 segments of a tenant", 10_000),
    ),
)
PROFILE = Item(
    "profile",
    OF_BUCKET,
    PROFILE_SORT,
    {
        **_CHANGED,
        "since": MS,
        "attributes": Blob(4 * 1024),
        "lists": MapOf(64, PART_BYTES["segment"], VERSION),
        # the version before: who is in both is in whichever is active
        "lists_before": MapOf(64, PART_BYTES["segment"], VERSION),
    },
    max_bytes=15 * 1024,
    holds="attributes and lists of a user; written with the user's row, so all of them are the tenant's directory",
    growth=Growth("planned: 100 million users of a tenant in 256 parts", 100_000_000 // BUCKETS),
)


def profile_key(tenant: TenantId, user: UserId) -> dict[str, object]:
    """Where the user's item in the tenant's directory is."""
    bucket = hash_of(user) % BUCKETS
    return {"PK": OF_BUCKET.render(tenant=tenant, bucket=bucket), "SK": PROFILE_SORT.render(user=user)}


BROADCAST_ENTRY = Item(
    "broadcast entry",
    OF_LOG,
    ENTRY_SORT,
    {
        "kind": Text(16),
        "id": NOTICE,
        "notice": NOTICE,
        "at": MS,
        "category": Number(3),
        "segment": Text(PART_BYTES["segment"]),
        "hashes": ListOf(2, Number(5)),
        "expires_at_ms": MS,
        "tracked": Flag(),
    },
    max_bytes=1024,
    holds="publish, ramp, halt, redact, in order; never deleted, or a sequence would be given twice",
    growth=Growth("planned: 1,000 a day for 2.7 years", 1_000_000),
)
CONTENT = Item(
    "content",
    OF_NOTICE,
    CONTENT_SORT,
    {
        "message": Blob(32 * 1024),
        "sender": USER,
        "created_at": TIME,
        "ttl": SECONDS,
        "version": Number(4),
        "inbox": Text(PART_BYTES["inbox"]),
        "category": Number(3),
        "job": NOTICE,
        "recall": NOTICE,
        "host_system_id": Text(PART_BYTES["host_key"]),
        "label": Text(256),
        "count": Number(6),
        "expires_at_ms": MS,
        "redacted": MS,
        "reach": Text(PART_BYTES["segment"]),
        "tracked": Flag(),
    },
    max_bytes=34 * 1024,
    holds="`v#0000`: what a notice says now, or that it was redacted; above it every version, immutable",
    growth=Growth("refused: more than 90 versions beside the current one", 91),
)
READER = Item(
    "reader of a broadcast",
    OF_NOTICE,
    READER_SORT,
    {"at": MS},
    max_bytes=1024,
    holds="that a user has read a broadcast that was sent to be tracked",
    growth=Growth("planned: 20 million readers of a tracked broadcast", 20_000_000),
)
KEY = Item(
    "idempotency key",
    OF_KEY,
    KEY_SORT,
    {"notice": NOTICE, "job": NOTICE, "fingerprint": Blob(32), "created_at": TIME, "ttl": SECONDS},
    max_bytes=1024,
    holds="what was sent under this key or `host_system_id`",
)
DIRECT = Item(
    "direct row",
    OF_USER,
    ROW_SORT,
    {
        "id": NOTICE,
        "host_system_id": Text(PART_BYTES["host_key"]),
        "category": Number(3),
        "received": MS,
        "delivered": MS,
        "readat": MS,
        "reopened": MS,
        "archived": MS,
        "redacted": MS,
        "expires_at_ms": MS,
    },
    max_bytes=1024,
    holds="a pointer to a notice, and what the user did with it",
    growth=Growth("planned: 1 million notices in a user's inbox", 1_000_000),
)
COUNTS = Item(
    "direct counts",
    OF_USER,
    COUNTS_SORT,
    {
        "count": COUNT,
        # flat, because a delivery adds to them without knowing whether the item is there
        **{f"n{code}": COUNT for code in range(1, CATEGORIES + 1)},
        "unseen": COUNT,
        "read_before": MS,
        "category_read_before": MapOf(CATEGORIES, 3, MS),
        "seen_before": MS,
        "kept_from": MS,
        "latest": MS,
        "version": VERSION,
        "last_updated": MS,
    },
    max_bytes=2 * 1024,
    holds="unread in all and per category, unseen, watermarks, the inbox's own time",
)
STATE = Item(
    "broadcast state",
    OF_USER,
    STATE_SORT,
    {
        "joined": BROADCAST,
        "read_before": BROADCAST,
        "category_read_before": MapOf(CATEGORIES, 3, BROADCAST),
        "seen_before": BROADCAST,
        "read": SetOf(LIVE_BROADCASTS, BROADCAST),
        # with the time: a mark of all up to an earlier one leaves it unread
        "unread": MapOf(LIVE_BROADCASTS, 12, MS),
        "archived": SetOf(LIVE_BROADCASTS, BROADCAST),
        "version": VERSION,
        "last_updated": MS,
    },
    max_bytes=40 * 1024,
    holds="what the user did with broadcasts: join point, watermarks, sets",
)
EXPIRING = Item(
    "unread that expires",
    OF_USER,
    EXPIRING_SORT,
    {"category": Number(3), "since": MS, "delivered": MS},
    max_bytes=1024,
    holds="stands while an unread notice that expires is counted",
    growth=Growth("no more than the user's notices", 1_000_000),
)
JOBS = (
    Item(
        "job",
        OF_JOB,
        JOB_SORT,
        {
            **_CHANGED,
            "kind": Text(16),
            "state": Text(16),
            "inbox": Text(PART_BYTES["inbox"]),
            "notice": NOTICE,
            "total": Number(10),
            "chunks": Number(6),
            "source": NOTICE,
            "starts": MS,
            "percent": Number(3),
            "ttl": SECONDS,
        },
        max_bytes=1024,
        holds="what is to be done and in which state it is",
    ),
    Item(
        "chunk",
        OF_JOB,
        CHUNK_SORT,
        # as lasting as the notices of the inbox: a recall goes through them
        {"uids": ListOf(CHUNK_USERS, USER), "ttl": SECONDS},
        max_bytes=7 * 1024,
        holds="at most 100 users; immutable",
        growth=Growth("refused: more than 100,000 users of a notice", 1_000),
    ),
    Item(
        "done mark",
        OF_JOB,
        DONE_SORT,
        # outlasts the job itself: without them it would look as if it had yet to be done
        {"done": Number(3), "failed": ListOf(CHUNK_USERS, USER), "at": MS, "ttl": SECONDS},
        max_bytes=7 * 1024,
        holds="that a chunk is done, and for whom it failed",
        growth=Growth("one for each chunk", 1_000),
    ),
    Item(
        "job of a tenant",
        JOBS_OF_TENANT,
        LISTED_SORT,
        {"kind": Text(16), "inbox": Text(PART_BYTES["inbox"]), "created_at": TIME, "ttl": SECONDS},
        max_bytes=1024,
        holds="for the list of jobs",
        growth=Growth("planned: 16 million jobs of a tenant in 16 parts", 1_000_000),
    ),
    Item(
        "job due",
        DUE,
        DUE_SORT,
        {
            "created_at": TIME,
            "seen": Number(6),
            "tries": Number(3),
            # the ends of partitions behind whose lag its chunks may wait, by the partition's number
            "fences": MapOf(CHUNK_PARTITIONS, 2, Number(18)),
        },
        max_bytes=2 * 1024,
        holds="a job that waits for its time or runs",
        growth=Growth("planned: 1.6 million jobs at a time in 16 parts", 100_000),
    ),
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
    EXPIRING,
    *JOBS,
)

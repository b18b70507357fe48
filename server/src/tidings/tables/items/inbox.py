"""Items of the one table of notices. Keys as the design's section 8 spells them."""

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
from tidings.tables.limits import CATEGORIES, CHUNK_USERS, LIVE_BROADCASTS, PART_BYTES
from tidings.tables.model import Item

OF_TENANT = KeyTemplate("t#{tenant}")
OF_USER = KeyTemplate("t#{tenant}U#{user}#{inbox}")
OF_JOB = KeyTemplate("t#{tenant}J#{job}")

NOTICE = Text(PART_BYTES["notice"])
VERSION = Number(9)
COUNT = Number(7)
BROADCAST = Number(9)
_CHANGED: Attributes = {"created_at": TIME, "updated_at": TIME, "version": VERSION}

CONFIGURATION = (
    Item(
        "tenant settings",
        OF_TENANT,
        KeyTemplate("st#tenant_settings"),
        {**_CHANGED, "settings": Blob(16 * 1024)},
        max_bytes=17 * 1024,
        holds="what holds for every inbox of the tenant",
    ),
    Item(
        "inbox config",
        OF_TENANT,
        KeyTemplate("si#{inbox}"),
        {
            **_CHANGED,
            "title": Text(256),
            "description": Text(1024),
            "schema": Blob(32 * 1024),
            "categories": MapOf(CATEGORIES, 64, Number(3)),
            "known_users": Flag(),
        },
        max_bytes=40 * 1024,
        holds="schema of payloads, categories and their permanent codes",
    ),
    Item(
        "segment",
        OF_TENANT,
        KeyTemplate("sg#{segment}"),
        {**_CHANGED, "predicate": Blob(8 * 1024), "list": Text(64), "active": VERSION},
        max_bytes=9 * 1024,
        holds="a predicate, or a list and its active version",
    ),
)
PROFILE = Item(
    "profile",
    KeyTemplate("t#{tenant}D#{bucket}"),
    KeyTemplate("u#{user}"),
    {**_CHANGED, "attributes": Blob(4 * 1024), "lists": MapOf(64, 64, VERSION)},
    max_bytes=10 * 1024,
    holds="attributes and lists of a user; all of them are the tenant's directory",
)
BROADCAST_ENTRY = Item(
    "broadcast entry",
    KeyTemplate("t#{tenant}B#{inbox}"),
    KeyTemplate("b#{sequence:012d}"),
    {
        "kind": Text(16),
        "notice": NOTICE,
        "content_version": Number(4),
        "category": Number(3),
        "segment": Text(PART_BYTES["segment"]),
        "hashes": ListOf(2, Number(10)),
        "refers_to": BROADCAST,
        "client_message_id": Text(PART_BYTES["host_key"]),
        "fingerprint": Blob(32),
        "expires_at_ms": MS,
        "created_at": TIME,
        "ttl": SECONDS,
    },
    max_bytes=1024,
    holds="publish, ramp, redact, amend, in order",
)
CONTENT = Item(
    "content",
    KeyTemplate("t#{tenant}M#{notice}"),
    KeyTemplate("v#{version:04d}"),
    {"message": Blob(32 * 1024), "sender": USER, "created_at": TIME, "ttl": SECONDS},
    max_bytes=33 * 1024,
    holds="one version of a notice's content; immutable",
)
KEY = Item(
    "idempotency key",
    KeyTemplate("t#{tenant}K#{inbox}#{origin}#{host_key}"),
    KeyTemplate("k"),
    {"notice": NOTICE, "job": NOTICE, "fingerprint": Blob(32), "created_at": TIME, "ttl": SECONDS},
    max_bytes=1024,
    holds="what was sent under this key or `host_system_id`",
)
DIRECT = Item(
    "direct row",
    OF_USER,
    KeyTemplate("m#{notice}"),
    {
        "id": NOTICE,
        "host_system_id": Text(PART_BYTES["host_key"]),
        "category": Number(3),
        "content_version": Number(4),
        "job": NOTICE,
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
)
COUNTS = Item(
    "direct counts",
    OF_USER,
    KeyTemplate("c#*"),
    {
        "count": COUNT,
        "categories": MapOf(CATEGORIES, 3, COUNT),
        "read_before": MS,
        "category_read_before": MapOf(CATEGORIES, 3, MS),
        "version": VERSION,
        "last_updated": MS,
    },
    max_bytes=2 * 1024,
    holds="unread in all and per category, mark-all watermarks",
)
STATE = Item(
    "broadcast state",
    OF_USER,
    KeyTemplate("c#*#b"),
    {
        "joined": BROADCAST,
        "read_before": BROADCAST,
        "category_read_before": MapOf(CATEGORIES, 3, BROADCAST),
        "read": SetOf(LIVE_BROADCASTS, BROADCAST),
        "unread": SetOf(LIVE_BROADCASTS, BROADCAST),
        "archived": SetOf(LIVE_BROADCASTS, BROADCAST),
        "version": VERSION,
        "last_updated": MS,
    },
    max_bytes=20 * 1024,
    holds="what the user did with broadcasts: join point, watermarks, sets",
)
EXPIRING = Item(
    "unread that expires",
    OF_USER,
    KeyTemplate("e#{at_ms:013d}#{notice}"),
    {"category": Number(3)},
    max_bytes=1024,
    holds="stands while an unread notice that expires is counted",
)
JOBS = (
    Item(
        "job",
        OF_JOB,
        KeyTemplate("job"),
        {
            **_CHANGED,
            "kind": Text(16),
            "state": Text(16),
            "inbox": Text(PART_BYTES["inbox"]),
            "notice": NOTICE,
            "total": Number(10),
            "chunks": Number(6),
            "failed": Number(10),
            "holder": Text(128),
            "until_ms": MS,
            "ttl": SECONDS,
        },
        max_bytes=1024,
        holds="what is to be done and in which state it is",
    ),
    Item(
        "chunk",
        OF_JOB,
        KeyTemplate("k#{chunk:06d}"),
        {"uids": ListOf(CHUNK_USERS, USER), "ttl": SECONDS},
        max_bytes=7 * 1024,
        holds="at most 100 users; immutable",
    ),
    Item(
        "done mark",
        OF_JOB,
        KeyTemplate("d#{chunk:06d}"),
        {"done": Number(3), "failed": ListOf(CHUNK_USERS, USER), "at": TIME, "ttl": SECONDS},
        max_bytes=7 * 1024,
        holds="that a chunk is done, and for whom it failed",
    ),
    Item(
        "job of a tenant",
        OF_TENANT,
        KeyTemplate("jb#{job}"),
        {"kind": Text(16), "inbox": Text(PART_BYTES["inbox"]), "created_at": TIME, "ttl": SECONDS},
        max_bytes=1024,
        holds="for the list of jobs",
    ),
    Item(
        "job due",
        KeyTemplate("t#_Q#{shard}"),
        KeyTemplate("{at_ms:013d}#{tenant}#{job}"),
        {"created_at": TIME},
        max_bytes=1024,
        holds="a job that waits for its time or runs",
    ),
)
INBOX = (*CONFIGURATION, PROFILE, BROADCAST_ENTRY, CONTENT, KEY, DIRECT, COUNTS, STATE, EXPIRING, *JOBS)

"""Items of jobs in the table `inbox`."""

from tidings.schema.tables.items.chats import USER
from tidings.schema.tables.limits import (
    CHUNK_PARTITIONS,
    CHUNK_USERS,
    MS,
    PART_BYTES,
    SECONDS,
    TIME,
    AttributeLimits,
    BlobLimit,
    ListLimit,
    MapLimit,
    NumberLimit,
    TextLimit,
)
from tidings.schema.tables.model import Growth, KeyTemplate, TableItem

OF_JOB = KeyTemplate("t#{tenant}J#{job}")
JOBS_OF_TENANT = KeyTemplate("t#{tenant}L#{shard}")
SHARDS = 16
"""Partitions of a tenant's job list and of due jobs: one partition would reach its limit at 500 sends a second."""
JOB_SORT = KeyTemplate("job")
CHUNK_SORT = KeyTemplate("k#{chunk:06d}")
DONE_SORT = KeyTemplate("d#{chunk:06d}")
LISTED_SORT = KeyTemplate("jb#{job}")
DUE_SORT = KeyTemplate("{at_ms:013d}#{tenant}#{job}")
DUE = KeyTemplate("t#_Q#{shard}")
EXPORT_OF_USER = KeyTemplate("t#{tenant}X#{user}")
EXPORT_SORT = KeyTemplate("export")

NOTIFICATION = TextLimit(PART_BYTES["notification"])
VERSION = NumberLimit(9)
CHANGED: AttributeLimits = {"created_at": TIME, "updated_at": TIME, "version": VERSION}

JOBS = (
    TableItem(
        "job",
        OF_JOB,
        JOB_SORT,
        {
            **CHANGED,
            "kind": TextLimit(16),
            "state": TextLimit(16),
            "inbox": TextLimit(PART_BYTES["inbox"]),
            "notification": NOTIFICATION,
            "total": NumberLimit(10),
            "chunks": NumberLimit(6),
            "source": NOTIFICATION,
            "starts": MS,
            "percent": NumberLimit(3),
            "chat": TextLimit(PART_BYTES["chat"]),
            "user": USER,
            "chunk_users": NumberLimit(3),
            "attempt": NumberLimit(2),
            "ttl": SECONDS,
        },
        max_bytes=1024,
        holds="kind, state and size of a job",
    ),
    TableItem(
        "chunk",
        OF_JOB,
        CHUNK_SORT,
        # Stored at least as long as the notifications of the inbox: a recall reads them.
        {"uids": ListLimit(CHUNK_USERS, USER), "ttl": SECONDS},
        max_bytes=7 * 1024,
        holds="at most 100 users; immutable",
        growth=Growth("refused: more than 100,000 users of a notification or a group", 1_042),
    ),
    TableItem(
        "done mark",
        OF_JOB,
        DONE_SORT,
        # Stored longer than the job: without its marks, a job would run again.
        {"done": NumberLimit(3), "failed": ListLimit(CHUNK_USERS, USER), "at": MS, "ttl": SECONDS},
        max_bytes=7 * 1024,
        holds="that a chunk is done, and the users that failed",
        growth=Growth("one for each chunk", 1_042),
    ),
    TableItem(
        "job of a tenant",
        JOBS_OF_TENANT,
        LISTED_SORT,
        {"kind": TextLimit(16), "inbox": TextLimit(PART_BYTES["inbox"]), "created_at": TIME, "ttl": SECONDS},
        max_bytes=1024,
        holds="an entry of the tenant's list of jobs",
        growth=Growth("planned: 16 million jobs of a tenant in 16 parts", 1_000_000),
    ),
    TableItem(
        "job due",
        DUE,
        DUE_SORT,
        {
            "created_at": TIME,
            "seen": NumberLimit(6),
            "tries": NumberLimit(3),
            # Offsets of partitions by number: chunks before them may wait because consumers lag.
            "fences": MapLimit(CHUNK_PARTITIONS, 2, NumberLimit(18)),
        },
        max_bytes=2 * 1024,
        holds="the next check of a job that is scheduled or runs",
        growth=Growth("planned: 1.6 million jobs at a time in 16 parts", 100_000),
    ),
    TableItem(
        "export of a user",
        EXPORT_OF_USER,
        EXPORT_SORT,
        {
            "export_id": TextLimit(PART_BYTES["job"]),
            "export_state": TextLimit(8),
            "requested_by": TextLimit(256),
            "requested_ms": MS,
            "finished_ms": MS,
            # The number of the worker's turn. A worker with an older one stores nothing.
            "turn": NumberLimit(9),
            "cursor": BlobLimit(4096),
            "counts": BlobLimit(256),
            "archive_bytes": NumberLimit(15),
            "failure": TextLimit(64),
            "ttl": SECONDS,
        },
        max_bytes=6 * 1024,
        holds="the last export of a user: its state, the cursor of its next step, and the size of its archive",
    ),
)

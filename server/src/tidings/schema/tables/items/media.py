"""Items of attachments: uploads, and the bytes of a tenant."""

from tidings.kernel.ids import TenantId, stable_hash
from tidings.schema.tables.items.chats import CLIENT_KEY, USER
from tidings.schema.tables.limits import MS, PART_BYTES, SEQUENCE, BlobLimit, NumberLimit, TextLimit
from tidings.schema.tables.model import Growth, KeyTemplate, TableItem

SHARDS = 16
"""Partitions of a tenant. A partition takes about 500 new uploads a second. Part of the keys: never change it."""
FILES_OF_A_SHARD = 2_000_000
MAX_NAME_BYTES = 255
MAX_TYPE_BYTES = 127

SHARD = KeyTemplate("{tenant}#{shard:02d}")
UPLOAD_SORT = KeyTemplate("{upload}")
TOTAL_SORT = KeyTemplate("total")

UPLOAD = TableItem(
    "upload",
    SHARD,
    UPLOAD_SORT,
    {
        "upload_state": TextLimit(8),
        "owner_id": USER,
        "chat_id": TextLimit(PART_BYTES["chat"]),
        "file_name": TextLimit(MAX_NAME_BYTES),
        "media_type": TextLimit(MAX_TYPE_BYTES),
        "size_bytes": NumberLimit(13),
        "sha256": TextLimit(44),
        "multipart_id": TextLimit(256),
        "created_ms": MS,
        "expires_ms": MS,
        "message_sequence": SEQUENCE,
        "client_message_id": CLIENT_KEY,
        "check_state": TextLimit(8),
        "facts": BlobLimit(1024),
    },
    max_bytes=3 * 1024,
    holds="an upload: its owner and chat, its state, and what the media worker found out about the file",
    growth=Growth("32 million files of a tenant in 16 partitions", FILES_OF_A_SHARD),
)
TOTAL = TableItem(
    "upload total",
    SHARD,
    TOTAL_SORT,
    {"total_bytes": NumberLimit(15)},
    max_bytes=256,
    holds="the bytes of all uploads of the partition, changed in one transaction with their rows",
    growth=Growth("one for each partition", 1),
)


def shard_of(upload: str) -> int:
    return stable_hash(upload) % SHARDS


def shard_key(tenant: TenantId, shard: int) -> str:
    return SHARD.render(tenant=tenant, shard=shard)


def upload_key(tenant: TenantId, upload: str) -> dict[str, str]:
    return {"tenant_shard": shard_key(tenant, shard_of(upload)), "upload": UPLOAD_SORT.render(upload=upload)}

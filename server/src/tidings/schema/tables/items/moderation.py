"""Items of moderation: reports, and the reviews that gather them."""

from typing import Final

from tidings.kernel.ids import TenantId, stable_hash
from tidings.schema.tables.items.chats import USER
from tidings.schema.tables.limits import (
    MS,
    REASON_BYTES,
    SEAL_BYTES,
    SECONDS,
    BlobLimit,
    NumberLimit,
    SetLimit,
    TextLimit,
)
from tidings.schema.tables.model import Growth, KeyTemplate, TableItem

QUEUE_SHARDS = 4
"""Index partitions of a queue: about 4,000 new reviews of a tenant a second. Part of the keys: never change it."""
MAX_REPORTS = 1_000
"""Reports of a target that are stored."""
REVIEW_RETENTION_S = 180 * 24 * 3600
MESSAGE_REVIEW = "m."
"""The start of the id of a review of a message."""
OPEN: Final = "open"
"""The state of a review without a decision."""
WAITING: Final = "waiting"
"""The queue of reviews without a decision, or with one that was not carried out."""
CONTENT_RULE: Final = "content_rule"
"""The reason of a review that the append of a flagged message opens."""
REPORT_TEXT_BYTES = 800  # 200 characters of UTF-8
REPORT_REASONS = 8

TARGET = KeyTemplate("{tenant}#{review}")
REVIEW_SORT = KeyTemplate("review")
REPORT_SORT = KeyTemplate("report#{user}")
QUEUE = KeyTemplate("{tenant}#{queue}#{shard:02d}")
QUEUED_AT = KeyTemplate("{at_ms:013d}#{review}")
REPORTS_OF_TARGET = "report#"

DECISION = ("decision_id", "decision_action", "decided_by", "decided_ms", "until_ms", "decision_reason")
"""The attributes of a decision, which a review has once it is decided."""

REVIEW = TableItem(
    "review",
    TARGET,
    REVIEW_SORT,
    {
        "review_state": TextLimit(8),
        "author_id": USER,
        "report_count": NumberLimit(6),
        "reasons": SetLimit(REPORT_REASONS, TextLimit(16)),
        "opened_ms": MS,
        "reported_ms": MS,
        "queue_shard": TextLimit(QUEUE.max_bytes),
        "queued_at": TextLimit(QUEUED_AT.max_bytes),
        "decision_id": TextLimit(26),
        "decision_action": TextLimit(8),
        "decided_by": TextLimit(128),
        "decided_ms": MS,
        "until_ms": NumberLimit(15),
        "decision_reason": TextLimit(REASON_BYTES),
        "ttl": SECONDS,
    },
    max_bytes=2 * 1024,
    holds="a reported message or user: the number of reports, the state in the review queue, and the decision",
    growth=Growth("one for each target", 1),
)
REPORT = TableItem(
    "report",
    TARGET,
    REPORT_SORT,
    {
        "reason": TextLimit(16),
        "report_text": BlobLimit(REPORT_TEXT_BYTES + SEAL_BYTES),
        "created_ms": MS,
        "ttl": SECONDS,
    },
    max_bytes=2 * 1024,
    holds="the report of one user; the text is sealed with their key",
    growth=Growth("further reports are not stored", MAX_REPORTS),
)


def review_key(tenant: TenantId, review: str) -> dict[str, str]:
    return {"target": TARGET.render(tenant=tenant, review=review), "item": REVIEW_SORT.render()}


def report_key(tenant: TenantId, review: str, user: str) -> dict[str, str]:
    return {
        "target": TARGET.render(tenant=tenant, review=review),
        "item": REPORT_SORT.render(user=user),
    }


def queue_keys(tenant: TenantId, queue: str, at_ms: int, review: str) -> dict[str, str]:
    """Return the attributes that place a review in the index."""
    shard = stable_hash(review) % QUEUE_SHARDS
    return {
        "queue_shard": QUEUE.render(tenant=tenant, queue=queue, shard=shard),
        "queued_at": QUEUED_AT.render(at_ms=at_ms, review=review),
    }

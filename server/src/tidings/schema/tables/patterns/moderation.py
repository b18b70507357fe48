"""Access patterns of reports and of the review queue."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS, MESSAGES, REPORTS, UPLOADS
from tidings.schema.tables.patterns.builders import (
    PatternRole,
    batch_get,
    batch_write,
    get,
    query,
    query_index,
    transact,
    update,
)

READ_REVIEW = get(
    "reports.read_review", REPORTS, "target, review", PatternRole.AUTHORISES, "A review, before it changes."
)
READ_REVIEWS = batch_get(
    "reports.read_reviews",
    REPORTS,
    "target, review",
    PatternRole.SHOWS,
    "The reviews of a page of the queue.",
    consistency=Consistency.STRONG,
)
ADD_REPORT = transact(
    "reports.add",
    (REPORTS,),
    "target, report of the user, if absent; target, review, if its state is as read",
    "Store a report, and count it in the review of its target.",
)
LIST_TARGET = query(
    "reports.list_target",
    REPORTS,
    "target",
    PatternRole.MAINTAINS,
    "The review about an erased user, and its reports.",
)
DELETE_TARGET = batch_write(
    "reports.delete_target",
    REPORTS,
    "target, item",
    "Delete the review about an erased user.",
    role=PatternRole.MAINTAINS,
)
CHANGE_REVIEW = update(
    "reports.change_review",
    REPORTS,
    "target, review, if its state and decision are as read",
    "Record a decision, its end, or that it could not be carried out.",
)
APPEND_FLAGGED = transact(
    "messages.append_flagged",
    (MESSAGES, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS, UPLOADS, REPORTS),
    "entry at head + 1 if absent; target, review; and all other items of the message or the edit",
    "Append a message or an edit that the tenant's lists flag: it enters the review queue, or nothing was written.",
)
LIST_REPORTS = query(
    "reports.list", REPORTS, "target, report", PatternRole.SHOWS, "The reports of a target, by user."
)
LIST_QUEUE = query_index(
    "reports.list_queue",
    REPORTS,
    "queue_shard, queued_at",
    PatternRole.SHOWS,
    "One shard of a tenant's review queue, by time.",
    index="review_queue-index",
)

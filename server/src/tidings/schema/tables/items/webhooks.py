"""Items of webhooks: endpoints, queued events and the delivery log."""

from tidings.schema.tables.items.accounts import ROW_MAC, TENANT
from tidings.schema.tables.limits import (
    MS,
    PART_BYTES,
    SEAL_BYTES,
    SECONDS,
    SEQUENCE,
    TIME,
    AttributeLimits,
    BlobLimit,
    ListLimit,
    NumberLimit,
    TextLimit,
)
from tidings.schema.tables.model import Growth, KeyTemplate, TableItem

ENDPOINT_KEY = KeyTemplate("hook#{endpoint}")
QUEUE = KeyTemplate("{tenant}#{endpoint}")
RUN_KEY = KeyTemplate("run#{chat}")
REPLAYED_RUN_KEY = KeyTemplate("replayed#{chat}")
EVENT_KEY = KeyTemplate("event#{event}")
REPLAY_KEY = KeyTemplate("replay#{key}")
BACKLOGS = KeyTemplate("_system#backlogs")
BACKLOG_KEY = KeyTemplate("{tenant}#{endpoint}")
DISABLED = KeyTemplate("_system#disabled")
DELIVERIES = KeyTemplate("{tenant}#{endpoint}#deliveries")
DELIVERY_KEY = KeyTemplate("{at_ms:013d}#{event}")

MAX_ENDPOINTS = 20
MAX_BACKLOG = 100_000
_REASON = TextLimit(256)

ENDPOINT = TableItem(
    "webhook endpoint",
    TENANT,
    ENDPOINT_KEY,
    {
        "settings": BlobLimit(4096),
        "secrets": ListLimit(8, BlobLimit(64 + SEAL_BYTES)),
        "expiries": ListLimit(8, MS),
        "version": NumberLimit(9),
        "created_at": TIME,
        "updated_at": TIME,
        "mac": ROW_MAC,
    },
    max_bytes=6 * 1024,
    holds="URL, event types and status of a webhook endpoint or of the before-send hook, and its signing secrets, "
    "encrypted with the tenant's key",
    growth=Growth(f"at most {MAX_ENDPOINTS} endpoints of a tenant", MAX_ENDPOINTS),
)

_RUN: AttributeLimits = {
    "first": SEQUENCE,
    "last": SEQUENCE,
    "attempts": NumberLimit(3),
    "due_ms": MS,
    "tried_ms": MS,
    "status": NumberLimit(3),
    "reason": _REASON,
}
QUEUED_RUN = TableItem(
    "queued run",
    QUEUE,
    RUN_KEY,
    _RUN,
    max_bytes=1024,
    holds="entries of one chat that wait for the endpoint, from `first` to `last`. Their content is in the log. "
    "`due_ms` is the time of the next attempt; a worker that makes one moves it forward",
    growth=Growth("the endpoint is disabled above this number", MAX_BACKLOG),
)
REPLAYED_RUN = TableItem(
    "replayed run",
    QUEUE,
    REPLAYED_RUN_KEY,
    _RUN,
    max_bytes=1024,
    holds="the same for a replay, apart from the queue so that new events do not wait for it",
    growth=Growth("as above", MAX_BACKLOG),
)
QUEUED_EVENT = TableItem(
    "queued event",
    QUEUE,
    EVENT_KEY,
    {**_RUN, "body": BlobLimit(16 * 1024), "order": SEQUENCE},
    max_bytes=17 * 1024,
    holds="an event that is not an entry of a log. It has ids, never content: what users write is encrypted elsewhere. "
    "`order` of a read is its position: a lower one does not replace it",
    growth=Growth("the endpoint is disabled above this number", MAX_BACKLOG),
)
REPLAY_REQUEST = TableItem(
    "replay request",
    QUEUE,
    REPLAY_KEY,
    {**_RUN, "since_ms": MS},
    max_bytes=1024,
    holds="a replay that a worker has not queued yet",
    growth=Growth("planned: one a minute for an hour", 60),
)
BACKLOG = TableItem(
    "backlog",
    BACKLOGS,
    BACKLOG_KEY,
    {
        "version": NumberLimit(12),
        "due_ms": MS,
        "leased_ms": MS,
        "failing_ms": MS,
        "retry_ms": MS,
    },
    max_bytes=512,
    holds="an endpoint with queued items: when to read them, the lease of the worker that does, and since when every "
    "attempt has failed",
    growth=Growth("planned: 100,000 endpoints that fail at the same time", 100_000),
)
DISABLED_ENDPOINT = TableItem(
    "disabled endpoint",
    DISABLED,
    BACKLOG_KEY,
    {"reason": _REASON, "at_ms": MS, "ttl": SECONDS},
    max_bytes=512,
    holds="an endpoint that was disabled automatically, for the doctor, until it is enabled or deleted, or for 30 days",
    growth=Growth("planned: 10,000 disabled endpoints", 10_000),
)
DELIVERY = TableItem(
    "delivery",
    DELIVERIES,
    DELIVERY_KEY,
    {
        "type": TextLimit(32),
        "chat": TextLimit(PART_BYTES["chat"]),
        "sequence": SEQUENCE,
        "attempt": NumberLimit(3),
        "status": NumberLimit(3),
        "latency_ms": MS,
        "next_ms": MS,
        "outcome": TextLimit(16),
        "reason": _REASON,
        "ttl": SECONDS,
    },
    max_bytes=1024,
    holds="one attempt to deliver an event: status and latency of the answer, or the reason of the failure, and when the "
    "next attempt follows",
    growth=Growth("planned: 10 million attempts of an endpoint in the week of the TTL", 10_000_000),
)

WEBHOOKS = (QUEUED_RUN, REPLAYED_RUN, QUEUED_EVENT, REPLAY_REQUEST, BACKLOG, DISABLED_ENDPOINT, DELIVERY)

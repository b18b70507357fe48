"""Access patterns of webhooks."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import TENANTS, WEBHOOKS
from tidings.schema.tables.patterns.builders import PatternRole, batch_write, delete, get, put, query, update

PUT_ENDPOINT = put(
    "tenants.put_hook",
    TENANTS,
    "tenant, hook#id, if absent or of the version that was read",
    "Create or change a webhook endpoint.",
)
READ_ENDPOINT = get(
    "tenants.read_hook", TENANTS, "tenant, hook#id", PatternRole.AUTHORISES, "One webhook endpoint."
)
LIST_ENDPOINTS = query(
    "tenants.list_hooks",
    TENANTS,
    "tenant, begins with hook#",
    PatternRole.DELIVERS,
    "The webhook endpoints of a tenant; cached.",
)
DELETE_ENDPOINT = delete("tenants.delete_hook", TENANTS, "tenant, hook#id", "Delete a webhook endpoint.")
QUEUE_RUN = update(
    "webhooks.queue_run",
    WEBHOOKS,
    "tenant#endpoint, run#chat or replayed#chat",
    "Entries of a chat wait for an endpoint: create the run, or extend it.",
)
EXTEND_RUN = update(
    "webhooks.extend_run",
    WEBHOOKS,
    "tenant#endpoint, run#chat, if it exists",
    "Later entries wait behind those that are queued.",
)
QUEUE_ITEMS = batch_write(
    "webhooks.queue_items",
    WEBHOOKS,
    "tenant#endpoint, event#id or replay#id",
    "Queue events that are not in a log, or request a replay.",
)
QUEUE_NEWER = put(
    "webhooks.queue_newer",
    WEBHOOKS,
    "tenant#endpoint, event#id, if absent or of a lower order",
    "Queue an event that replaces an earlier one of the same subject, for example a read of a chat.",
)
LIST_QUEUE = query(
    "webhooks.list_queue",
    WEBHOOKS,
    "tenant#endpoint",
    PatternRole.DELIVERS,
    "Everything that waits for an endpoint.",
)
CLAIM_RUN = update(
    "webhooks.claim_run",
    WEBHOOKS,
    "tenant#endpoint, item, if it is due as read",
    "Move the next attempt forward, so that one worker makes this one.",
)
SETTLE_RUN = update(
    "webhooks.settle_run",
    WEBHOOKS,
    "tenant#endpoint, item, if the claim is held",
    "Record what was delivered, and when the next attempt is.",
)
DELETE_RUN = delete(
    "webhooks.delete_run",
    WEBHOOKS,
    "tenant#endpoint, item, if the claim is held and it was not extended",
    "Everything of a queued item was delivered.",
)
DROP_QUEUE = batch_write(
    "webhooks.drop_queue", WEBHOOKS, "tenant#endpoint, items", "Drop the queue of a disabled endpoint."
)
NOTE_BACKLOG = update(
    "webhooks.note_backlog",
    WEBHOOKS,
    "_system#backlogs, tenant#endpoint",
    "An endpoint has a new queued item, or a change of its state.",
)
LIST_BACKLOGS = query(
    "webhooks.list_backlogs",
    WEBHOOKS,
    "_system#backlogs",
    PatternRole.DELIVERS,
    "The endpoints that have queued items.",
)
LEASE_BACKLOG = update(
    "webhooks.lease_backlog",
    WEBHOOKS,
    "_system#backlogs, tenant#endpoint, if no lease is held",
    "Let one worker at a time process the queue of an endpoint.",
)
DELETE_BACKLOG = delete(
    "webhooks.delete_backlog",
    WEBHOOKS,
    "_system#backlogs, tenant#endpoint, if nothing was queued meanwhile",
    "The queue of an endpoint is empty.",
)
PUT_DISABLED = put(
    "webhooks.put_disabled",
    WEBHOOKS,
    "_system#disabled, tenant#endpoint",
    "An endpoint was disabled automatically.",
)
DELETE_DISABLED = delete(
    "webhooks.delete_disabled",
    WEBHOOKS,
    "_system#disabled, tenant#endpoint",
    "A disabled endpoint was enabled or deleted.",
)
LIST_DISABLED = query(
    "webhooks.list_disabled",
    WEBHOOKS,
    "_system#disabled",
    PatternRole.SHOWS,
    "The endpoints that were disabled automatically, for the doctor.",
    consistency=Consistency.EVENTUAL,
)
PUT_DELIVERIES = batch_write(
    "webhooks.put_deliveries",
    WEBHOOKS,
    "tenant#endpoint#deliveries, time#event",
    "Record attempts in the delivery log.",
)
LIST_DELIVERIES = query(
    "webhooks.list_deliveries",
    WEBHOOKS,
    "tenant#endpoint#deliveries, before a time, newest first",
    PatternRole.SHOWS,
    "The delivery log of an endpoint.",
    consistency=Consistency.EVENTUAL,
)

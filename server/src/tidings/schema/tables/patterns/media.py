"""Access patterns of attachments."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS, LEASES, MESSAGES, UPLOADS
from tidings.schema.tables.patterns.builders import PatternRole, batch_get, get, query, transact, update

CREATE_UPLOAD = transact(
    "uploads.create",
    (UPLOADS,),
    "tenant_shard, upload, if absent; tenant_shard, total",
    "Start an upload, and count its bytes.",
)
READ_UPLOAD = get(
    "uploads.read", UPLOADS, "tenant_shard, upload", PatternRole.AUTHORISES, "An upload, before it is used."
)
READ_UPLOADS = batch_get(
    "uploads.read_many",
    UPLOADS,
    "tenant_shard, upload",
    PatternRole.AUTHORISES,
    "The uploads that a message wants to attach.",
    consistency=Consistency.STRONG,
)
READ_TOTALS = batch_get(
    "uploads.read_totals",
    UPLOADS,
    "tenant_shard, total",
    PatternRole.AUTHORISES,
    "The bytes that a tenant stores.",
    consistency=Consistency.STRONG,
)
CHANGE_UPLOAD = update(
    "uploads.change",
    UPLOADS,
    "tenant_shard, upload, if its state is as read",
    "Change the state of an upload.",
)
RECORD_FACTS = update(
    "uploads.record_facts",
    UPLOADS,
    "tenant_shard, upload, if it waits and is not being deleted",
    "Record what the media worker found out about a file.",
)
DELETE_UPLOAD = transact(
    "uploads.delete",
    (UPLOADS,),
    "tenant_shard, upload, if it is being deleted; tenant_shard, total",
    "Delete the row of an upload whose objects are deleted.",
)
LIST_UPLOADS = query(
    "uploads.list",
    UPLOADS,
    "tenant_shard",
    PatternRole.MAINTAINS,
    "All uploads of a partition, in order, to compare them with the objects.",
)
TAKE_SWEEP = update(
    "leases.take_sweep",
    LEASES,
    "lease, if absent, expired or of this process",
    "Become or remain the process that sweeps attachments, or the one that expires messages.",
)
FINISH_SWEEP = update(
    "leases.finish_sweep",
    LEASES,
    "lease, if the holder is this process",
    "Record when the sweep ended, and when the next one may start.",
)
APPEND_ATTACHMENTS = transact(
    "messages.append_attachments",
    (MESSAGES, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS, UPLOADS),
    "entry at head + 1 if absent; tenant_shard, upload, if it is complete and of this sender and chat; its ephemeral content; "
    "the sender's key",
    "Append a message with attachments: the uploads belong to it, or nothing was written.",
)
REDACT_ATTACHMENTS = transact(
    "messages.redact_attachments",
    (MESSAGES, IDEMPOTENCY_KEYS, UPLOADS),
    "entry at head + 1 if absent; (chat_id, the message's sequence); tenant_shard, upload; its ephemeral content; the sender's "
    "key",
    "Redact a message with attachments: from then on the media worker deletes their objects.",
)
FINISH_REDACTION = transact(
    "messages.finish_redaction",
    (MESSAGES, UPLOADS),
    "(chat_id, the message's sequence), if not redacted; tenant_shard, upload; its ephemeral content",
    "Empty a message whose redaction was replicated without it, when `tidings relay repair` finds it after a failover.",
)

"""Access patterns of retention: expired messages, limits and legal holds of chats."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import CHATS, ERASURES, MESSAGES, TENANTS, UPLOADS
from tidings.schema.tables.patterns.builders import (
    PatternRole,
    batch_get,
    delete,
    get,
    query,
    transact,
    update,
)

CHECK_RETENTION = get(
    "chats.check_retention",
    CHATS,
    "chat_id",
    PatternRole.MAINTAINS,
    "The limit and the hold of a chat, and how far its log has expired; before messages are emptied.",
)
COMPARE_RETENTION = batch_get(
    "chats.compare_retention",
    CHATS,
    "chat_ids",
    PatternRole.MAINTAINS,
    "The same for many chats, to find those with messages that may have expired.",
    consistency=Consistency.EVENTUAL,
)
EXPIRE = transact(
    "messages.expire",
    (CHATS, TENANTS, MESSAGES, UPLOADS),
    "chat_id, if it has no hold and the limit that was read; tenant settings, if version = n; (chat_id, sequence) and "
    "(chat_id#ephemeral, sequence) of each; tenant_shard, upload",
    "Empty expired messages, and let the media worker delete their files. The entries remain.",
)
ADVANCE_EXPIRY = update(
    "chats.advance_expiry",
    CHATS,
    "chat_id, if expired_up_to <= n",
    "Record up to which sequence messages have expired, and the time of the oldest entry after it.",
    role=PatternRole.MAINTAINS,
)
ARCHIVE = transact(
    "messages.archive",
    (CHATS, TENANTS, MESSAGES),
    "chat_id, if it has no hold and the limit that was read; tenant settings, if version = n; (chat_id, sequence) of each, if "
    "content = c or it is archived in the same part",
    "Remove the content of messages that a part of the archive has, and store the keys of their rows there.",
)
ADVANCE_ARCHIVE = update(
    "chats.advance_archive",
    CHATS,
    "chat_id, if archived_up_to <= n",
    "Record up to which sequence messages are archived, and the time of the oldest entry after it.",
    role=PatternRole.MAINTAINS,
)
SET_LIMIT = transact(
    "chats.set_limit",
    (CHATS, ERASURES),
    "chat_id, if it exists; tenant#retention, chat",
    "Set or remove the limit of a chat, and list the chat for sweeps.",
)
SET_HOLD = update(
    "chats.set_hold", CHATS, "chat_id, if it exists", "Set or release the legal hold of a chat."
)
LIST_LIMITS = query(
    "erasures.list_limits",
    ERASURES,
    "tenant#retention",
    PatternRole.MAINTAINS,
    "The chats of a tenant with a limit of their own.",
)
NOTE_UNINDEXED = update(
    "erasures.note_unindexed",
    ERASURES,
    "tenant#unindexed, chat, if last <= n",
    "Note which expired messages of a chat the search process must remove from the index.",
    role=PatternRole.MAINTAINS,
)
LIST_UNINDEXED = query(
    "erasures.list_unindexed",
    ERASURES,
    "tenant#unindexed",
    PatternRole.MAINTAINS,
    "The expired messages that the index may have.",
)
DELETE_UNINDEXED = delete(
    "erasures.delete_unindexed",
    ERASURES,
    "tenant#unindexed, chat, if last = n",
    "Delete the note after the messages were removed from the index.",
    role=PatternRole.MAINTAINS,
)

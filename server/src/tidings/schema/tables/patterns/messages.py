"""Access patterns of messages: the log, the content of messages, reactions and idempotency keys."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS, MESSAGES
from tidings.schema.tables.patterns.builders import (
    PatternRole,
    batch_write,
    get,
    put,
    query,
    transact,
)

APPEND = put(
    "messages.append",
    MESSAGES,
    "chat_id, sequence = head + 1, if absent",
    "Append one entry. A failed condition returns the existing entry.",
)
APPEND_BATCH = transact(
    "messages.append_batch",
    (MESSAGES,),
    "chat_id, sequence = head + 1 …, each if absent",
    "Append the messages that arrived while an append was in flight (group commit).",
)
APPEND_KEYED = transact(
    "messages.append_keyed",
    (MESSAGES, IDEMPOTENCY_KEYS),
    "entry at head + 1 and (chat_id, sender#client_message_id), both if absent",
    "Append for a sender without a position: entry and key, both or neither.",
)
APPEND_PACED = transact(
    "messages.append_paced",
    (MESSAGES, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; (chat_id, user_id); the sender's key, if it has no position",
    "Append in a chat with slow mode: the entry, and the time of the sender's last message.",
)
APPEND_EPHEMERAL = transact(
    "messages.append_ephemeral",
    (MESSAGES, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS),
    "entry at head + 1 and (chat_id#ephemeral, sequence), both if absent; the sender's key, if it has no position",
    "Append a message whose content expires: the entry remains, the content is a separate item.",
)
APPEND_CHANGE = transact(
    "messages.append_change",
    (MESSAGES, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; (chat_id, the message's sequence); its ephemeral content, or the user's "
    "reaction: put if absent, deleted if present; the sender's key",
    "Append an edit, redaction or reaction and change the message's row with it.",
)

PUT_LOST = put(
    "messages.put_lost",
    MESSAGES,
    "chat_id, sequence, if absent",
    "Put an entry of the kind `lost` where a failover has left a gap in the log.",
)

READ_HEAD = query(
    "messages.read_head",
    MESSAGES,
    "chat_id, descending, limit 1",
    PatternRole.AUTHORISES,
    "Fill an empty log view: the head first, then the sender's membership.",
)
FOLLOW = query(
    "messages.follow",
    MESSAGES,
    "chat_id, sequence > n",
    PatternRole.AUTHORISES,
    "Update an outdated log view after a failed put; find a client's earlier attempt.",
)
FILL_GAP = query(
    "messages.fill_gap",
    MESSAGES,
    "chat_id, sequence between",
    PatternRole.DELIVERS,
    "Read the entries that are missing before an event or a push, to process them first.",
)
READ_AFTER = query(
    "messages.read_after",
    MESSAGES,
    "chat_id, sequence > n",
    PatternRole.DELIVERS,
    "Entries after a device's position, to send them to it.",
    asked_as="Get messages after seq",
)
READ_RECENT = query(
    "messages.read_recent",
    MESSAGES,
    "chat_id, sequence < n, descending, limit",
    PatternRole.DELIVERS,
    "The end of a chat, and older pages.",
    asked_as="Get recent N messages",
)
READ_ONE = get(
    "messages.read_one",
    MESSAGES,
    "chat_id, sequence",
    PatternRole.DELIVERS,
    "One message by its id, which contains chat and sequence; before an edit or a reaction.",
    asked_as="Get specific message",
)
SHOW_ONE = get(
    "messages.show_one",
    MESSAGES,
    "chat_id, sequence",
    PatternRole.SHOWS,
    "The commit time of one entry: support finds the entries of a time range with O(log n) of these reads.",
    consistency=Consistency.EVENTUAL,
    asked_as="Get specific message",
)
SHOW_RANGE = query(
    "messages.show_range",
    MESSAGES,
    "chat_id, sequence between, descending, limit; without content",
    PatternRole.SHOWS,
    "Senders and times for support: one page of entries, or the newest only.",
    consistency=Consistency.EVENTUAL,
)
READ_EPHEMERAL = query(
    "messages.read_ephemeral",
    MESSAGES,
    "chat_id#ephemeral, sequence between",
    PatternRole.DELIVERS,
    "Content of the ephemeral messages in a range, if it has any.",
)
READ_REACTION = get(
    "messages.read_reaction",
    MESSAGES,
    "chat_id#reactions#sequence, hash of user and emoji",
    PatternRole.AUTHORISES,
    "Whether a user has reacted to a message; only if its row names fewer users than it counts.",
)
LIST_REACTIONS = query(
    "messages.list_reactions",
    MESSAGES,
    "chat_id#reactions#sequence",
    PatternRole.MAINTAINS,
    "All reactions to a message: for an export of its tenant, or to delete them after a redaction.",
)
CLEAR_REACTIONS = batch_write(
    "messages.clear_reactions",
    MESSAGES,
    "chat_id#reactions#sequence, hash of user and emoji",
    "Delete the reactions to a message that was redacted.",
    role=PatternRole.MAINTAINS,
)
REPAIR = query(
    "messages.repair",
    MESSAGES,
    "chat_id, sequence > n",
    PatternRole.MAINTAINS,
    "Entries that were committed and never processed, after an outage longer than the stream's 24 hours.",
)

FIND_KEY = get(
    "idempotency.find",
    IDEMPOTENCY_KEYS,
    "chat_id, sender#client_message_id",
    PatternRole.AUTHORISES,
    "Find a committed message before slow mode delays a retry of it.",
)
REFUSE_KEY = put(
    "idempotency.refuse",
    IDEMPOTENCY_KEYS,
    "chat_id, sender#client_message_id, if absent",
    "Store a rejection, so that no other attempt of the message succeeds. A failed condition returns the first answer.",
    role=PatternRole.AUTHORISES,
)

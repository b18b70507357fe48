"""How chats and memberships are used. Whatever changes who may read or write is an entry of the log too.

As with messages, a sender without a position has its key in the same transaction.
"""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import (
    CHAT_MEMBERSHIPS,
    CHATS,
    DELIVERY_STATE,
    IDEMPOTENCY_KEYS,
    MESSAGES,
)
from tidings.schema.tables.patterns.builders import (
    PatternRole,
    batch_get,
    batch_write,
    get,
    put,
    query,
    query_index,
    transact,
    update,
)

READ = get(
    "chats.read",
    CHATS,
    "chat_id",
    PatternRole.SHOWS,
    "Name and type of a chat.",
    consistency=Consistency.EVENTUAL,
    asked_as="Get chat metadata",
)
CHECK = get(
    "chats.check",
    CHATS,
    "chat_id",
    PatternRole.AUTHORISES,
    "Type, name and number of members as of now; before a change that is conditioned on them.",
)
READ_MANY = batch_get(
    "chats.read_many",
    CHATS,
    "chat_ids",
    PatternRole.SHOWS,
    "Names and sizes for a page of the chat list.",
    consistency=Consistency.EVENTUAL,
)
CREATE = transact(
    "chats.create",
    (CHATS, MESSAGES, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS),
    "chat_id if absent; sequence 1 if absent; the first members",
    "Create a group: the row, the `create` entry and as many members as fit.",
)
CREATE_DIRECT = transact(
    "chats.create_direct",
    (CHATS, MESSAGES, CHAT_MEMBERSHIPS, DELIVERY_STATE, IDEMPOTENCY_KEYS),
    "chat_id derived from both users, if absent; sequence 1 if absent; both members; no block between them",
    "Get or create a direct chat. A failed condition returns the chat that is there.",
)
RENAME = transact(
    "chats.rename",
    (MESSAGES, CHATS, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; chat_id",
    "Rename a chat, with its entry.",
)
ADD_MEMBERS = transact(
    "chats.add_members",
    (MESSAGES, CHATS, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; (chat_id, user_id) for each; the number of members",
    "Open an interval for each new member, with the `join` entry.",
)
REMOVE_MEMBER = transact(
    "chats.remove_member",
    (MESSAGES, CHATS, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; (chat_id, user_id); the number of members",
    "Close the member's interval, with the `leave` entry. The row stays.",
)
CHANGE_ROLE = transact(
    "chats.change_role",
    (MESSAGES, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; (chat_id, user_id)",
    "Change a member's role, with its entry.",
)
BLOCK = transact(
    "chats.block",
    (MESSAGES, CHAT_MEMBERSHIPS, DELIVERY_STATE, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; both (chat_id, user_id); (user_id, block#other)",
    "Block or unblock in a direct chat, with its entry.",
)
BLOCK_STRANGER = transact(
    "chats.block_stranger",
    (CHATS, DELIVERY_STATE),
    "(user_id, block#other); on condition that their direct chat is not there",
    "Block or unblock somebody with whom there is no chat.",
)
LIST_BLOCKS = query(
    "chats.list_blocks",
    DELIVERY_STATE,
    "user_id, begins with block#",
    PatternRole.AUTHORISES,
    "Whom a user blocks; asked before a direct chat is created.",
)

FIND_BLOCKS = batch_get(
    "chats.find_blocks",
    DELIVERY_STATE,
    "(user_id, block#other) for each",
    PatternRole.AUTHORISES,
    "Who of these blocks him? Asked when he watches them.",
    consistency=Consistency.STRONG,
)

CHECK_MEMBER = get(
    "memberships.check",
    CHAT_MEMBERSHIPS,
    "chat_id, user_id",
    PatternRole.AUTHORISES,
    "Is the user a member, with which role, in which intervals?",
    asked_as="Check user in chat",
)
CHECK_MEMBERS = batch_get(
    "memberships.check_many",
    CHAT_MEMBERSHIPS,
    "(chat_id, user_id) for each",
    PatternRole.AUTHORISES,
    "The rows of those who are to be added or removed.",
    consistency=Consistency.STRONG,
)
LIST_MEMBERS = query(
    "memberships.list",
    CHAT_MEMBERSHIPS,
    "chat_id",
    PatternRole.DELIVERS,
    "Everybody who gets the chat's entries.",
    asked_as="List chat members",
)
LIST_CHATS_OF_USER = query_index(
    "memberships.list_chats_of_user",
    CHAT_MEMBERSHIPS,
    "user_id",
    PatternRole.MAINTAINS,
    "All chats of a user, for support, export, erasure and repair.",
    index="user_chats-index",
    asked_as="List user's chats",
)


APPEND = put(
    "messages.append",
    MESSAGES,
    "chat_id, sequence = head + 1, if absent",
    "Append one entry. A failed condition returns the entry that is there.",
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
    "Append for a sender that keeps no position: entry and key, both or neither.",
)
APPEND_EPHEMERAL = transact(
    "messages.append_ephemeral",
    (MESSAGES, IDEMPOTENCY_KEYS),
    "entry at head + 1 and (chat_id#ephemeral, sequence), both if absent; the sender's key, if it goes by key",
    "Append a message whose content expires: the entry stays, the content stands beside the log.",
)
APPEND_CHANGE = transact(
    "messages.append_change",
    (MESSAGES, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; (chat_id, the message's sequence); its ephemeral content, or the user's "
    "reaction: put if absent, deleted if present; the sender's key",
    "Append an edit, redaction or reaction and change the message's row with it.",
)
ERASE = update(
    "messages.erase",
    MESSAGES,
    "chat_id, sequence",
    "Empty an entry when its sender is erased; the entry itself stays.",
    role=PatternRole.MAINTAINS,
)

READ_HEAD = query(
    "messages.read_head",
    MESSAGES,
    "chat_id, descending, limit 1",
    PatternRole.AUTHORISES,
    "Fill a cold follower: the head first, then the sender's membership.",
)
FOLLOW = query(
    "messages.follow",
    MESSAGES,
    "chat_id, sequence > n",
    PatternRole.AUTHORISES,
    "Move a stale follower entry by entry after a failed put; find a client's earlier try.",
)
FILL_GAP = query(
    "messages.fill_gap",
    MESSAGES,
    "chat_id, sequence between",
    PatternRole.DELIVERS,
    "Read what is missing before an event or a push, and handle it first.",
)
READ_AFTER = query(
    "messages.read_after",
    MESSAGES,
    "chat_id, sequence > n",
    PatternRole.DELIVERS,
    "Stream to a device what is ahead of its position.",
    asked_as="Get messages after seq",
)
READ_RECENT = query(
    "messages.read_recent",
    MESSAGES,
    "chat_id, sequence < n, descending, limit",
    PatternRole.DELIVERS,
    "The tail of a chat, and older pages when someone scrolls.",
    asked_as="Get recent N messages",
)
READ_ONE = get(
    "messages.read_one",
    MESSAGES,
    "chat_id, sequence",
    PatternRole.DELIVERS,
    "One message by its id, which spells chat and sequence; before an edit or a reaction.",
    asked_as="Get specific message",
)
SHOW_ONE = get(
    "messages.show_one",
    MESSAGES,
    "chat_id, sequence",
    PatternRole.SHOWS,
    "When one entry was committed, to find for support which entries are of a time: O(log n) of these.",
    consistency=Consistency.EVENTUAL,
    asked_as="Get specific message",
)
SHOW_RANGE = query(
    "messages.show_range",
    MESSAGES,
    "chat_id, sequence between, descending, limit; without content",
    PatternRole.SHOWS,
    "Who wrote when, for support: one page of entries, or the newest alone.",
    consistency=Consistency.EVENTUAL,
)
READ_EPHEMERAL = query(
    "messages.read_ephemeral",
    MESSAGES,
    "chat_id#ephemeral, sequence between",
    PatternRole.DELIVERS,
    "Content of the ephemeral messages in a range; only when the range has any.",
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
    "The reactions to a message that was redacted, to delete them.",
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
    "After an outage longer than the stream's 24 hours: what was committed and never handled.",
)

REFUSE_KEY = put(
    "idempotency.refuse",
    IDEMPOTENCY_KEYS,
    "chat_id, sender#client_message_id, if absent",
    "Keep a refusal, so that no other try of the message gets in. A failed condition returns the first answer.",
    role=PatternRole.AUTHORISES,
)

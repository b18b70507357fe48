"""Access patterns of chats, memberships and messages.

Every change of a member's rights is also an entry of the log. For a sender without a position, the transaction also
writes its idempotency key.
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
    delete,
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
    "Current type, name and number of members, before a conditional change of them.",
)
READ_MANY = batch_get(
    "chats.read_many",
    CHATS,
    "chat_ids",
    PatternRole.SHOWS,
    "Names and sizes of chats that were not read together with their heads.",
    consistency=Consistency.EVENTUAL,
)
CREATE = transact(
    "chats.create",
    (CHATS, MESSAGES, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS),
    "chat_id if absent; sequence 1 if absent; the first members",
    "Create a group: the row, the `create` entry and the members that fit into one transaction.",
)
CREATE_DIRECT = transact(
    "chats.create_direct",
    (CHATS, MESSAGES, CHAT_MEMBERSHIPS, DELIVERY_STATE, IDEMPOTENCY_KEYS),
    "chat_id derived from both users, if absent; sequence 1 if absent; both members; no block between them",
    "Get or create a direct chat. A failed condition returns the existing chat.",
)
RENAME = transact(
    "chats.rename",
    (MESSAGES, CHATS, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; chat_id",
    "Rename a chat, with its entry.",
)
SET_RULES = transact(
    "chats.set_rules",
    (MESSAGES, CHATS, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; chat_id",
    "Freeze a chat, set its slow mode or its join rule, with the `rules` entry.",
)
RESTRICT = transact(
    "chats.restrict",
    (MESSAGES, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; (chat_id, user_id)",
    "Mute or unmute a member, or ban or unban a user who is not a member, with its entry.",
)
ADD_MEMBERS = transact(
    "chats.add_members",
    (MESSAGES, CHATS, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; (chat_id, user_id) for each; the number of members",
    "Open an interval for each new member, with the `join` entry.",
)
ACCEPT_INVITE = transact(
    "chats.accept_invite",
    (MESSAGES, CHATS, CHAT_MEMBERSHIPS, DELIVERY_STATE, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; (chat_id, user_id); the number of members; (user_id, *invite#chat) if it exists",
    "Join by an invite, which is deleted, with the `join` entry.",
)
SET_LINK = update("chats.set_link", CHATS, "chat_id", "Store the digest of a new link, or remove the link.")
PUT_INVITES = batch_write(
    "chats.put_invites", DELIVERY_STATE, "(user_id, *invite#chat) for each", "Invite users to a group."
)
CHECK_INVITE = get(
    "chats.check_invite",
    DELIVERY_STATE,
    "user_id, *invite#chat",
    PatternRole.AUTHORISES,
    "Whether the user has an invite, before they join.",
)
DELETE_INVITE = delete(
    "chats.delete_invite", DELIVERY_STATE, "user_id, *invite#chat", "Decline or revoke an invite."
)
LIST_INVITES = query(
    "chats.list_invites",
    DELIVERY_STATE,
    "user_id, begins with *invite#",
    PatternRole.SHOWS,
    "The invites of a user.",
)
REMOVE_MEMBER = transact(
    "chats.remove_member",
    (MESSAGES, CHATS, CHAT_MEMBERSHIPS, IDEMPOTENCY_KEYS),
    "entry at head + 1 if absent; (chat_id, user_id); the number of members",
    "Close the member's interval, with the `leave` entry. The row remains.",
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
    "entry at head + 1 if absent; both (chat_id, user_id); (user_id, *block#other)",
    "Block or unblock in a direct chat, with its entry.",
)
BLOCK_STRANGER = transact(
    "chats.block_stranger",
    (CHATS, DELIVERY_STATE),
    "(user_id, *block#other); on condition that their direct chat does not exist",
    "Block or unblock a user without a direct chat.",
)
LIST_BLOCKS = query(
    "chats.list_blocks",
    DELIVERY_STATE,
    "user_id, begins with *block#",
    PatternRole.AUTHORISES,
    "The users that a user blocks, before a direct chat is created.",
)

FIND_BLOCKS = batch_get(
    "chats.find_blocks",
    DELIVERY_STATE,
    "(user_id, *block#other) for each",
    PatternRole.AUTHORISES,
    "Which of these users block this one; before a subscription to their presence.",
    consistency=Consistency.STRONG,
)

CHECK_MEMBER = get(
    "memberships.check",
    CHAT_MEMBERSHIPS,
    "chat_id, user_id",
    PatternRole.AUTHORISES,
    "A user's membership: role and intervals.",
    asked_as="Check user in chat",
)
CHECK_MEMBERS = batch_get(
    "memberships.check_many",
    CHAT_MEMBERSHIPS,
    "(chat_id, user_id) for each",
    PatternRole.AUTHORISES,
    "The rows of users who are to be added or removed.",
    consistency=Consistency.STRONG,
)
LIST_MEMBERS = query(
    "memberships.list",
    CHAT_MEMBERSHIPS,
    "chat_id",
    PatternRole.DELIVERS,
    "All users who receive the chat's entries.",
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

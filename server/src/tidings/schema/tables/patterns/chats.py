"""Access patterns of chats and memberships.

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
RECONCILE_MEMBER = update(
    "memberships.reconcile",
    CHAT_MEMBERSHIPS,
    "chat_id, user_id, if epoch, intervals, role and ban are as read",
    "Once for each row after a restore: make it agree with the log, and write the current epoch.",
)
RECONCILE_CHAT = update(
    "chats.reconcile",
    CHATS,
    "chat_id, if epoch and number of members are as read",
    "Once for each chat after a restore: make its row agree with the log, and write the current epoch.",
)
DELETE_LOST_CHAT = delete(
    "chats.delete_lost",
    CHATS,
    "chat_id, if its epoch is as read",
    "Delete the row of a chat whose log a restore has lost.",
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

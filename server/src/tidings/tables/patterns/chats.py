"""How chats and memberships are used. Whatever changes who may read or write is an entry of the log too.

As with messages, a sender without a position has its key in the same transaction.
"""

from tidings.platform.dynamo.access import Consistency
from tidings.tables.declaration import CHAT_MEMBERSHIPS, CHATS, DELIVERY_STATE, IDEMPOTENCY_KEYS, MESSAGES
from tidings.tables.patterns.forms import PatternRole, batch_get, get, query, query_index, transact

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

"""Access patterns of the erasure of a user: in logs and chats, of their row, and its progress."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import (
    CHAT_MEMBERSHIPS,
    CHATS,
    ERASURES,
    IDEMPOTENCY_KEYS,
    INBOX,
    MESSAGES,
    TENANTS,
    USERS,
)
from tidings.schema.tables.patterns.builders import (
    PatternRole,
    batch_get,
    batch_write,
    delete,
    get,
    put,
    query,
    transact,
    update,
)

READ_TO_ERASE = query(
    "messages.read_to_erase",
    MESSAGES,
    "chat_id, sequence > n, limit",
    PatternRole.MAINTAINS,
    "The next entries of a log, to find those that name an erased user.",
)
ERASE = update(
    "messages.erase",
    MESSAGES,
    "chat_id, sequence, if it exists",
    "Empty an entry of an erased user and replace their id by a pseudonym; the entry remains.",
    role=PatternRole.MAINTAINS,
)
ERASE_EPHEMERAL = batch_write(
    "messages.erase_ephemeral",
    MESSAGES,
    "chat_id#ephemeral, sequence",
    "Delete the ephemeral content of an erased user.",
    role=PatternRole.MAINTAINS,
)
ERASE_REACTION = transact(
    "messages.erase_reaction",
    (MESSAGES,),
    "(chat_id, the message's sequence), if its reactions are as read; chat_id#reactions#sequence: the user's item if it "
    "exists, that of the pseudonym",
    "Replace an erased user by a pseudonym in a reaction. Counts do not change.",
)
LIST_KEYS = query(
    "idempotency.list",
    IDEMPOTENCY_KEYS,
    "chat_id, begins with sender#",
    PatternRole.MAINTAINS,
    "The idempotency keys of an erased user in a chat.",
)
DELETE_KEYS = batch_write(
    "idempotency.delete",
    IDEMPOTENCY_KEYS,
    "chat_id, sender#client_message_id",
    "Delete the idempotency keys of an erased user.",
    role=PatternRole.MAINTAINS,
)
ERASE_MEMBER = transact(
    "memberships.erase",
    (CHAT_MEMBERSHIPS, CHATS),
    "(chat_id, user_id), if it is as read; (chat_id, pseudonym); chat_id",
    "Move the membership of an erased user to a pseudonym, with the creator and the listed members of the chat.",
)
ERASE_REASON = update(
    "memberships.erase_reason",
    CHAT_MEMBERSHIPS,
    "(chat_id, user_id), if the reason is as read",
    "Delete the reason that an erased user gave for the ban of another one.",
    role=PatternRole.MAINTAINS,
)
FENCE_USER = transact(
    "users.fence",
    (USERS, TENANTS),
    "user_id; _system#revoked",
    "Reject every credential of a user who is being erased, permanently, and have gateways close their sockets.",
)
ERASE_CLAIM = delete(
    "users.erase_claim", USERS, "phone#hash, if it is the user's", "Release the number of an erased user."
)
ERASE_USER = transact(
    "users.erase",
    (USERS, INBOX),
    "user_id, if it has erased; t#TD#hash, u#U",
    "Delete the profile of an erased user and their item in the directory. The row stays and refuses the id.",
)
CREATE_ERASURE = transact(
    "erasures.create",
    (ERASURES,),
    "(tenant#user#U, progress) if absent, or if version = n; (tenant, time#U), or (_system#deleted_tenants, time#T)",
    "Request the erasure of a user or the deletion of a tenant, and list it. A request that was rejected or has "
    "expired is replaced.",
)
LIST_DELETED_TENANTS = query(
    "erasures.list_deleted_tenants",
    ERASURES,
    "_system#deleted_tenants",
    PatternRole.MAINTAINS,
    "The tenants whose deletion was requested, after a restore.",
)
APPROVE_ERASURE = transact(
    "erasures.approve",
    (ERASURES,),
    "(tenant#user#U, progress) if version = n; (tenant, time#U), or (_system#deleted_tenants, time#T)",
    "Record the second approver of an erasure. From then on, restores repeat it.",
)
LIST_REQUESTS = query(
    "erasures.list_requests",
    ERASURES,
    "tenant, newest first, limit",
    PatternRole.SHOWS,
    "The erasures of a tenant's users, for operators.",
)
READ_REQUESTS = batch_get(
    "erasures.read_requests",
    ERASURES,
    "tenant#user#U, progress of each",
    PatternRole.SHOWS,
    "How far these erasures are.",
    consistency=Consistency.STRONG,
)
READ_ERASURE = get(
    "erasures.read",
    ERASURES,
    "tenant#user#U, progress",
    PatternRole.AUTHORISES,
    "How far the erasure of a user is: for its worker, and to show it.",
)
SAVE_ERASURE = put(
    "erasures.save",
    ERASURES,
    "tenant#user#U, progress, if version = n",
    "Store the step, the cursor and the counts of an erasure after each page.",
)

"""Access patterns of imports. Each chat is claimed by its row first, so an import is the only writer of its log."""

from tidings.schema.tables.declaration import CHAT_MEMBERSHIPS, CHATS, LEASES, MESSAGES
from tidings.schema.tables.patterns.builders import batch_write, put, update

CLAIM_CHAT = put(
    "imports.claim_chat",
    CHATS,
    "chat_id, if absent",
    "Claim a chat before its log is written. A failed condition returns the row, which shows how far its import is.",
)
ADVANCE_CHAT = update(
    "imports.advance_chat",
    CHATS,
    "chat_id, if its import is at the step before",
    "Store the size of an imported chat before its members can read it, and at last the end of the import.",
)
WRITE_ENTRIES = batch_write(
    "imports.write_entries",
    MESSAGES,
    "(chat_id, sequence) for each; (chat_id#reactions#sequence, hash of user and emoji) for each",
    "Write entries and reactions of a chat that has no members yet.",
)
ADD_MEMBER = put(
    "imports.add_member",
    CHAT_MEMBERSHIPS,
    "chat_id, user_id, if absent",
    "Let a member read an imported chat, after its log and the member's chat row are written.",
)
TAKE_LEASE = update(
    "leases.take_import",
    LEASES,
    "lease, if it has no holder or token = n",
    "Become the only process that imports into a tenant.",
)
RENEW_LEASE = update(
    "leases.renew_import",
    LEASES,
    "lease, if the holder is this process",
    "Remain the process that imports, or let another one begin.",
)

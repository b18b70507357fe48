"""Access patterns of chat rows, watermarks, heads of groups and the offline queue."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import CHAT_COUNTERS, CHATS, DELIVERY_STATE, PENDING_QUEUE
from tidings.schema.tables.patterns.builders import (
    PatternRole,
    batch_get,
    batch_get_tables,
    batch_write,
    get,
    query,
    update,
)

RAISE_ROW = update(
    "chat_list.raise_row",
    DELIVERY_STATE,
    "user_id, chat_id, if last_sequence < n",
    "Update a chat row for a range of entries, with one write: both rows of a direct chat; in a group those of senders and of users who join or leave.",
)
READ_ROWS = query(
    "chat_list.read",
    DELIVERY_STATE,
    "user_id",
    PatternRole.DELIVERS,
    "All rows of a user: for the chat list, and for resume to compare with positions.",
)
READ_ROWS_AGAIN = batch_get(
    "chat_list.read_again",
    DELIVERY_STATE,
    "user_id, chat_ids",
    PatternRole.DELIVERS,
    "Rows of groups in which a member left since the user joined, read after the heads: it may have been the user.",
    consistency=Consistency.STRONG,
)
READ_ROW = get(
    "chat_list.read_row",
    DELIVERY_STATE,
    "user_id, chat_id",
    PatternRole.DELIVERS,
    "One chat of a user: metadata and unread count.",
    consistency=Consistency.STRONG,
)
REPAIR_ROW = update(
    "chat_list.repair_row",
    DELIVERY_STATE,
    "user_id, chat_id, if each written part of the item is older",
    "Write parts of a row that arrived late.",
)
SETTLE_ROW = update(
    "chat_list.settle_row",
    DELIVERY_STATE,
    "user_id, chat_id, if epoch and every removed sequence are as read",
    "Once for each row after a restore: remove what its log has lost, and write the current epoch.",
)
COPY_HEAD = update(
    "chat_list.copy_head",
    DELIVERY_STATE,
    "user_id, chat_id, if last_sequence <= n and the user is a member",
    "Copy the position of a quiet group's head into a member's row: later readers of the row do not read the head.",
)
SET_FLAGS = update(
    "chat_list.set_flags",
    DELIVERY_STATE,
    "user_id, chat_id",
    "Mute, pin, archive.",
)

RAISE_DELIVERED = update(
    "watermarks.raise_delivered",
    DELIVERY_STATE,
    "user_id, chat_id, if last_acked_sequence < n",
    "The delivered watermark, of the furthest device; for delivery status.",
    asked_as="Update watermark",
)
RAISE_READ = update(
    "watermarks.raise_read",
    DELIVERY_STATE,
    "user_id, chat_id, if last_read_sequence < n",
    "The read watermark; for delivery status and unread counts.",
)
READ_WATERMARK = get(
    "watermarks.read",
    DELIVERY_STATE,
    "user_id, chat_id",
    PatternRole.SHOWS,
    "One user's watermarks in one chat.",
    consistency=Consistency.EVENTUAL,
    asked_as="Get delivery state",
)
READ_WATERMARKS = batch_get(
    "watermarks.read_members",
    DELIVERY_STATE,
    "(user_id, chat_id) of each member",
    PatternRole.SHOWS,
    "Watermarks of members, to derive SENT, DELIVERED and READ of a message.",
    consistency=Consistency.EVENTUAL,
)
READ_RECEIPTS = batch_get(
    "signs.read_receipts",
    DELIVERY_STATE,
    "(user_id, chat_id) of each member",
    PatternRole.DELIVERS,
    "Watermarks of members for a device that subscribes, read after its subscription, so that no receipt is missed. And "
    "those of users who may be offline, read after their routes.",
    consistency=Consistency.STRONG,
)

RAISE_HEAD = update(
    "counters.raise",
    CHAT_COUNTERS,
    "chat_id, if first - 1 <= sequence_counter < n",
    "Write the head of a group for a range of entries, once for all members.",
)
READ_HEADS = batch_get(
    "counters.read_many",
    CHAT_COUNTERS,
    "chat_ids",
    PatternRole.DELIVERS,
    "Heads of a user's groups, at resume and for a chat list of more than 50 groups.",
    consistency=Consistency.STRONG,
)
READ_GROUPS = batch_get_tables(
    "counters.read_groups",
    (CHAT_COUNTERS, CHATS),
    "chat_ids in both tables",
    PatternRole.DELIVERS,
    "Heads of a user's groups and, eventually consistent, their names and sizes, for the chat list.",
    eventual=(CHATS,),
)
MARK_QUIET = update(
    "counters.mark_quiet",
    CHAT_COUNTERS,
    "chat_id, if sequence_counter = n",
    "Mark the head of a group without entries for two weeks, before members' rows copy its position.",
)
REPAIR_HEAD = update(
    "counters.repair",
    CHAT_COUNTERS,
    "chat_id, if each written part of the item is older",
    "Write the preview of a changed message into a head that is already further.",
)

SETTLE_HEAD = update(
    "counters.settle",
    CHAT_COUNTERS,
    "chat_id, if epoch and every removed sequence are as read",
    "Once for each group after a restore: remove what its log has lost.",
)

CHECK_HEAD = get(
    "counters.check",
    CHAT_COUNTERS,
    "chat_id",
    PatternRole.MAINTAINS,
    "How far a group is delivered, before an erased user is replaced in its head.",
)
ERASE_HEAD = update(
    "counters.erase",
    CHAT_COUNTERS,
    "chat_id, if last_sender = the user",
    "Replace an erased user in the head of a group by a pseudonym, and delete the preview.",
    role=PatternRole.MAINTAINS,
)
ERASE_ROW = update(
    "chat_list.erase",
    DELIVERY_STATE,
    "user_id, chat_id, if other = the user",
    "Replace an erased user in the row of the other user of a direct chat.",
    role=PatternRole.MAINTAINS,
)
ERASE_SHOWN = update(
    "chat_list.erase_shown",
    DELIVERY_STATE,
    "user_id, chat_id, if last_sender = the user",
    "The same for the last message that the row shows.",
    role=PatternRole.MAINTAINS,
)
EXPIRE_HEAD = update(
    "counters.expire",
    CHAT_COUNTERS,
    "chat_id, if preview_sequence <= n and it has a preview",
    "Delete the preview of an expired message from the head of a group.",
    role=PatternRole.MAINTAINS,
)
EXPIRE_SHOWN = update(
    "chat_list.expire_shown",
    DELIVERY_STATE,
    "user_id, chat_id, if preview_sequence <= n and it has a preview",
    "The same for the row of a user of a direct chat.",
    role=PatternRole.MAINTAINS,
)
LIST_OWN_ROWS = query(
    "chat_list.list_own",
    DELIVERY_STATE,
    "user_id",
    PatternRole.MAINTAINS,
    "All rows, blocks and invites of an erased user.",
)
DELETE_OWN_ROWS = batch_write(
    "chat_list.delete_own",
    DELIVERY_STATE,
    "user_id, chat_ids",
    "Delete the rows, blocks and invites of an erased user.",
    role=PatternRole.MAINTAINS,
)

PUT_PENDING = batch_write(
    "pending.put",
    PENDING_QUEUE,
    "(user_id, time#message_id) of each",
    "Store messages of direct chats for users without a connected device; then the routes are looked up again.",
)
DRAIN_PENDING = query(
    "pending.drain",
    PENDING_QUEUE,
    "user_id, ascending",
    PatternRole.DELIVERS,
    "A user's offline queue, in order, when a device connects.",
)
FIND_PENDING = batch_get(
    "pending.find",
    PENDING_QUEUE,
    "(user_id, time#message_id) of each member",
    PatternRole.SHOWS,
    "The users whose offline queue has a message, for `tidings trace`.",
    consistency=Consistency.STRONG,
)
DELETE_PENDING = batch_write(
    "pending.delete",
    PENDING_QUEUE,
    "(user_id, time#message_id) of each",
    "Delete acknowledged messages.",
)
WITHDRAW_PENDING = batch_write(
    "pending.withdraw",
    PENDING_QUEUE,
    "(user_id, time#message_id) of each member",
    "Delete a redacted message from the queues.",
)

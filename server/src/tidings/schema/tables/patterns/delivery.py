"""How delivery uses chat-list rows, watermarks, heads of large chats and the pending queue."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import CHAT_COUNTERS, DELIVERY_STATE, PENDING_QUEUE
from tidings.schema.tables.patterns.builders import PatternRole, batch_get, batch_write, get, query, update

RAISE_ROW = update(
    "chat_list.raise_row",
    DELIVERY_STATE,
    "user_id, chat_id, if last_sequence < n",
    "Write what a run of entries means for a member into his row: one write, however many entries.",
)
READ_ROWS = query(
    "chat_list.read",
    DELIVERY_STATE,
    "user_id",
    PatternRole.DELIVERS,
    "All rows of a user: the chat list, and what resume compares positions with.",
)
READ_ROW = get(
    "chat_list.read_row",
    DELIVERY_STATE,
    "user_id, chat_id",
    PatternRole.DELIVERS,
    "One chat of a user: its metadata, its unread count explained.",
    consistency=Consistency.STRONG,
)
REPAIR_ROW = update(
    "chat_list.mend_row",
    DELIVERY_STATE,
    "user_id, chat_id, if each part that is written is older there",
    "Parts that came late, and a redacted or edited message in a member's row.",
)
SETTLE_ROW = update(
    "chat_list.settle_row",
    DELIVERY_STATE,
    "user_id, chat_id, if epoch and every sequence that is cut are as read",
    "Once for each row after a restore: cut what its log has lost, and write it under the present epoch.",
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
    "How far the furthest device got; serves ticks.",
    asked_as="Update watermark",
)
RAISE_READ = update(
    "watermarks.raise_read",
    DELIVERY_STATE,
    "user_id, chat_id, if last_read_sequence < n",
    "How far the user has read; serves ticks and unread.",
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
    "From these SENT, DELIVERED and READ of a message are derived.",
    consistency=Consistency.EVENTUAL,
)
READ_RECEIPTS = batch_get(
    "signs.read_receipts",
    DELIVERY_STATE,
    "(user_id, chat_id) of each member",
    PatternRole.DELIVERS,
    "How far members got, for a device that subscribes; after its channel stands, so that no receipt falls between.",
    consistency=Consistency.STRONG,
)

RAISE_HEAD = update(
    "counters.raise",
    CHAT_COUNTERS,
    "chat_id, if sequence_counter < n",
    "Write the last message of a large chat once, whatever its number of members.",
)
READ_HEADS = batch_get(
    "counters.read_many",
    CHAT_COUNTERS,
    "chat_ids",
    PatternRole.DELIVERS,
    "Heads of a user's large chats, at resume and for the chat list.",
    consistency=Consistency.STRONG,
)
REPAIR_HEAD = update(
    "counters.mend",
    CHAT_COUNTERS,
    "chat_id, if each part that is written is older there",
    "Parts that came late to a large chat's head.",
)

SETTLE_HEAD = update(
    "counters.settle",
    CHAT_COUNTERS,
    "chat_id, if epoch and every sequence that is cut are as read",
    "Once for each large chat after a restore: cut what its log has lost.",
)

PUT_PENDING = batch_write(
    "pending.put",
    PENDING_QUEUE,
    "(user_id, time#message_id) of each",
    "Keep messages for users without a route; after this the routes are looked up again.",
)
DRAIN_PENDING = query(
    "pending.drain",
    PENDING_QUEUE,
    "user_id, ascending",
    PatternRole.DELIVERS,
    "The user's recent past, in order, when a device connects.",
)
FIND_PENDING = batch_get(
    "pending.find",
    PENDING_QUEUE,
    "(user_id, time#message_id) of each member",
    PatternRole.SHOWS,
    "In whose queues a message stands, for `tidings trace`.",
    consistency=Consistency.STRONG,
)
DELETE_PENDING = batch_write(
    "pending.delete",
    PENDING_QUEUE,
    "(user_id, time#message_id) of each",
    "Forget what was acked.",
)
WITHDRAW_PENDING = batch_write(
    "pending.withdraw",
    PENDING_QUEUE,
    "(user_id, time#message_id) of each member",
    "Take a redacted message out of the queues.",
)

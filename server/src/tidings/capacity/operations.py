"""Read and write units of each operation, by table. The single source of the capacity plan.

`tests/contract/capacity` runs each operation on the engines and compares the ledger with these values. Units are those of
items of at most 1 KB; `of_entry` adds those of larger entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

WRITE_UNIT_BYTES = 1_024
READ_UNIT_BYTES = 4_096

ENTRY_BYTES = 260
"""Size of a message in the log without its content."""
ROW_BYTES = 365
"""Size of a chat row with a preview of 100 bytes."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Units of one operation. `indexes` are writes of global secondary indexes, by index.

    `of_entries`: the tables whose units grow with the size of the message.
    """

    name: str
    writes: Mapping[str, float] = field(default_factory=dict)
    reads: Mapping[str, float] = field(default_factory=dict)
    indexes: Mapping[str, float] = field(default_factory=dict)
    of_entries: frozenset[str] = frozenset()

    def of_entry(self, entry_bytes: float) -> "Operation":
        """Return the operation for a message whose item has this size."""
        factor = write_units(entry_bytes)
        writes = {
            table: units * (factor if table in self.of_entries else 1) for table, units in self.writes.items()
        }
        return Operation(self.name, writes, self.reads, self.indexes, self.of_entries)


def write_units(size_bytes: float) -> int:
    return max(1, ceil(size_bytes / WRITE_UNIT_BYTES))


def read_units(size_bytes: float) -> int:
    """Return the units of a strongly consistent read. An empty Query costs one unit too."""
    return max(1, ceil(size_bytes / READ_UNIT_BYTES))


_MESSAGES = frozenset({"messages"})

SEND = Operation("send, with the position of the device", {"messages": 1}, of_entries=_MESSAGES)
SEND_WITHOUT_POSITION = Operation(
    "send, without a position", {"messages": 2, "idempotency_keys": 2}, of_entries=_MESSAGES
)
OPEN_LOG = Operation(
    "first send of a user in a chat that the process has not cached",
    reads={"messages": 1, "chat_memberships": 1},
)
DELIVER_DIRECT = Operation("deliver a direct message: both chat rows", {"delivery_state": 2})
DELIVER_GROUP = Operation(
    "deliver a message in a group: its head and the sender's row", {"chat_counters": 1, "delivery_state": 1}
)
ACK = Operation("write a delivered watermark", {"delivery_state": 1})
MARK_READ = Operation(
    "mark a direct chat as read", {"delivery_state": 1}, {"chat_memberships": 1, "messages": 1}
)
MARK_GROUP_READ = Operation(
    "mark a group as read", {"delivery_state": 1}, {"chat_memberships": 1, "messages": 1, "chat_counters": 1}
)
QUEUE = Operation(
    "store a direct message for an absent user, and delete it when they have it",
    {"pending_queue": 2},
    of_entries=frozenset({"pending_queue"}),
)
CHECK_DIRECT = Operation(
    "check whether the recipient of a direct message missed it", reads={"delivery_state": 1, "messages": 1}
)
CHECK_GROUP = Operation(
    "check whether members of a group missed a message", reads={"chat_counters": 1, "messages": 1}
)
CHECK_MEMBER = Operation("the same, for each absent member", reads={"delivery_state": 1})
CREATE_DIRECT = Operation(
    "create a direct chat",
    {"chats": 2, "messages": 2, "chat_memberships": 4, "delivery_state": 4},
    {"chats": 1, "users": 1},
    indexes={"user_chats-index": 2},
)
NOTIFY = Operation("deliver a notification to an inbox", {"inbox": 4})
BROADCAST = Operation("send a broadcast, at most", {"inbox": 10})
EXPIRE = Operation("expire a message by retention", {"messages": 2}, of_entries=_MESSAGES)


def connect(chats: float, active_groups: float) -> Operation:
    """Return the units of a connect: the user, their chat rows, and the head of each active group."""
    reads = {"users": 1.0, "delivery_state": float(read_units(chats * ROW_BYTES))}
    return Operation("connect and resume", reads=reads | _of_heads(active_groups))


def badge(chats: float, active_groups: float) -> Operation:
    """Return the units of an unread total, which an offline event contains."""
    reads = {"delivery_state": float(read_units(chats * ROW_BYTES))}
    return Operation("count the unread messages of an absent user", reads=reads | _of_heads(active_groups))


def catch_up_queue(messages: float, entry_bytes: float) -> Operation:
    reads = {"pending_queue": float(read_units(messages * entry_bytes))}
    return Operation("read the offline queue of a device that missed messages", reads=reads)


def catch_up_group(messages: float, entry_bytes: float) -> Operation:
    reads = {"messages": float(read_units(messages * entry_bytes)), "chat_memberships": 1.0}
    return Operation("read the missed messages of a group", reads=reads)


def read_page(entries: int, entry_bytes: float) -> Operation:
    """Return the units of a page of history: its entries, and the membership of the reader."""
    reads = {"messages": float(read_units(entries * entry_bytes)), "chat_memberships": 1.0}
    return Operation(f"read a page of {entries} entries", reads=reads)


def read_list(chats: float, groups_on_page: float) -> Operation:
    """Return the units of a page of the chat list: all rows of the user; heads and names of the groups on it."""
    reads = {"delivery_state": float(read_units(chats * ROW_BYTES)), "chats": 0.5 * groups_on_page}
    return Operation("read a chat list", reads=reads | _of_heads(groups_on_page))


def subscribe(members: int) -> Operation:
    """Return the units of showing a chat: its members, and the watermarks of each."""
    reads = {"chat_memberships": 1.0, "delivery_state": float(members)}
    return Operation(f"subscribe to the receipts of a chat with {members} members", reads=reads)


def _of_heads(groups: float) -> dict[str, float]:
    return {"chat_counters": float(groups)} if groups else {}

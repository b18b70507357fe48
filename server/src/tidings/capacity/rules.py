"""Derive the operations of a day and their units from a workload. Pure."""

from collections.abc import Iterable, Iterator
from math import ceil
from typing import NamedTuple

from tidings.capacity import operations as ops
from tidings.capacity.model import DAYS_PER_MONTH, HotKey, OperationLoad, Workload
from tidings.capacity.operations import Operation

MAX_CHECKED_MEMBERS = 100
"""Members of a larger group have no delivery status, receipts or offline checks (`chats.model.MAX_SMALL_MEMBERS`)."""
BADGE_S = 5
"""The unread total of an absent user is read at most once in this time (`delivery/offline_checker.py`)."""
PAGE_ENTRIES = 20
RECONNECT_S = 60
"""Planned time in which all devices reconnect after an interruption."""


class Daily(NamedTuple):
    """An operation and how often it happens in a day."""

    operation: Operation
    times: float


class Messages(NamedTuple):
    """Messages of a day by type of chat, and how many other members a message of each type has."""

    direct: float
    small: float
    large: float
    small_others: float
    large_others: float


def messages_of(workload: Workload) -> Messages:
    """Divide messages by chat. Groups of more than 100 members are large, whatever input names them."""
    total = workload.messages_per_day
    direct = total * workload.direct_share
    to_large = (total - direct) * workload.large_group_share
    to_groups = total - direct - to_large
    others = workload.group_members - 1
    if workload.group_members > MAX_CHECKED_MEMBERS:
        mean = (to_groups * others + to_large * (workload.large_group_members - 1)) / max(total - direct, 1)
        return Messages(direct, 0, total - direct, 0, mean)
    return Messages(direct, to_groups, to_large, others, workload.large_group_members - 1)


def entry_bytes(workload: Workload) -> float:
    return ops.ENTRY_BYTES + workload.message_bytes


def daily_operations(workload: Workload) -> list[Daily]:
    found = [
        *_sends(workload),
        *_marks(workload),
        *_absent(workload),
        *_connects(workload),
        *_reads(workload),
        *_rest(workload),
    ]
    size = entry_bytes(workload)
    return [Daily(each.operation.of_entry(size), each.times) for each in found if each.times > 0]


def monthly_loads(daily: Iterable[Daily]) -> tuple[OperationLoad, ...]:
    """Return each operation once, although several causes may have it."""
    found: dict[str, OperationLoad] = {}
    for operation, times in daily:
        month = times * DAYS_PER_MONTH
        writes = sum(operation.writes.values()) + sum(operation.indexes.values())
        reads = sum(operation.reads.values())
        before = found.get(operation.name, OperationLoad(operation.name, 0, 0, 0))
        found[operation.name] = OperationLoad(
            operation.name,
            before.per_month + month,
            before.write_units + month * writes,
            before.read_units + month * reads,
        )
    return tuple(found.values())


def _sends(workload: Workload) -> Iterator[Daily]:
    messages, total = messages_of(workload), workload.messages_per_day
    yield Daily(ops.SEND, total * (1 - workload.without_position_share))
    yield Daily(ops.SEND_WITHOUT_POSITION, total * workload.without_position_share)
    yield Daily(ops.OPEN_LOG, total / max(1, workload.in_a_row))
    yield Daily(ops.DELIVER_DIRECT, messages.direct)
    yield Daily(ops.DELIVER_GROUP, messages.small + messages.large)


def _marks(workload: Workload) -> Iterator[Daily]:
    """Yield the watermarks of connected recipients: a read is written at once, acks at most once a minute."""
    messages, online = messages_of(workload), workload.connected_share
    direct = messages.direct * online
    group = (messages.small * messages.small_others + messages.large * messages.large_others) * online
    yield Daily(ops.MARK_READ, direct * workload.read_share)
    yield Daily(ops.MARK_GROUP_READ, group * workload.group_read_share)
    unread = direct * (1 - workload.read_share) + group * (1 - workload.group_read_share)
    yield Daily(ops.ACK, unread / max(1, workload.per_minute))


def _absent(workload: Workload) -> Iterator[Daily]:
    """Yield the offline queue of direct chats, and the checks of absent recipients."""
    messages, away = messages_of(workload), 1 - workload.connected_share
    direct, members = messages.direct * away, messages.small * messages.small_others * away
    yield Daily(ops.QUEUE, direct)
    yield Daily(ops.CHECK_DIRECT, direct)
    yield Daily(ops.CHECK_GROUP, messages.small if away else 0)
    yield Daily(ops.CHECK_MEMBER, members)
    together = max(1.0, workload.per_minute * BADGE_S / 60)
    yield Daily(ops.badge(workload.chats, workload.groups), (direct + members) / together)


def _connects(workload: Workload) -> Iterator[Daily]:
    """Yield connects, and what a device missed since the last one: a queue for direct chats, the log for groups."""
    connects = workload.daily_users * workload.devices * workload.connects
    yield Daily(ops.connect(workload.chats, workload.groups), connects)
    messages, size = messages_of(workload), entry_bytes(workload)
    between = max(workload.daily_users * workload.connects, 1)
    away = 1 - workload.connected_share
    direct = messages.direct * away / between
    in_groups = (
        (messages.small * messages.small_others + messages.large * messages.large_others) * away / between
    )
    burst = max(1, workload.per_minute)
    queues, groups = min(workload.direct_chats, direct / burst), min(workload.groups, in_groups / burst)
    if queues:
        yield Daily(ops.catch_up_queue(direct / min(1, queues), size), connects * min(1, queues))
    if groups:
        yield Daily(ops.catch_up_group(in_groups / groups, size), connects * groups)
    yield Daily(ops.ACK, connects * (queues + groups))


def _reads(workload: Workload) -> Iterator[Daily]:
    """Yield the chats that users open, each with a page, its receipts and a mark, and their chat lists."""
    opens = workload.daily_users * workload.chat_opens
    direct_share = workload.direct_chats / workload.chats if workload.chats else 1
    yield Daily(ops.read_page(PAGE_ENTRIES, entry_bytes(workload)), opens)
    yield Daily(ops.MARK_READ, opens * direct_share)
    yield Daily(ops.MARK_GROUP_READ, opens * (1 - direct_share))
    yield Daily(ops.subscribe(2), opens * direct_share)
    if workload.group_members <= MAX_CHECKED_MEMBERS:
        yield Daily(ops.subscribe(workload.group_members), opens * (1 - direct_share))
    on_page = min(workload.groups, PAGE_ENTRIES)
    yield Daily(ops.read_list(workload.chats, on_page), workload.daily_users * workload.list_opens)


def _rest(workload: Workload) -> Iterator[Daily]:
    yield Daily(ops.CREATE_DIRECT, workload.daily_users * workload.new_chats)
    yield Daily(ops.NOTIFY, workload.daily_users * workload.notifications)
    yield Daily(ops.BROADCAST, workload.broadcasts)
    if workload.retention_days is not None:
        yield Daily(ops.EXPIRE, workload.messages_per_day)


def hot_keys(workload: Workload) -> tuple[HotKey, ...]:
    """Return the busiest keys: the chat with most messages, and the head of the largest group when all reconnect."""
    per_s = workload.busiest_chat_per_s
    largest = max(workload.group_members, workload.large_group_members if workload.large_group_share else 0)
    reconnects = largest * workload.devices * min(1, workload.connections / max(workload.daily_users, 1))
    size = entry_bytes(workload)
    return (
        HotKey("messages: the busiest chat", per_s * ops.write_units(size), per_s),
        HotKey(
            "chat_counters: the largest group, while its devices reconnect", per_s, reconnects / RECONNECT_S
        ),
        HotKey(
            "chat_memberships: the largest group, while its devices reconnect", 0, reconnects / RECONNECT_S
        ),
    )


def partitions(write_per_s: float, read_per_s: float, storage_gb: float) -> int:
    """Return how many partitions DynamoDB needs at least: for throughput and for storage."""
    return max(1, ceil(write_per_s / 1_000 + read_per_s / 3_000), ceil(storage_gb / 10))

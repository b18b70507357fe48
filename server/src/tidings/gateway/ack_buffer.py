"""Gather acks: the `delivered` watermark of a user and a chat is written at most once per interval.

The gateway sent the acknowledged entry itself. It therefore knows that the user may see it, and knows its ordinal: a
write needs no read. An ack first waits for a `read` or a message of the user, which imply it and make its write
unnecessary. Receipts do not wait: they are published with each ack.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import final

from tidings.delivery.model import ChatRow, LogPosition, OfflineQueueKey
from tidings.delivery.ports import OfflineQueue
from tidings.delivery.watermarks import WatermarkService
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.resume.plan import chat_head
from tidings.gateway.timer_wheel import TimerEntry, TimerWheel
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry

_MAX_CONCURRENT_WRITES = 16
_READ_WAIT_S = 3.0
"""How long an ack waits for a `read` that follows it."""
_TURN_S = 0.5

type _UserKey = tuple[TenantId, UserId]
type _KnownAck = tuple[ChatKey, UserId, LogPosition]
type _UnknownAck = tuple[ChatKey, UserId, int]
type _QueueDeletion = tuple[TenantId, UserId, tuple[OfflineQueueKey, ...]]


@final
class OrdinalCache:
    """Ordinals of entries that this gateway sent recently. An ordinal never changes, so it needs no invalidation.

    The total number of entries is bounded, not the number of chats: between an entry and its ack, a gateway with many
    devices sends one or two entries in each of tens of thousands of chats.
    """

    def __init__(self, entries: int = 131_072, of_a_chat: int = 32) -> None:
        self._max_entries = entries
        self._max_of_a_chat = of_a_chat
        self._entries = 0
        self._chats: OrderedDict[ChatKey, dict[int, int]] = OrderedDict()

    def note(self, chat: ChatKey, entries: Iterable[Entry]) -> None:
        """Add entries and evict the oldest of this chat, then the least recently used chats."""
        known = self._chats.setdefault(chat, {})
        self._chats.move_to_end(chat)
        self._entries -= len(known)
        for entry in entries:
            known[entry.sequence] = entry.ordinal
        while len(known) > self._max_of_a_chat:
            del known[next(iter(known))]
        self._entries += len(known)
        while self._entries > self._max_entries:
            _, evicted = self._chats.popitem(last=False)
            self._entries -= len(evicted)

    def of(self, chat: ChatKey, sequence: int) -> LogPosition | None:
        ordinal = self._chats.get(chat, {}).get(sequence)
        return None if ordinal is None else LogPosition(sequence, ordinal)


class _ChatAcks(TimerEntry):
    """The acks of one user in one chat.

    unwritten: the highest acknowledged position that is not stored, or None.
    covered: a stored watermark is at or above this sequence, or a write of it is in flight.
    next_write_at: the next write is not before this time.
    """

    __slots__ = ("chat", "covered", "next_write_at", "unwritten", "user")

    def __init__(self, chat: ChatKey, user: UserId) -> None:
        super().__init__()
        self.chat = chat
        self.user = user
        self.unwritten: LogPosition | None = None
        self.covered = 0
        self.next_write_at = 0.0

    def add(self, position: LogPosition) -> bool:
        """Record an ack. Return False if it is not news."""
        highest = self.covered if self.unwritten is None else max(self.covered, self.unwritten.sequence)
        if position.sequence <= highest:
            return False
        self.unwritten = position
        return True

    def cover(self, sequence: int) -> None:
        """Drop an unwritten ack that a stored watermark of this sequence implies."""
        self.covered = max(self.covered, sequence)
        if self.unwritten is not None and self.unwritten.sequence <= sequence:
            self.unwritten = None


@final
class AckBuffer:
    """Gather the acks of all devices of this gateway.

    flush_s: a user's `delivered` watermark in a chat is written at most once in this time, and when a device of the
        user disconnects. A gateway that is killed loses the acks that wait; the positions of the device's next resume
        repeat them.
    is_large: whether a device of this process is subscribed to the channel of the chat. Large chats have no receipts.
    """

    def __init__(
        self,
        watermarks: WatermarkService,
        queue: OfflineQueue,
        ordinals: OrdinalCache,
        *,
        is_large: Callable[[ChatKey], bool],
        flush_s: float,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._is_large = is_large
        self._watermarks = watermarks
        self._queue = queue
        self._ordinals = ordinals
        self._flush_s = flush_s
        self._wait_s = min(_READ_WAIT_S, flush_s)
        self._turn_s = min(_TURN_S, flush_s)
        self._timers: TimerWheel[_ChatAcks] = TimerWheel(self._turn_s)
        self._users: dict[_UserKey, dict[ChatId, _ChatAcks]] = {}
        self._turn: asyncio.TimerHandle | None = None
        self._known: WorkQueue[_KnownAck] = WorkQueue(self._write_known, _MAX_CONCURRENT_WRITES, report)
        self._unknown: WorkQueue[_UnknownAck] = WorkQueue(self._write_unknown, _MAX_CONCURRENT_WRITES, report)
        self._deletions: WorkQueue[_QueueDeletion] = WorkQueue(self._delete, _MAX_CONCURRENT_WRITES, report)

    def take(self, device: ConnectedDevice, chat: ChatId, sequence: int) -> bool:
        """Buffer an ack of a device. Return False if the entry is not cached; the caller must then check the ack itself."""
        position = device.positions.get(chat)
        mark = self._ordinals.of(device.chat(chat), sequence)
        # Race: the device requests a resume from earlier positions, and an ack of a later entry arrives after the
        # resume has set them. The position no longer shows that the entry was sent, so the caller checks the ack.
        if position is None or mark is None or sequence > position.position or sequence < position.since:
            return False
        self._buffer(device, chat, mark)
        return True

    def take_resumed(
        self, device: ConnectedDevice, positions: Mapping[ChatId, int], rows: Iterable[ChatRow]
    ) -> None:
        """Treat the positions of a resume as acks. Only those between a row's watermark and its head are written."""
        drained = device.drained or {}
        for row in rows:
            at = positions.get(row.chat, 0)
            if row.chat in drained:
                self._delete_queued(device, row.chat, at)
            if row.delivered_up_to < at <= chat_head(row):
                self._take_position(device, row, at)

    def cover(self, chat: ChatKey, user: UserId, sequence: int) -> None:
        """Drop acks up to `sequence`, because the user has read this entry or sent it."""
        # Race: a client sends `read` when it shows an entry, before the ack of the entry, which follows within a
        # second. The state is created here, so that the ack finds itself covered.
        acks = self._acks(chat, user)
        acks.cover(sequence)
        if acks.unwritten is None:
            self._set_timer(acks, asyncio.get_running_loop().time() + self._flush_s)

    def flush_user(self, tenant: TenantId, user: UserId) -> None:
        """Write the acks of a user without waiting, because a device of the user has disconnected."""
        for acks in self._users.get((tenant, user), {}).values():
            self._write(acks)

    async def wait_idle(self, within_s: float) -> None:
        """Write all buffered acks."""
        for user in list(self._users):
            self.flush_user(*user)
        self._users.clear()
        self._timers = TimerWheel(self._turn_s)
        await self._known.wait_idle(within_s)
        await self._unknown.wait_idle(within_s)
        await self._deletions.wait_idle(within_s)

    def _take_position(self, device: ConnectedDevice, row: ChatRow, at: int) -> None:
        head = row.known.head
        is_head = head is not None and head.sequence == at
        mark = head if is_head else self._ordinals.of(device.chat(row.chat), at)
        if mark is not None:
            self._buffer(device, row.chat, mark)
        else:
            self._unknown.add((device.chat(row.chat), device.user, at))

    def _delete_queued(self, device: ConnectedDevice, chat: ChatId, up_to: int) -> None:
        """Delete the offline-queue messages of a chat that the device has received."""
        # Race: the delivery worker queues further messages after the resume has read the queue. Only keys that the
        # resume read are deleted, so those messages stay.
        drained = device.drained.get(chat) if device.drained else None
        if drained and device.drained is not None:
            keys = tuple(OfflineQueueKey(key) for at, key in drained if at <= up_to)
            device.drained[chat] = [each for each in drained if each[0] > up_to]
            if keys:
                self._deletions.add((device.key.tenant, device.user, keys))

    def _buffer(self, device: ConnectedDevice, chat: ChatId, position: LogPosition) -> None:
        self._delete_queued(device, chat, position.sequence)
        acks = self._acks(device.chat(chat), device.user)
        was_waiting = acks.unwritten is not None
        # The devices of a user send their acks in any order. Only the highest is written.
        if not acks.add(position):
            return
        is_large = chat in device.large_chat_channels
        self._watermarks.announce_delivered(acks.chat, acks.user, position.sequence, is_large=is_large)
        if device.is_gone:
            # Race: the device disconnects while its resume reports positions. `flush_user` ran before this ack.
            self._write(acks)
        elif not was_waiting:
            due_at = asyncio.get_running_loop().time() + self._wait_s
            self._set_timer(acks, max(due_at, acks.next_write_at))

    def _acks(self, chat: ChatKey, user: UserId) -> _ChatAcks:
        chats = self._users.setdefault((chat.tenant, user), {})
        acks = chats.get(chat.chat)
        if acks is None:
            acks = chats[chat.chat] = _ChatAcks(chat, user)
        return acks

    def _set_timer(self, acks: _ChatAcks, at: float) -> None:
        self._timers.set(acks, at)
        if self._turn is None:
            self._turn = asyncio.get_running_loop().call_later(self._turn_s, self._on_turn)

    def _on_turn(self) -> None:
        self._turn = None
        for acks in self._timers.due(asyncio.get_running_loop().time()):
            self._on_timer(acks)
        if len(self._timers) and self._turn is None:
            self._turn = asyncio.get_running_loop().call_later(self._turn_s, self._on_turn)

    def _on_timer(self, acks: _ChatAcks) -> None:
        """Write the ack that has waited long enough. Without one, the interval has passed: forget the state."""
        if acks.unwritten is not None:
            self._write(acks)
        else:
            self._forget(acks)

    def _write(self, acks: _ChatAcks) -> None:
        # Race: an earlier write is in flight for the same user and chat. The store only raises a watermark, so the two
        # writes may finish in any order.
        if acks.unwritten is not None:
            self._known.add((acks.chat, acks.user, acks.unwritten))
            acks.cover(acks.unwritten.sequence)
            acks.next_write_at = asyncio.get_running_loop().time() + self._flush_s
            self._set_timer(acks, acks.next_write_at)

    def _forget(self, acks: _ChatAcks) -> None:
        user = (acks.chat.tenant, acks.user)
        chats = self._users.get(user, {})
        if chats.get(acks.chat.chat) is acks:
            del chats[acks.chat.chat]
            if not chats:
                del self._users[user]

    async def _write_known(self, ack: _KnownAck) -> None:
        await self._watermarks.is_delivered_known(*ack, is_large=self._is_large(ack[0]))

    async def _write_unknown(self, ack: _UnknownAck) -> None:
        """Write an ack after a check of the membership. A refused one is dropped: a resume does not report it."""
        try:
            await self._watermarks.delivered(*ack)
        except TidingsError as error:
            if error.retryable:
                raise

    async def _delete(self, deletion: _QueueDeletion) -> None:
        await self._queue.delete(*deletion)

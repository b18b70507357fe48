"""Debounce acks: for a user and a chat only the highest ack within an interval is written.

The gateway sent the acknowledged entry itself. It therefore knows that the user may see it, and knows its ordinal: an
ack costs one write and no read.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import final

from tidings.delivery.model import ChatRow, LogPosition, OfflineQueueKey
from tidings.delivery.ports import OfflineQueue
from tidings.delivery.watermarks import WatermarkService
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.resume.plan import chat_head
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.debouncer import Debouncer
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry

_MAX_CONCURRENT_WRITES = 16

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


@final
class AckBuffer:
    def __init__(
        self,
        watermarks: WatermarkService,
        queue: OfflineQueue,
        ordinals: OrdinalCache,
        *,
        within_s: float,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._watermarks = watermarks
        self._queue = queue
        self._ordinals = ordinals
        self._waiting: dict[tuple[ChatKey, UserId], LogPosition] = {}
        self._debouncer = Debouncer(self._flush, within_s, report)
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
            delivered = row.delivered.sequence if row.delivered else 0
            if delivered < at <= chat_head(row):
                self._take_position(device, row, at)

    async def _flush(self) -> None:
        # Race: a write of the previous window is in flight for the same user and chat. The store only raises a
        # watermark, so the two writes may finish in any order.
        waiting, self._waiting = self._waiting, {}
        for (chat, user), mark in waiting.items():
            self._known.add((chat, user, mark))

    async def wait_idle(self, within_s: float) -> None:
        await self._debouncer.wait_idle(within_s)
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
        key = (device.chat(chat), device.user)
        # The devices of a user send their acks in any order. Only the highest is written.
        before = self._waiting.get(key)
        if before is None or before.sequence < position.sequence:
            self._waiting[key] = position
        self._debouncer.schedule()

    async def _write_known(self, ack: _KnownAck) -> None:
        await self._watermarks.is_delivered_known(*ack)

    async def _write_unknown(self, ack: _UnknownAck) -> None:
        """Write an ack after a check of the membership. A refused one is dropped: a resume does not report it."""
        try:
            await self._watermarks.delivered(*ack)
        except TidingsError as error:
            if error.retryable:
                raise

    async def _delete(self, deletion: _QueueDeletion) -> None:
        await self._queue.delete(*deletion)

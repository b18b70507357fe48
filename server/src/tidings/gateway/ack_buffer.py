"""Acks, debounced: of a user and chat the furthest is written once in a while, however many devices say it how often.

The gateway has shown the entry itself, so it knows that the user may see it, and its ordinal: one write, no read.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import final

from tidings.delivery.model import ChatRow, LogPosition, OfflineQueueKey
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.ports import DeviceQueueReader, WatermarkMarking
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.debouncer import Debouncer
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry

_MAX_CONCURRENT_WRITES = 16

type _Held = tuple[ChatKey, UserId, LogPosition]
type _ReportedAck = tuple[ChatKey, UserId, int]
type _QueueDeletion = tuple[TenantId, UserId, tuple[OfflineQueueKey, ...]]


@final
class OrdinalCache:
    """Of entries that went through lately, chat by chat. They never change, so they may be kept.

    Bounded by the entries in all chats, not by chats: a gateway with many devices sees tens of thousands of chats
    between an entry and its ack, with an entry or two in each.
    """

    def __init__(self, entries: int = 131_072, of_a_chat: int = 32) -> None:
        self._most_entries = entries
        self._most_of_a_chat = of_a_chat
        self._entries = 0
        self._chats: OrderedDict[ChatKey, dict[int, int]] = OrderedDict()

    def note(self, chat: ChatKey, entries: Iterable[Entry]) -> None:
        known = self._chats.setdefault(chat, {})
        self._chats.move_to_end(chat)
        self._entries -= len(known)
        for entry in entries:
            known[entry.sequence] = entry.ordinal
        while len(known) > self._most_of_a_chat:
            del known[next(iter(known))]
        self._entries += len(known)
        while self._entries > self._most_entries:
            _, gone = self._chats.popitem(last=False)
            self._entries -= len(gone)

    def of(self, chat: ChatKey, sequence: int) -> LogPosition | None:
        ordinal = self._chats.get(chat, {}).get(sequence)
        return None if ordinal is None else LogPosition(sequence, ordinal)


@final
class AckBuffer:
    def __init__(
        self,
        marking: WatermarkMarking,
        queue: DeviceQueueReader,
        ordinals: OrdinalCache,
        *,
        within_s: float,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._marking = marking
        self._queue = queue
        self._ordinals = ordinals
        self._waiting: dict[tuple[ChatKey, UserId], LogPosition] = {}
        self._debouncer = Debouncer(self._flush, within_s, report)
        self._writes: WorkQueue[_Held] = WorkQueue(self._write, _MAX_CONCURRENT_WRITES, report)
        self._slow: WorkQueue[_ReportedAck] = WorkQueue(self._judge, _MAX_CONCURRENT_WRITES, report)
        self._deletes: WorkQueue[_QueueDeletion] = WorkQueue(self._delete, _MAX_CONCURRENT_WRITES, report)

    def take(self, device: ConnectedDevice, chat: ChatId, sequence: int) -> bool:
        """False: nothing is known here of such an entry, so the slow way is to judge it."""
        place = device.positions.get(chat)
        mark = self._ordinals.of(device.chat(chat), sequence)
        if place is None or mark is None or sequence > place.position or sequence < place.since:
            return False
        self.mark(device, chat, mark)
        return True

    def mark(self, device: ConnectedDevice, chat: ChatId, position: LogPosition) -> None:
        self.done_with(device, chat, position.sequence)
        key = (device.chat(chat), device.user)
        before = self._waiting.get(key)
        if before is None or before.sequence < position.sequence:
            self._waiting[key] = position
        self._debouncer.schedule()

    def position(self, device: ConnectedDevice, row: ChatRow, at: int) -> None:
        """A position that is news to the row."""
        head = row.known.head
        mark = (
            head if head is not None and head.sequence == at else self._ordinals.of(device.chat(row.chat), at)
        )
        if mark is not None:
            self.mark(device, row.chat, mark)
        else:
            self._slow.add((device.chat(row.chat), device.user, at))

    def done_with(self, device: ConnectedDevice, chat: ChatId, sequence: int) -> None:
        """What was kept for the user up to there has reached him."""
        kept = device.drained.get(chat) if device.drained else None
        if kept and device.drained is not None:
            keys = tuple(OfflineQueueKey(key) for at, key in kept if at <= sequence)
            device.drained[chat] = [each for each in kept if each[0] > sequence]
            if keys:
                self._deletes.add((device.key.tenant, device.user, keys))

    async def _flush(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for (chat, user), mark in waiting.items():
            self._writes.add((chat, user, mark))

    async def wait_idle(self, within_s: float) -> None:
        await self._debouncer.wait_idle(within_s)
        await self._writes.wait_idle(within_s)
        await self._slow.wait_idle(within_s)
        await self._deletes.wait_idle(within_s)

    async def _write(self, held: _Held) -> None:
        await self._marking.is_delivered_known(*held)

    async def _judge(self, told: _ReportedAck) -> None:
        try:
            await self._marking.delivered(*told)
        except TidingsError as error:
            if error.retryable:
                raise

    async def _delete(self, gone: _QueueDeletion) -> None:
        await self._queue.delete(*gone)

"""Acks, debounced: of a user and chat the furthest is written once in a while, however many devices say it how often.

The gateway has shown the entry itself, so it knows that the user may see it, and its ordinal: one write, no read.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import final

from tidings.delivery.model import Mark, PendingKey, Row
from tidings.gateway.crew import Crew
from tidings.gateway.ports import Marking, Queue
from tidings.gateway.seat import Seat
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry

_WRITES_AT_ONCE = 16

type _Held = tuple[ChatKey, UserId, Mark]
type _Told = tuple[ChatKey, UserId, int]
type _Gone = tuple[TenantId, UserId, tuple[PendingKey, ...]]


@final
class Ordinals:
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

    def of(self, chat: ChatKey, sequence: int) -> Mark | None:
        ordinal = self._chats.get(chat, {}).get(sequence)
        return None if ordinal is None else Mark(sequence, ordinal)


@final
class Acks:
    def __init__(
        self,
        marking: Marking,
        queue: Queue,
        ordinals: Ordinals,
        *,
        within_s: float,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._marking = marking
        self._queue = queue
        self._ordinals = ordinals
        self._within_s = within_s
        self._waiting: dict[tuple[ChatKey, UserId], Mark] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writes: Crew[_Held] = Crew(self._write, _WRITES_AT_ONCE, report)
        self._slow: Crew[_Told] = Crew(self._judge, _WRITES_AT_ONCE, report)
        self._deletes: Crew[_Gone] = Crew(self._delete, _WRITES_AT_ONCE, report)

    def take(self, seat: Seat, chat: ChatId, sequence: int) -> bool:
        """False: nothing is known here of such an entry, so the slow way is to judge it."""
        place = seat.places.get(chat)
        mark = self._ordinals.of(seat.chat(chat), sequence)
        if place is None or mark is None or sequence > place.position or sequence < place.since:
            return False
        self.mark(seat, chat, mark)
        return True

    def mark(self, seat: Seat, chat: ChatId, mark: Mark) -> None:
        self.done_with(seat, chat, mark.sequence)
        key = (seat.chat(chat), seat.user)
        before = self._waiting.get(key)
        if before is None or before.sequence < mark.sequence:
            self._waiting[key] = mark
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._within_s, self.flush)

    def position(self, seat: Seat, row: Row, at: int) -> None:
        """A position that is news to the row."""
        head = row.known.head
        mark = (
            head if head is not None and head.sequence == at else self._ordinals.of(seat.chat(row.chat), at)
        )
        if mark is not None:
            self.mark(seat, row.chat, mark)
        else:
            self._slow.add((seat.chat(row.chat), seat.user, at))

    def done_with(self, seat: Seat, chat: ChatId, sequence: int) -> None:
        """What was kept for the user up to there has reached him."""
        kept = seat.drained.get(chat) if seat.drained else None
        if kept and seat.drained is not None:
            keys = tuple(PendingKey(key) for at, key in kept if at <= sequence)
            seat.drained[chat] = [each for each in kept if each[0] > sequence]
            if keys:
                self._deletes.add((seat.key.tenant, seat.user, keys))

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        for (chat, user), mark in waiting.items():
            self._writes.add((chat, user, mark))

    async def settled(self, within_s: float) -> None:
        self.flush()
        await self._writes.settled(within_s)
        await self._slow.settled(within_s)
        await self._deletes.settled(within_s)

    async def _write(self, held: _Held) -> None:
        await self._marking.holds(*held)

    async def _judge(self, told: _Told) -> None:
        try:
            await self._marking.delivered(*told)
        except TidingsError as error:
            if error.retryable:
                raise

    async def _delete(self, gone: _Gone) -> None:
        await self._queue.delete(*gone)

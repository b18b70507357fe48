"""Pushes to the devices that are here, chat by chat and in order: what follows a device's position is sent, what it
has is dropped, and where something is missing the range is read.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

from tidings.gateway.acks import Ordinals
from tidings.gateway.counts import Counts
from tidings.gateway.hub import Hub
from tidings.gateway.pushing.opening import Open, Opened
from tidings.gateway.pushing.rooms import Room
from tidings.gateway.resume.ranges import Ranges
from tidings.gateway.seat import STIRS, Offer, Seat
from tidings.gateway.socket.ports import Socket
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, UserId
from tidings.messages.model import Entry, Kind
from tidings.routing.model import Addressee, Part, Push

WAITING = 256
"""Pushes of one chat that may wait to be opened. Of the oldest beyond that, devices only note the sequences: they
read the entries from the log.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Away:
    """A device that was pushed to and is not here; the messages that it should have got from others."""

    chat: ChatKey
    addressee: Addressee
    messages: tuple[Entry, ...]


class _Wanted(NamedTuple):
    """Who is to get which part of a push."""

    seat: Seat
    first: int
    last: int


@final
class Giving:
    """Tells of who is not here, `away`; who is to listen to a chat's own channel from now on, `grown`; and whose leave,
    at that sequence, is pushed only after he was shown it, or while he resumes, `left_before`.
    """

    def __init__(
        self,
        hub: Hub[Seat],
        opening: Open,
        ranges: Ranges,
        *,
        ordinals: Ordinals,
        counts: Counts,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._report = report
        self._hub = hub
        self._open = opening
        self._ranges = ranges
        self._ordinals = ordinals
        self._counts = counts
        self._waiting: dict[ChatKey, deque[tuple[Push, Room | None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.away: Callable[[Away], None] = lambda _: None
        self.grown: Callable[[Seat, Push], None] = lambda _, __: None
        self.left_before: Callable[[Seat, ChatId, int], None] = lambda _, __, ___: None

    def take(self, push: Push, room: Room | None = None) -> None:
        """Of each chat one at a time: two that are opened at once could overtake each other."""
        self._counts.pushes += 1
        waiting = self._waiting.get(push.key)
        if waiting is not None:
            waiting.append((push, room))
            if len(waiting) > WAITING:
                self._let_go(*waiting.popleft())
            return
        self._waiting[push.key] = deque([(push, room)])
        task = asyncio.get_running_loop().create_task(self._run(push.key))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def settled(self, within_s: float) -> None:
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=within_s)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report("a push could not be given out", error)

    async def _run(self, chat: ChatKey) -> None:
        waiting = self._waiting[chat]
        try:
            while waiting:
                push, room = waiting.popleft()
                await self._give(push, room)
        finally:
            del self._waiting[chat]

    async def _give(self, push: Push, room: Room | None) -> None:
        """Who is to have it is asked after it was opened: who has come or gone meanwhile is so by then."""
        try:
            opened = await self._open(push)
        except Exception:  # noqa: BLE001 - keys or content can't be had now: each device reads the range, which tries again
            opened = []
        if opened:
            self._ordinals.note(push.key, push.entries)
        everybody = self._wanted_by(push, room)
        self._send(push, opened, [to for wanted in everybody if (to := self._offer(push, wanted, opened))])

    def _let_go(self, push: Push, room: Room | None) -> None:
        """Note a push that is not opened. A device without a place in the chat would else begin behind it."""
        for wanted in self._wanted_by(push, room):
            self._offer(push, wanted, [])

    def _wanted_by(self, push: Push, room: Room | None) -> Iterator[_Wanted]:
        return self._in_room(push, room) if room is not None else self._addressed(push)

    def _addressed(self, push: Push) -> Iterator[_Wanted]:
        for part in push.parts:
            for addressee in part.devices:
                seat = self._hub.get(DeviceKey(push.tenant, addressee.user, addressee.device))
                if seat is None:
                    self._counts.away += 1
                    self.away(Away(push.key, addressee, tuple(_messages(push, part, addressee.user))))
                else:
                    yield _Wanted(seat, part.first, part.last)

    def _in_room(self, push: Push, room: Room) -> Iterator[_Wanted]:
        """Who is taken out by one of the entries gets it, and nothing behind it."""
        first, last = push.entries[0].sequence, push.entries[-1].sequence
        ends = _ends(push)
        for seat in list(room.seats):
            yield _Wanted(seat, first, ends.get(seat.user, last))

    def _offer(self, push: Push, wanted: _Wanted, opened: Sequence[Opened]) -> _Wanted | None:
        """What of it is to be sent now. What could not be opened is as if a hole lay before it."""
        seat, first, last = wanted
        place = seat.places.get(push.chat)
        before = place.position if place is not None else first - 1
        offer = seat.offered(push.chat, first, last) if opened else seat.heard(push.chat, first, last)
        self._count(offer)
        if offer is Offer.GAP:
            self._ranges.start(seat, push.chat)
        if push.is_large and _is_taken_out(push, last, seat.user):
            if offer is Offer.OLD or not seat.is_live:
                self.left_before(seat, push.chat, last)
        elif push.is_large and push.parts:
            self.grown(seat, push)
        return wanted._replace(first=max(first, before + 1)) if offer is Offer.NEXT else None

    def _send(self, push: Push, opened: Sequence[Opened], to: Sequence[_Wanted]) -> None:
        """Entry by entry, each frame to all who get it at once. Nothing is awaited between a position and its frame."""
        for each in opened:
            sequence, stirs = each.entry.sequence, each.entry.kind in STIRS
            receivers: dict[bytes, list[Socket]] = {}
            for seat, first, last in to:
                if first <= sequence <= last:
                    if stirs:
                        seat.moved(push.chat, each.entry)
                    frame = each.frame(seat.user, seat.places[push.chat].since)
                    receivers.setdefault(frame, []).append(seat.socket)
            for frame, sockets in receivers.items():
                self._counts.entries += len(sockets)
                self._hub.send(frame, sockets)

    def _count(self, offer: Offer) -> None:
        if offer is Offer.GAP:
            self._counts.gaps += 1
        elif offer is Offer.HELD:
            self._counts.held += 1
        elif offer is Offer.OLD:
            self._counts.old += 1


def _ends(push: Push) -> dict[UserId, int]:
    """Where each is taken out first: what comes after he came back goes by his route, or is read."""
    return {user: e.sequence for e in reversed(push.entries) if e.kind is Kind.LEAVE for user in e.users}


def _is_taken_out(push: Push, at: int, user: UserId) -> bool:
    entry = push.entries[at - push.entries[0].sequence]
    return entry.kind is Kind.LEAVE and user in entry.users


def _messages(push: Push, part: Part, user: UserId) -> Iterator[Entry]:
    for entry in push.entries:
        if entry.kind is Kind.MESSAGE and part.first <= entry.sequence <= part.last and entry.sender != user:
            yield entry

"""Joins what makes a gateway one of many: its own channel, its devices' routes, large chats, resuming, acks.

Hears words, tells them apart, and knows who has come and gone. What each of them means is in the files it joins.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

import msgspec

from tidings.gateway.acks import Acks, Ordinals
from tidings.gateway.broadcasts.desk import BroadcastDesk
from tidings.gateway.counts import Counts
from tidings.gateway.crew import Crew
from tidings.gateway.hub import Hub
from tidings.gateway.leases import Leases
from tidings.gateway.notices import InboxDesk
from tidings.gateway.ports import InboxCases, Listing, Marking, NobodyAway, Queue, Reading, Rows, UserAway
from tidings.gateway.pushing.chat_rows import ChatRowPusher
from tidings.gateway.pushing.giving import Away, Giving
from tidings.gateway.pushing.opening import Opening
from tidings.gateway.pushing.rooms import Room, Rooms
from tidings.gateway.resume.charges import Charge
from tidings.gateway.resume.parts import Parts, ResumeOptions
from tidings.gateway.resume.ranges import RangeOptions, Ranges
from tidings.gateway.resume.run import Resuming
from tidings.gateway.resume.sending import Sending
from tidings.gateway.seat import NOT_SEEN, Seat
from tidings.gateway.signs.desk import Signs, SignWorld
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey
from tidings.kernel.pauses import NO_PAUSES, Pauses
from tidings.routing.model import GatewayId, Noticed, OwnRead, Push, Replaced, Ring, RowChanged, Word, decode
from tidings.routing.ports import (
    Ears,
    Heard,
    Line,
    Listening,
    LogEars,
    Lost,
    Routes,
    RoutesAwayError,
    Standing,
)
from tidings.wire.close_codes import CloseCode
from tidings.wire.frames.connecting import Resume, Resumed

_REMOVED_AT_ONCE: Final = 64
_JOINED_AT_ONCE: Final = 16

type _Gone = tuple[DeviceKey, int]
type Report = Callable[[str, BaseException], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedOptions:
    """`ack_within_s`: so long an ack waits for others of the same user and chat.

    `broadcast_spread_s`: within such a time those who look are told of a broadcast.
    """

    renew_every_s: float = 10.0
    ack_within_s: float = 1.0
    broadcast_spread_s: float = 30.0
    resume: ResumeOptions = field(default_factory=ResumeOptions)
    ranges: RangeOptions = field(default_factory=RangeOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What it is given. `gateway` is new at each start of a process."""

    gateway: GatewayId
    routes: Routes
    line: Line
    ears: Ears
    rows: Rows
    queue: Queue
    listing: Listing
    history: Reading
    marking: Marking
    signs: SignWorld
    inboxes: InboxCases | None = None
    log_ears: LogEars | None = None
    unreached: UserAway = field(default_factory=NobodyAway)
    pauses: Pauses = NO_PAUSES
    clock: Clock = field(default_factory=SystemClock)
    options: RoutedOptions = field(default_factory=RoutedOptions)


@final
class Routed:
    def __init__(self, world: World, hub: Hub[Seat], report: Report) -> None:
        self._world = world
        self._hub = hub
        self.counts = Counts()
        options, ordinals = world.options, Ordinals()
        sending = Sending(ordinals)
        self.acks = Acks(world.marking, world.queue, ordinals, within_s=options.ack_within_s, report=report)
        self.ranges = Ranges(world.history, sending, self.counts, options.ranges, report)
        self.rooms = Rooms(world.ears, self)
        parts = Parts(
            world.routes, world.line, self.rooms, world.rows, world.queue, world.listing, world.history,
            self.ranges, sending, self.acks,
        )  # fmt: skip
        self.resuming = Resuming(
            parts, world.gateway, options.resume, counts=self.counts, pauses=world.pauses, report=report
        )
        self.giving = Giving(
            hub,
            Opening(world.history),
            self.ranges,
            ordinals=ordinals,
            counts=self.counts,
            report=report,
        )
        self.leases = Leases(
            hub, world.routes, world.gateway, self.resuming.again, every_s=options.renew_every_s
        )
        self.chat_rows = ChatRowPusher(world.rows, world.listing, hub, report)
        self.signs = Signs(world.signs, world.ears, hub, report)
        self.inboxes = _inboxes(world, report)
        self._removals: Crew[_Gone] = Crew(self._remove, _REMOVED_AT_ONCE, report)
        self._aways: Crew[Away] = Crew(self._away, _REMOVED_AT_ONCE, report)
        self._joins: Crew[tuple[Seat, ChatId, int]] = Crew(self._join, _JOINED_AT_ONCE, report)
        self._missed: Crew[Room] = Crew(self._catch_up, _JOINED_AT_ONCE, report)
        self._listening: Listening | None = None
        self._report = report
        self._introduce()

    def _introduce(self) -> None:
        """Whoever has something to tell another gets to know him."""
        self.ranges.again = self.resuming.again
        self.resuming.left = self.left
        self.resuming.read = self.signs.read
        self.resuming.live = self._live
        self.resuming.routed = self.signs.routed
        self.giving.away = self._aways.add
        self.giving.grown = lambda seat, push: self._joins.add((seat, push.chat, push.entries[-1].sequence))
        self.giving.left_before = self._left_before
        self.leases.unheard = lambda seat, chat: self._joins.add((seat, chat, 0))

    def start(self) -> None:
        self._listening = self._world.ears.at_gateway(self._world.gateway, self._hear)

    async def stop(self, within_s: float) -> None:
        """After the last device has left: its route is taken out, its acks are written."""
        if self._listening is not None:
            self._listening.close()
        self.rooms.close()
        await self.giving.settled(0)
        for part in (self.chat_rows, self.ranges, self.resuming, self._joins, self._missed, self._aways):
            await part.settled(0)
        await self.acks.settled(within_s)
        await self.inboxes.settled(0)
        await self._removals.settled(within_s)
        await self.signs.settled(within_s)

    async def resume(self, seat: Seat, asked: Resume, epoch: int, charge: Charge | None = None, /) -> Resumed:
        return await self.resuming(seat, asked, epoch, charge)

    def acked(self, seat: Seat, delivered: Mapping[str, int], /) -> dict[str, int]:
        """Those of which nothing is known here: the slow way is to judge them."""
        return {c: n for c, n in delivered.items() if not self.acks.take(seat, ChatId(c), n)}

    def entered(self, seat: Seat) -> None:
        seat.left = lambda chat: self.rooms.leave(seat, chat)
        seat.returned = lambda chat: self._joins.add((seat, chat, 0))
        seat.joined = lambda chat: self.chat_rows.joined(seat, chat)
        seat.stirred = lambda chat, entry: self.signs.stirred(seat, chat, entry)

    def left(self, seat: Seat) -> None:
        """Also more than once: what a resume builds up after the end of its device is taken down again."""
        seat.is_gone, seat.is_live, seat.is_routed = True, False, False
        self.rooms.leave_all(seat)
        self.signs.left(seat)
        self.inboxes.left(seat)
        if seat.epoch:
            self._removals.add((seat.key, seat.epoch))
            seat.epoch = 0

    def _left_before(self, seat: Seat, chat: ChatId, at: int) -> None:
        """He may have read of his leave in the log, then resumed by a row that did not know of it, and listen again.

        The row is written by now. So he listens no more, and resumes: who is in again is let in by that.
        """
        place = seat.places.get(chat)
        if place is not None and (not place.is_member or at < place.since < NOT_SEEN):
            return
        if not seat.is_live:
            seat.ends = {**(seat.ends or {}), chat: at}
            return
        if place is not None:
            place.is_member = False
        self.rooms.leave(seat, chat)
        self.resuming.again(seat)

    def _live(self, seat: Seat) -> None:
        ends, seat.ends = seat.ends, None
        for chat, at in (ends or {}).items():
            self._left_before(seat, chat, at)
        self.signs.live(seat)
        self.inboxes.live(seat)

    def said(self, room: Room, payload: bytes, /) -> None:
        for word in self._words(payload):
            if isinstance(word, Push):
                self.giving.take(word, room)

    def missed(self, room: Room, /) -> None:
        for seat in room.seats:
            seat.unheard.pop(room.key.chat, None)
        self._missed.add(room)

    def _hear(self, heard: Heard) -> None:
        """What was said before the channel stood, or while it was lost, nobody has heard: everybody resumes.

        Under a new route each: whoever found nobody listening may still be about to delete the one that he knew.
        """
        match heard:
            case Standing():
                for seat in self._hub:
                    seat.is_routed = False
                    self.resuming.again(seat)
            case Lost():
                pass
            case payload:
                for word in self._words(payload):
                    self._do(word)

    def _words(self, payload: bytes) -> tuple[Word, ...]:
        try:
            return decode(payload)
        except msgspec.DecodeError as error:
            self._report("a word that can't be read", error)
            return ()

    def _do(self, word: Word) -> None:
        match word:
            case Push():
                self.giving.take(word)
            case Ring():
                for each in word.devices:
                    seat = self._hub.get(DeviceKey(word.tenant, word.user, each.device))
                    if seat is not None:
                        self.resuming.again(seat)
            case Noticed():
                self.inboxes.noticed(word)
            case OwnRead():
                self.signs.own_read(word)
            case RowChanged():
                self.chat_rows.changed(word)
            case Replaced():
                seat = self._hub.get(DeviceKey(word.tenant, word.user, word.device))
                if seat is not None and seat.epoch < word.epoch:
                    seat.connected.close(CloseCode.REPLACED)

    async def _remove(self, gone: _Gone) -> None:
        key, epoch = gone
        try:
            was_there = await self._world.routes.remove(key, self._world.gateway, epoch)
        except RoutesAwayError:
            return
        if was_there:
            self.signs.unrouted(key.tenant, key.user)

    async def _away(self, away: Away) -> None:
        """Pushed to a device that has left: its route goes, and if its user has no other he is away."""
        user, device, epoch = away.addressee
        await self._remove((DeviceKey(away.chat.tenant, user, device), epoch))
        others = await self._world.routes.of(away.chat.tenant, [user])
        if away.messages and user not in others.unknown and user not in others.found:
            await self._world.unreached.tell(away.chat, user, away.messages)

    async def _join(self, job: tuple[Seat, ChatId, int]) -> None:
        """Listen first, then hold the position against the head: what was said before is in it.

        Not for who has left since: the entry that made the chat large may come late, after his leave. Who is yet to
        be sent the entry may be on his way back in.
        """
        seat, chat, last = job
        place = seat.places.get(chat)
        has_left = place is not None and place.position >= last and not place.is_member
        seat.unheard.pop(chat, None)
        if has_left or (chat in seat.rooms and self.rooms.is_heard(seat.chat(chat))):
            return
        if not await self.rooms.enter(seat, chat):
            # Only this chat can't be heard. It is compared now, by each heartbeat, and when its channel is confirmed.
            seat.unheard[chat] = None
        await self._compare(seat.chat(chat), [seat])

    async def _catch_up(self, room: Room) -> None:
        await self._compare(room.key, list(room.seats))

    async def _compare(self, chat: ChatKey, seats: Sequence[Seat]) -> None:
        """One read for all of them; then a range for each that is behind."""
        try:
            heads = await self._world.rows.heads(chat.tenant, [chat.chat])
        except Exception as error:
            for seat in seats:
                self.resuming.again(seat)
            if not isinstance(error, TidingsError):
                raise
            return
        news = heads.get(chat.chat)
        head = news.head.sequence if news is not None and news.head is not None else 0
        for seat in seats:
            if chat.chat in seat.places or (head and not seat.is_live):
                # A device in its first resume has no place in the chat yet, and may have read the chat's head before
                # this entry was published: what is noted now is compared with the place that the resume makes.
                seat.heard(chat.chat, head, head)
                self.ranges.start(seat, chat.chat)


def _inboxes(world: World, report: Report) -> InboxDesk:
    broadcasts = BroadcastDesk(
        world.inboxes,
        world.log_ears,
        report,
        clock=world.clock,
        spread_s=world.options.broadcast_spread_s,
    )
    return InboxDesk(world.inboxes, broadcasts, report)

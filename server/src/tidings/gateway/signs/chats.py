"""Receipts and typing in the chats that devices here have on their screens.

The order for each: listen, and when the channel stands, read the whole state; what is said meanwhile is merged into it;
push it; then tell what comes. So whatever was missed before is in the state, and nothing falls between.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, Protocol, final

import msgspec

from tidings.gateway.crew import Crew
from tidings.gateway.hub import Hub
from tidings.gateway.seat import Seat
from tidings.gateway.signs.channels import Channel, Channels
from tidings.gateway.signs.counts import SignCounts
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, UserId
from tidings.routing.ports import Ears
from tidings.signs import rules
from tidings.signs.model import Got, Receipts, Typing, decode
from tidings.signs.whole import State
from tidings.wire.codec import encode_push
from tidings.wire.frames.signs import TypingPush
from tidings.wire.frames.watermarks import Got as GotFrame
from tidings.wire.frames.watermarks import Receipts as ReceiptsPush

_READS_AT_ONCE: Final = 16
UNHEARD_S: Final = 1.0
"""So long the state waits for its channel. Then it is told all the same, and again when the channel stands."""
_AGAIN_S: Final = 2.0

type Report = Callable[[str, BaseException], None]


class ReadWhole(Protocol):
    async def of(self, chat: ChatKey, /) -> State: ...


class ChatChannel(Channel[ChatKey]):
    """`asked`: who is to be given the state. `heard`: what was said while it is read. `waiting`: what is told next."""

    def __init__(self, key: ChatKey) -> None:
        super().__init__(key)
        self.asked: dict[Seat, None] = {}
        self.readers = 0
        self.heard: dict[UserId, Got] = {}
        self.waiting: dict[UserId, Got] = {}
        self.timer: asyncio.TimerHandle | None = None


@final
class ChatSigns:
    """`within_s`: of a chat at most one frame of receipts in such a time."""

    def __init__(
        self,
        ears: Ears,
        whole: ReadWhole,
        hub: Hub[Seat],
        *,
        within_s: float,
        counts: SignCounts,
        report: Report,
    ) -> None:
        self._whole = whole
        self._hub = hub
        self._within_s = within_s
        self._counts = counts
        self._report = report
        self.channels: Channels[ChatKey, ChatChannel] = Channels(ChatChannel, ears.at_signs, self)
        self._reads: Crew[ChatKey] = Crew(self._read, _READS_AT_ONCE, report)

    def look(self, seat: Seat, chat: ChatId) -> None:
        """Also for one who looks already: he is given the whole state again, if it is still his to see."""
        place = seat.places.get(chat)
        if place is None or not place.is_member or chat in seat.rooms:
            self.leave(seat, chat)
            return
        channel = self.channels.enter(seat, seat.chat(chat))
        if channel.is_standing:
            self._ask(channel, [seat])
        else:
            asyncio.get_running_loop().call_later(UNHEARD_S, self._ask_unheard, channel, seat)

    def leave(self, seat: Seat, chat: ChatId) -> None:
        self.channels.leave(seat, seat.chat(chat))

    def is_open(self, seat: Seat, chat: ChatId) -> bool:
        channel = self.channels.get(seat.chat(chat))
        return channel is not None and channel.seats.get(seat, False)

    async def settled(self) -> None:
        self.channels.close()
        await self._reads.settled(0)

    def stands(self, channel: ChatChannel, /) -> None:
        self._ask(channel, channel.seats)

    def said(self, channel: ChatChannel, payload: bytes, /) -> None:
        try:
            sign = decode(payload)
        except msgspec.DecodeError as error:
            self._report("a sign that can't be read", error)
            return
        match sign:
            case Receipts(members):
                self._gather(channel, members)
            case Typing(user, is_typing):
                frame = encode_push(TypingPush(chat=channel.key.chat, user=user, is_typing=is_typing))
                self._counts.typing += self._send(channel, frame, but=user)

    def _ask(self, channel: ChatChannel, seats: Iterable[Seat]) -> None:
        channel.asked.update(dict.fromkeys(seats))
        if channel.asked:
            self._reads.add(channel.key)

    def _ask_unheard(self, channel: ChatChannel, seat: Seat) -> None:
        if not channel.is_standing and seat in channel.seats:
            self._ask(channel, [seat])

    def _ask_again(self, channel: ChatChannel, seats: Iterable[Seat]) -> None:
        self._ask(channel, [seat for seat in seats if seat in channel.seats])

    async def _read(self, key: ChatKey) -> None:
        """One read for all of a channel who wait for it."""
        channel = self.channels.get(key)
        if channel is None:
            return
        asked, channel.asked = channel.asked, {}
        channel.readers += 1
        try:
            state = await self._whole.of(key)
        except TidingsError:
            asyncio.get_running_loop().call_later(_AGAIN_S, self._ask_again, channel, asked)
            return
        finally:
            channel.readers -= 1
            heard = channel.heard
            if not channel.readers:
                channel.heard = {}
        self._counts.states += 1
        for seat in asked:
            self._open(channel, seat, state, heard)

    def _open(self, channel: ChatChannel, seat: Seat, state: State, heard: dict[UserId, Got]) -> None:
        if seat not in channel.seats:
            return
        members = state.seen_by(seat.user)
        if members is None:
            self.channels.leave(seat, channel.key)
            return
        channel.seats[seat] = True
        self._counts.receipts += 1
        seat.connected.push(_frame(channel.key.chat, rules.raised(members, heard), is_all=True))

    def _gather(self, channel: ChatChannel, members: Iterable[Got]) -> None:
        """At once if it was quiet; then what comes within a window goes together."""
        if channel.readers:
            rules.merge(channel.heard, members)
        rules.merge(channel.waiting, members)
        if channel.timer is None:
            self._tell(channel)

    def _tell(self, channel: ChatChannel) -> None:
        channel.timer = None
        if not channel.waiting or not channel.seats:
            return
        members, channel.waiting = tuple(channel.waiting.values()), {}
        self._counts.receipts += self._send(channel, _frame(channel.key.chat, members))
        channel.timer = asyncio.get_running_loop().call_later(self._within_s, self._tell, channel)

    def _send(self, channel: ChatChannel, frame: bytes, but: UserId | None = None) -> int:
        """One frame, encoded once. Who resumes gets the whole state when he is through."""
        sockets = [
            seat.socket
            for seat, is_open in channel.seats.items()
            if is_open and seat.is_live and seat.user != but
        ]
        if sockets:
            self._hub.send(frame, sockets)
        return len(sockets)


def _frame(chat: ChatId, members: Iterable[Got], *, is_all: bool = False) -> bytes:
    return encode_push(ReceiptsPush(chat=chat, members=tuple(map(_got, members)), is_all=is_all))


def _got(got: Got) -> GotFrame:
    return GotFrame(
        user=got.user,
        delivered=got.delivered or None,
        read=got.read or None,
        since=got.since or None,
    )

"""Joins the signs of a gateway: what devices ask to be told of, what they tell, and who has come, stirred or gone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, final

from tidings.delivery.model import Row
from tidings.gateway.crew import Crew
from tidings.gateway.hub import Hub
from tidings.gateway.seat import Seat
from tidings.gateway.signs.chats import ChatSigns, ReadWhole
from tidings.gateway.signs.counts import SignCounts
from tidings.gateway.signs.looks import Looks
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, UserId
from tidings.messages.model import Entry
from tidings.routing.model import OwnRead
from tidings.routing.ports import Ears, RoutesAwayError
from tidings.signs.model import Typing, encode
from tidings.signs.ports import Line
from tidings.wire.codec import encode_push
from tidings.wire.frames.signs import Subscribe, Unsubscribe
from tidings.wire.frames.watermarks import Got, Receipts

OWN_READS: Final = 50
"""Of so many chats, the newest, a device that comes back is told how far its user has read meanwhile."""
_STOPS_AT_ONCE: Final = 16

type Report = Callable[[str, BaseException], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOptions:
    """`subscriptions`: so many chats and users one device may look at."""

    receipts_within_s: float = 0.2
    subscriptions: int = 500


class Whole(ReadWhole, Protocol):
    async def may_tell(self, chat: ChatKey, user: UserId, /) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SignWorld:
    line: Line
    whole: Whole
    options: SignOptions = SignOptions()


@final
class Signs:
    def __init__(self, world: SignWorld, ears: Ears, hub: Hub[Seat], report: Report) -> None:
        self._world = world
        self._hub = hub
        self.counts = SignCounts()
        self.chats = ChatSigns(
            ears,
            world.whole,
            hub,
            within_s=world.options.receipts_within_s,
            counts=self.counts,
            report=report,
        )
        self._stops: Crew[tuple[ChatKey, UserId]] = Crew(self._stop_typing, _STOPS_AT_ONCE, report)

    def subscribe(self, seat: Seat, asked: Subscribe) -> None:
        """What is not his to see is left out without a word: an error would tell that it is there."""
        looks = seat.looks = seat.looks or Looks()
        chats, users = {ChatId(chat) for chat in asked.chats}, {UserId(user) for user in asked.users}
        most = self._world.options.subscriptions
        if looks.would_have(chats, users) > most:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"A device looks at no more than {most} chats and users.",
                hint="Unsubscribe from what is no longer on the screen.",
            )
        looks.chats.update(dict.fromkeys(chats))
        looks.users.update(dict.fromkeys(users))
        if seat.is_live:
            for chat in chats:
                self.chats.look(seat, chat)

    def unsubscribe(self, seat: Seat, asked: Unsubscribe) -> None:
        if seat.looks is None:
            return
        for name in asked.chats:
            seat.looks.chats.pop(ChatId(name), None)
            self.chats.leave(seat, ChatId(name))
        for user in asked.users:
            seat.looks.users.pop(UserId(user), None)

    async def typing(self, seat: Seat, chat: ChatId, *, is_typing: bool) -> None:
        """In a large chat, or to somebody with a block between them, it is not passed on."""
        place = seat.places.get(chat)
        if place is None or not place.is_member or chat in seat.rooms:
            return
        key = seat.chat(chat)
        if not self.chats.is_open(seat, chat) and not await self._world.whole.may_tell(key, seat.user):
            return
        looks = seat.looks = seat.looks or Looks()
        if is_typing:
            looks.typing[chat] = None
        else:
            looks.typing.pop(chat, None)
        await self._say(key, Typing(seat.user, is_typing))
        if seat.is_gone:
            self._stop_all(seat)

    def own_read(self, word: OwnRead) -> None:
        frame = _own(word.chat, word.user, word.read)
        for each in word.devices:
            seat = self._hub.get(DeviceKey(word.tenant, word.user, each.device))
            if seat is not None:
                self.counts.own_reads += 1
                seat.connected.push(frame)

    def read(self, seat: Seat, rows: Sequence[Row]) -> None:
        """A device that comes back: what its user has read on others meanwhile nobody has told it."""
        newest = sorted((row for row in rows if row.read), key=_activity, reverse=True)
        for row in newest[:OWN_READS]:
            self.counts.own_reads += 1
            seat.connected.push(_own(row.chat, seat.user, row.read_up_to))

    def live(self, seat: Seat) -> None:
        """It has resumed, for the first time or again: everything it looks at is told anew."""
        if seat.looks is not None:
            for chat in seat.looks.chats:
                self.chats.look(seat, chat)

    def stirred(self, seat: Seat, chat: ChatId, entry: Entry) -> None:
        """Somebody came in, was taken out, blocked or unblocked: what each of them may see is judged anew."""
        del entry
        if seat.looks is not None and chat in seat.looks.chats and seat.is_live:
            self.chats.look(seat, chat)

    def left(self, seat: Seat) -> None:
        if seat.looks is None:
            return
        for chat in seat.looks.chats:
            self.chats.leave(seat, chat)
        self._stop_all(seat)

    async def settled(self, within_s: float) -> None:
        await self.chats.settled()
        await self._stops.settled(within_s)

    def _stop_all(self, seat: Seat) -> None:
        """Others are told that he types no more, because he can't tell them himself."""
        if seat.looks is not None:
            typing, seat.looks.typing = seat.looks.typing, {}
            for chat in typing:
                self._stops.add((seat.chat(chat), seat.user))

    async def _stop_typing(self, stop: tuple[ChatKey, UserId]) -> None:
        chat, user = stop
        await self._say(chat, Typing(user, is_typing=False))

    async def _say(self, chat: ChatKey, sign: Typing) -> None:
        try:
            await self._world.line.to_signs(chat, encode(sign))
        except RoutesAwayError:
            self.counts.lost += 1


def _own(chat: ChatId, user: UserId, read: int) -> bytes:
    return encode_push(Receipts(chat=chat, members=(Got(user=user, read=read),)))


def _activity(row: Row) -> int:
    return row.known.shown.at_ms if row.known.shown else 0

"""What a gateway knows of a device that is let in: where its route is, and up to where it holds each chat. Pure.

Of what comes too early only the sequence is kept, never the entry: the log has it, so a seat can't grow.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol, final

from tidings.gateway.pace import Pace
from tidings.gateway.signs.looks import Looks
from tidings.gateway.socket.ports import Socket
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, UserId
from tidings.messages.model import Entry, Kind
from tidings.wire.close_codes import CloseCode

UNKNOWN = -1
"""A chat of which something was heard before its row was read."""
NOT_SEEN = 10**15
"""Since when a user is in a chat, as long as nobody has said: he is shown nothing that lies before a push."""
MOVES = frozenset({Kind.CREATE, Kind.JOIN, Kind.LEAVE})
STIRS = MOVES | {Kind.BLOCK}
"""After these somebody may see what he could not, or no longer what he could."""


class Connected(Protocol):
    """The connection that a seat is of."""

    @property
    def socket(self) -> Socket: ...

    def push(self, frame: bytes) -> None:
        """Nothing, once it is closed."""
        ...

    def close(self, code: CloseCode) -> None: ...


class Offer(Enum):
    """What is to be done with entries that have come for a device."""

    OLD = auto()
    """It has them."""
    NEXT = auto()
    """They follow what it has: send them."""
    HELD = auto()
    """It resumes, or a range is being read: whoever does that will come by them."""
    GAP = auto()
    """Something is missing before them: read it, and them with it."""


@final
class Place:
    """Of one chat on one connection. `since`: the entry that let the user in last. `ahead`: what was heard of.

    `is_member`: as far as the device has been told. `had_room`: it listened to the chat's channel when it was told
    that its user was taken out.
    """

    __slots__ = ("ahead", "had_room", "is_member", "is_reading", "position", "since")

    def __init__(self, position: int, since: int = NOT_SEEN) -> None:
        self.position = position
        self.since = since
        self.ahead = 0
        self.is_member = True
        self.had_room = False
        self.is_reading = False

    @property
    def is_behind(self) -> bool:
        return self.ahead > self.position

    def hear(self, last: int) -> None:
        self.ahead = max(self.ahead, last)

    def offered(self, first: int, last: int) -> Offer:
        """Entries from `first` to `last`, without a hole. After `NEXT` the position is `last`."""
        if last <= self.position:
            return Offer.OLD
        if self.is_reading:
            self.hear(last)
            return Offer.HELD
        if first > self.position + 1:
            self.hear(last)
            return Offer.GAP
        self.position = last
        return Offer.NEXT


def _nowhere(_: ChatId) -> None:
    """It listens to no large chat, and never did."""


def _unstirred(_: ChatId, __: Entry) -> None:
    """It looks at nothing."""


@final
class Seat:
    """`epoch`: of the last route that it had here. Not routed: nobody finds it now. Not live: it resumes, and what comes meanwhile is only noted.

    `left`: told of a chat that its user was taken out of. `returned`: of a large one that he is in again; whoever said
    so before may have found it still listening. `stirred`: of every entry after which somebody may see other
    things than before. `looks`: what it has asked to be told of; None as long as that is nothing. `ends`: leaves of
    its user from large chats, which were pushed while it resumed. `unheard`: large chats whose channel could not be
    subscribed to; the heartbeat tries again.
    """

    __slots__ = (
        "connected",
        "drained",
        "ends",
        "epoch",
        "is_gone",
        "is_live",
        "is_routed",
        "key",
        "left",
        "looks",
        "pace",
        "places",
        "returned",
        "rooms",
        "stirred",
        "told",
        "unheard",
        "wants_again",
    )

    def __init__(self, key: DeviceKey, connected: Connected) -> None:
        self.key = key
        self.connected = connected
        self.epoch = 0
        self.is_routed = False
        self.is_live = False
        self.is_gone = False
        self.wants_again = False
        self.places: dict[ChatId, Place] = {}
        self.rooms: dict[ChatId, None] = {}
        self.unheard: dict[ChatId, None] = {}
        self.left: Callable[[ChatId], None] = _nowhere
        self.returned: Callable[[ChatId], None] = _nowhere
        self.stirred: Callable[[ChatId, Entry], None] = _unstirred
        self.looks: Looks | None = None
        self.pace: Pace | None = None
        self.ends: dict[ChatId, int] | None = None
        self.told: dict[str, int] | None = None
        self.drained: dict[ChatId, list[tuple[int, str]]] | None = None

    @property
    def socket(self) -> Socket:
        return self.connected.socket

    @property
    def user(self) -> UserId:
        return self.key.user

    def chat(self, chat: ChatId) -> ChatKey:
        return ChatKey(self.key.tenant, chat)

    def offered(self, chat: ChatId, first: int, last: int) -> Offer:
        place = self._place(chat, first)
        if self.is_live:
            return place.offered(first, last)
        place.hear(last)
        return Offer.HELD

    def heard(self, chat: ChatId, first: int, last: int) -> Offer:
        """There is something from `first` to `last`, but it can't be shown now."""
        place = self._place(chat, first)
        if last <= place.position:
            return Offer.OLD
        place.hear(last)
        return Offer.GAP if self.is_live and not place.is_reading else Offer.HELD

    def _place(self, chat: ChatId, first: int) -> Place:
        """A chat that is new on a live connection begins with what was pushed: older pages are read on demand."""
        place = self.places.get(chat)
        if place is None:
            place = self.places[chat] = Place(first - 1 if self.is_live else UNKNOWN)
        return place

    def moved(self, chat: ChatId, entry: Entry) -> None:
        """An entry was sent to the device: did it let its user in, or take him out?"""
        if entry.kind not in STIRS:
            return
        if entry.kind in MOVES and self.user in entry.users:
            self._moved(chat, entry)
        self.stirred(chat, entry)

    def _moved(self, chat: ChatId, entry: Entry) -> None:
        place = self.places[chat]
        place.is_member = entry.kind is not Kind.LEAVE
        place.since = entry.sequence if place.is_member else NOT_SEEN
        if not place.is_member:
            place.had_room |= chat in self.rooms
            self.left(chat)
        elif place.had_room:
            self.returned(chat)

    def behind(self) -> list[ChatId]:
        return [chat for chat, place in self.places.items() if place.is_behind]

"""What a gateway knows of a device that is let in: where its route is, and up to where it holds each chat. Pure.

Of what comes too early only the sequence is kept, never the entry: the log has it, so a seat can't grow.
"""

from enum import Enum, auto
from typing import Protocol, final

from tidings.gateway.socket.ports import Socket
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, UserId
from tidings.wire.close_codes import CloseCode

UNKNOWN = -1
"""A chat of which something was heard before its row was read."""
NOT_SEEN = 10**15
"""Since when a user is in a chat, as long as nobody has said: he is shown nothing that lies before a push."""


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
    """Of one chat on one connection. `since`: the entry that let the user in last. `ahead`: what was heard of."""

    __slots__ = ("ahead", "is_reading", "position", "since")

    def __init__(self, position: int, since: int = NOT_SEEN) -> None:
        self.position = position
        self.since = since
        self.ahead = 0
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


@final
class Seat:
    """`epoch`: of its route; None: it has none. Not live: it resumes, and what comes meanwhile is only noted."""

    __slots__ = (
        "connected",
        "drained",
        "epoch",
        "is_gone",
        "is_live",
        "key",
        "places",
        "rooms",
        "told",
        "wants_again",
    )

    def __init__(self, key: DeviceKey, connected: Connected) -> None:
        self.key = key
        self.connected = connected
        self.epoch: int | None = None
        self.is_live = False
        self.is_gone = False
        self.wants_again = False
        self.places: dict[ChatId, Place] = {}
        self.rooms: dict[ChatId, None] = {}
        self.told: dict[str, int] | None = None
        self.drained: dict[ChatId, list[tuple[int, str]]] | None = None

    @property
    def user(self) -> UserId:
        return self.key.user

    def chat(self, chat: ChatId) -> ChatKey:
        return ChatKey(self.key.tenant, chat)

    def offered(self, chat: ChatId, first: int, last: int) -> Offer:
        """A chat that is new on a live connection begins with what was pushed: older pages are read on demand."""
        place = self.places.get(chat)
        if place is None:
            place = self.places[chat] = Place(first - 1 if self.is_live else UNKNOWN)
        if not self.is_live:
            place.hear(last)
            return Offer.HELD
        return place.offered(first, last)

    def behind(self) -> list[ChatId]:
        return [chat for chat, place in self.places.items() if place.is_behind]

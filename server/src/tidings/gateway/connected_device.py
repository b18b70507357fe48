"""What a device has asked to be told of, and what others were told of it. Pure."""

from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol, final

from tidings.accounts.model import Principal
from tidings.gateway.slow_consumer import SlowConsumerGuard
from tidings.gateway.transport.ports import Socket
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, UserId
from tidings.messages.model import Entry, EntryKind
from tidings_wire.close_codes import CloseCode


@final
class DeviceSubscriptions:
    """`chats` and `users` in the order in which they were asked for; of some of them nothing may be his to see.

    `typing`: chats in which others believe that he types. `is_away`: as the device has said.
    """

    __slots__ = ("chats", "is_away", "typing", "users")

    def __init__(self) -> None:
        self.chats: dict[ChatId, None] = {}
        self.users: dict[UserId, None] = {}
        self.typing: dict[ChatId, None] = {}
        self.is_away = False

    def would_have(self, chats: set[ChatId], users: set[UserId]) -> int:
        return len(self.chats.keys() | chats) + len(self.users.keys() | users)


UNKNOWN = -1
"""A chat of which something was heard before its row was read."""
NEVER_JOINED = 10**15
"""Since when a user is in a chat, as long as nobody has said: he is shown nothing that lies before a push."""
MEMBERSHIP_KINDS = frozenset({EntryKind.CREATE, EntryKind.JOIN, EntryKind.LEAVE})
VISIBILITY_KINDS = MEMBERSHIP_KINDS | {EntryKind.BLOCK}
"""After these somebody may see what he could not, or no longer what he could."""


class DeviceConnection(Protocol):
    """The connection that a seat is of."""

    @property
    def socket(self) -> Socket: ...

    def push(self, frame: bytes) -> None:
        """Nothing, once it is closed."""
        ...

    def close(self, code: CloseCode) -> None: ...


class PushAction(Enum):
    """What is to be done with entries that have come for a device."""

    DUPLICATE = auto()
    """It has them."""
    SEND = auto()
    """They follow what it has: send them."""
    DEFER = auto()
    """It resumes, or a range is being read: whoever does that will come by them."""
    GAP = auto()
    """Something is missing before them: read it, and them with it."""


@final
class ChatPosition:
    """Of one chat on one connection. `since`: the entry that let the user in last. `ahead`: what was heard of.

    `is_member`: as far as the device has been told. `had_channel`: it listened to the chat's channel when it was told
    that its user was taken out. `has_row`: the device got the chat's row with the resume, and needs none for an entry
    that let its user in before.
    """

    __slots__ = ("ahead", "had_channel", "has_row", "is_member", "is_reading", "position", "since")

    def __init__(self, position: int, since: int = NEVER_JOINED) -> None:
        self.position = position
        self.since = since
        self.ahead = 0
        self.is_member = True
        self.had_channel = False
        self.has_row = False
        self.is_reading = False

    @property
    def is_behind(self) -> bool:
        return self.ahead > self.position

    def on_push(self, last: int) -> None:
        self.ahead = max(self.ahead, last)

    def offered(self, first: int, last: int) -> PushAction:
        """Entries from `first` to `last`, without a hole. After `NEXT` the position is `last`."""
        if last <= self.position:
            return PushAction.DUPLICATE
        if self.is_reading:
            self.on_push(last)
            return PushAction.DEFER
        if first > self.position + 1:
            self.on_push(last)
            return PushAction.GAP
        self.position = last
        return PushAction.SEND


def _nowhere(_: ChatId) -> None:
    """It listens to no large chat, and never did."""


def _unstirred(_: ChatId, __: Entry) -> None:
    """It looks at nothing."""


@final
class ConnectedDevice:
    """`epoch`: of the last route that it had here. Not routed: nobody finds it now. Not live: it resumes, and what comes meanwhile is only noted.

    `on_left`: told of a chat that its user was taken out of. `on_rejoined`: of a large one that he is in again; whoever said
    so before may have found it still listening. `joined`: of a chat that an entry let its user into, whose row the device has not got. `on_membership_changed`: of every entry after which somebody may see other
    things than before. `subscriptions`: what it has asked to be told of; None as long as that is nothing. `ends`: leaves of
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
        "is_registered",
        "joined",
        "key",
        "large_chat_channels",
        "on_left",
        "on_membership_changed",
        "on_rejoined",
        "positions",
        "principal",
        "reported_positions",
        "slow_consumer_guard",
        "subscriptions",
        "unheard",
        "wants_resume",
    )

    def __init__(
        self, key: DeviceKey, connected: DeviceConnection, principal: Principal | None = None
    ) -> None:
        self.key = key
        self.connected = connected
        self.principal = principal or Principal(tenant=key.tenant, user=key.user, device=key.device)
        self.epoch = 0
        self.is_registered = False
        self.is_live = False
        self.is_gone = False
        self.wants_resume = False
        self.positions: dict[ChatId, ChatPosition] = {}
        self.large_chat_channels: dict[ChatId, None] = {}
        self.unheard: dict[ChatId, None] = {}
        self.on_left: Callable[[ChatId], None] = _nowhere
        self.on_rejoined: Callable[[ChatId], None] = _nowhere
        self.joined: Callable[[ChatId], None] = _nowhere
        self.on_membership_changed: Callable[[ChatId, Entry], None] = _unstirred
        self.subscriptions: DeviceSubscriptions | None = None
        self.slow_consumer_guard: SlowConsumerGuard | None = None
        self.ends: dict[ChatId, int] | None = None
        self.reported_positions: dict[str, int] | None = None
        self.drained: dict[ChatId, list[tuple[int, str]]] | None = None

    @property
    def socket(self) -> Socket:
        return self.connected.socket

    @property
    def user(self) -> UserId:
        return self.key.user

    def chat(self, chat: ChatId) -> ChatKey:
        return ChatKey(self.key.tenant, chat)

    def offered(self, chat: ChatId, first: int, last: int) -> PushAction:
        place = self._position(chat, first)
        if self.is_live:
            return place.offered(first, last)
        place.on_push(last)
        return PushAction.DEFER

    def on_push(self, chat: ChatId, first: int, last: int) -> PushAction:
        """There is something from `first` to `last`, but it can't be shown now."""
        place = self._position(chat, first)
        if last <= place.position:
            return PushAction.DUPLICATE
        place.on_push(last)
        return PushAction.GAP if self.is_live and not place.is_reading else PushAction.DEFER

    def _position(self, chat: ChatId, first: int) -> ChatPosition:
        """A chat that is new on a live connection begins with what was pushed: older pages are read on demand."""
        place = self.positions.get(chat)
        if place is None:
            place = self.positions[chat] = ChatPosition(first - 1 if self.is_live else UNKNOWN)
        return place

    def moved(self, chat: ChatId, entry: Entry) -> None:
        """An entry was sent to the device: did it let its user in, or take him out?"""
        if entry.kind not in VISIBILITY_KINDS:
            return
        if entry.kind in MEMBERSHIP_KINDS and self.user in entry.users:
            self._moved(chat, entry)
        self.on_membership_changed(chat, entry)

    def _moved(self, chat: ChatId, entry: Entry) -> None:
        place = self.positions[chat]
        place.is_member = entry.kind is not EntryKind.LEAVE
        place.since = entry.sequence if place.is_member else NEVER_JOINED
        if not place.is_member:
            place.had_channel |= chat in self.large_chat_channels
            place.has_row = False
            self.on_left(chat)
            return
        if place.had_channel:
            self.on_rejoined(chat)
        if not place.has_row:
            self.joined(chat)

    def behind(self) -> list[ChatId]:
        return [chat for chat, place in self.positions.items() if place.is_behind]

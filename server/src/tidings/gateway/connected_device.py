"""State of a connected device: its positions, its route and what it subscribed to. No I/O."""

from enum import Enum, auto
from typing import Protocol, final

from tidings.accounts.model import Principal
from tidings.gateway.slow_consumer import SlowConsumerGuard
from tidings.gateway.transport.ports import Socket
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, UserId
from tidings.messages.model import EntryKind
from tidings_wire.close_codes import CloseCode


@final
class DeviceSubscriptions:
    """Subscriptions of a device to ephemeral events, and the state that it reported.

    chats, users: in the order of the requests. The user may not be allowed to see all of them.
    typing: chats in which other members see the user as typing.
    is_away: as the device reported it.
    """

    __slots__ = ("chats", "is_away", "typing", "users")

    def __init__(self) -> None:
        self.chats: dict[ChatId, None] = {}
        self.users: dict[UserId, None] = {}
        self.typing: dict[ChatId, None] = {}
        self.is_away = False

    def would_have(self, chats: set[ChatId], users: set[UserId]) -> int:
        """Return the number of subscriptions after adding these."""
        return len(self.chats.keys() | chats) + len(self.users.keys() | users)


UNKNOWN = -1
"""Position in a chat from which a push arrived before the chat's row was read."""
NEVER_JOINED = 10**15
"""Value of `ChatPosition.since` while no join of the user is known: nothing before a push is visible to them."""
MEMBERSHIP_KINDS = frozenset({EntryKind.CREATE, EntryKind.JOIN, EntryKind.LEAVE})
VISIBILITY_KINDS = MEMBERSHIP_KINDS | {EntryKind.BLOCK}
"""Entries that change what a user may see."""


class DeviceConnection(Protocol):
    """The connection of a device."""

    @property
    def socket(self) -> Socket: ...

    def push(self, frame: bytes) -> None:
        """Send an encoded frame. Do nothing after the connection was closed."""
        ...

    def close(self, code: CloseCode) -> None: ...


class PushAction(Enum):
    """The action for pushed entries of one chat and one device."""

    DUPLICATE = auto()
    """Nothing: the device has them."""
    SEND = auto()
    """Send them: they follow the device's position."""
    DEFER = auto()
    """Only record them: the device resumes, or a range of this chat is being read and will include them."""
    GAP = auto()
    """Read the missing range: at least one entry before them was not sent."""


@final
class ChatPosition:
    """How far one connection got in one chat.

    position: the device was sent everything that it may see up to here.
    acked: the device has reported that it holds everything up to here.
    since: the entry with which the user joined last.
    ahead: the highest sequence that a push announced.
    is_member: as of the entries that were sent to the device.
    is_reading: a range of the chat is being read for the device.
    had_channel: the device was subscribed to the chat's channel when its user left.
    has_row: the resume sent the chat's row, so an earlier join needs no further row.
    """

    __slots__ = ("acked", "ahead", "had_channel", "has_row", "is_member", "is_reading", "position", "since")

    def __init__(self, position: int, since: int = NEVER_JOINED) -> None:
        self.position = position
        self.acked = position
        self.since = since
        self.ahead = 0
        self.is_member = True
        self.had_channel = False
        self.has_row = False
        self.is_reading = False

    @property
    def last_pushed(self) -> int:
        return max(self.position, self.ahead)

    @property
    def is_behind(self) -> bool:
        return self.ahead > self.position

    def replace(self, before: "ChatPosition | None", *, is_gone: bool) -> None:
        """Take over the pushes and acks of the position before a resume. `is_gone`: the device has disconnected."""
        if before is not None:
            self.ahead = before.ahead
            if before.position != UNKNOWN:
                self.acked = min(before.acked, self.position)
        if is_gone:
            # Race: the device disconnected during its resume, and the node has requested checks of its pushes.
            self.acked = self.last_pushed

    def on_ack(self, sequence: int) -> None:
        self.acked = max(self.acked, min(sequence, self.position))

    def on_push(self, last: int) -> None:
        """Record that the chat has entries up to `last`."""
        self.ahead = max(self.ahead, last)

    def offered(self, first: int, last: int) -> PushAction:
        """Decide what to do with the consecutive entries `first` to `last`. `SEND` advances the position to `last`."""
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


@final
class ConnectedDevice:
    """A device that is connected to this gateway.

    epoch: of its last route on this gateway, 0 before the first.
    is_registered: the registry has its route, so workers find it.
    is_live: the resume has finished. Until then pushes only update `ChatPosition.ahead`.
    is_gone: it has disconnected.
    wants_resume: pushes may have been missed since the current or last resume began.
    unconfirmed_channels: large chats whose channel is not confirmed. The lease renewer retries them.
    late_leaves: leaves from large chats that were pushed while the device resumed, with their sequences.
    reported_positions: positions of a resume request that arrives in several parts.
    drained: keys of the offline-queue messages that the resume read, by chat, with their sequences.
    """

    __slots__ = (
        "connected",
        "drained",
        "epoch",
        "is_gone",
        "is_live",
        "is_registered",
        "key",
        "large_chat_channels",
        "late_leaves",
        "positions",
        "principal",
        "reported_positions",
        "slow_consumer_guard",
        "subscriptions",
        "unconfirmed_channels",
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
        self.unconfirmed_channels: dict[ChatId, None] = {}
        self.subscriptions: DeviceSubscriptions | None = None
        self.slow_consumer_guard: SlowConsumerGuard | None = None
        self.late_leaves: dict[ChatId, int] | None = None
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
        """Decide what to do with the consecutive entries `first` to `last` of a chat."""
        position = self._position(chat, first)
        if self.is_live:
            return position.offered(first, last)
        # The device resumes. The resume may have read the log before these entries were committed, so it compares
        # `ahead` with its position before it sets `is_live`.
        position.on_push(last)
        return PushAction.DEFER

    def on_push(self, chat: ChatId, first: int, last: int) -> PushAction:
        """Record that a chat has the entries `first` to `last`, which cannot be sent as they are."""
        position = self._position(chat, first)
        if last <= position.position:
            return PushAction.DUPLICATE
        position.on_push(last)
        return PushAction.GAP if self.is_live and not position.is_reading else PushAction.DEFER

    def _position(self, chat: ChatId, first: int) -> ChatPosition:
        """Return the position in a chat. A chat that is new on a live connection starts at the pushed entries."""
        position = self.positions.get(chat)
        if position is None:
            position = self.positions[chat] = ChatPosition(first - 1 if self.is_live else UNKNOWN)
            position.acked = first - 1
        return position

    def unacked(self) -> list[tuple[ChatId, int, int]]:
        """Return the first and last entry of each chat that was pushed and not acknowledged. Large chats are left out.

        This includes entries that were not sent because the device resumed: the worker found its route.
        """
        return [
            (chat, each.acked + 1, each.last_pushed)
            for chat, each in self.positions.items()
            if each.last_pushed > each.acked and chat not in self.large_chat_channels
        ]

    def forget_unacked(self) -> None:
        """Make `unacked` return each entry once, although a device may leave twice: during its resume and after it."""
        for each in self.positions.values():
            each.acked = each.last_pushed

    def behind(self) -> list[ChatId]:
        """Return the chats that have entries after the device's position."""
        return [chat for chat, position in self.positions.items() if position.is_behind]

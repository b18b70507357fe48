"""The events of `client.events()`: entries, outcomes of sends, connection states, receipts, typing and presence."""

from dataclasses import dataclass, field
from enum import StrEnum

from tidings_sdk.errors import SendFailed
from tidings_sdk.protocol import State
from tidings_wire.frames.history import ChatRow, Entry
from tidings_wire.frames.inbox import BroadcastUpdate, InboxUpdate


class EventOrigin(StrEnum):
    """When an entry was committed, as seen from this client."""

    HISTORY = "history"
    """Before the client's first sync."""
    MISSED = "missed"
    """While the client was not connected."""
    LIVE = "live"


@dataclass(frozen=True, slots=True)
class MessageAdded:
    """A message, also one of the user's own. Each arrives once, in the order of the sequences of its chat."""

    chat: str
    entry: Entry
    origin: EventOrigin = field(default=EventOrigin.LIVE, compare=False)

    @property
    def is_live(self) -> bool:
        """False for entries from before the client's first sync. True for new and for missed ones."""
        return self.origin is not EventOrigin.HISTORY


@dataclass(frozen=True, slots=True)
class MessageChanged:
    """An edit, a redaction or a reaction. `entry.refers_to` is the sequence of the changed message."""

    chat: str
    entry: Entry
    origin: EventOrigin = field(default=EventOrigin.LIVE, compare=False)

    @property
    def is_live(self) -> bool:
        return self.origin is not EventOrigin.HISTORY


@dataclass(frozen=True, slots=True)
class ChatChanged:
    """A join, a leave, a new name or role, and kinds of entries that this SDK does not know."""

    chat: str
    entry: Entry
    origin: EventOrigin = field(default=EventOrigin.LIVE, compare=False)

    @property
    def is_live(self) -> bool:
        return self.origin is not EventOrigin.HISTORY


@dataclass(frozen=True, slots=True)
class MessageSent:
    """A message, edit, redaction or reaction of the outbox was committed at this sequence."""

    chat: str
    client_message_id: str
    sequence: int
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class MessageSendFailed:
    """A message, edit, redaction or reaction of the outbox was refused. It will never be in the log."""

    chat: str
    client_message_id: str
    error: SendFailed


@dataclass(frozen=True, slots=True)
class ConnectionStateChanged:
    """The state of the connection. `wait_s`: in the state CLOSED, the time until the next attempt."""

    state: State
    wait_s: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class InstallationRestored:
    """The installation was restored from a backup. Discard the chats that the app shows, and read them again."""

    epoch: int


@dataclass(frozen=True, slots=True)
class ReceiptsChanged:
    """Watermarks or members of a watched chat changed. `chat.status` of its messages may have changed."""

    chat: str


@dataclass(frozen=True, slots=True)
class ReadElsewhere:
    """The user has read the chat up to `sequence` on another device."""

    chat: str
    sequence: int


@dataclass(frozen=True, slots=True)
class TypingChanged:
    """The users who are typing in a watched chat now."""

    chat: str
    users: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PresenceChanged:
    """The presence of a watched user: `online`, `away` or `offline`.

    `last_seen_at`: when an offline user was last seen, in milliseconds, if the user shares it.
    """

    user: str
    status: str
    last_seen_at: int | None = None


type LogEvent = MessageAdded | MessageChanged | ChatChanged
type EphemeralEvent = ReceiptsChanged | ReadElsewhere | TypingChanged | PresenceChanged
type Event = (
    LogEvent
    | MessageSent
    | MessageSendFailed
    | ConnectionStateChanged
    | InstallationRestored
    | ChatRow
    | EphemeralEvent
    | InboxUpdate
    | BroadcastUpdate
)

LOG_EVENTS = (MessageAdded, MessageChanged, ChatChanged)
_CHANGES = frozenset({"edit", "redaction", "reaction"})


def event_from_entry(chat: str, entry: Entry, origin: EventOrigin) -> LogEvent:
    if entry.kind == "message":
        return MessageAdded(chat, entry, origin)
    return (MessageChanged if entry.kind in _CHANGES else ChatChanged)(chat, entry, origin)

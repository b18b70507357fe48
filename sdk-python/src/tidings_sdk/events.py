"""What `client.events()` gives: entries of logs, what became of sends, states of the connection, and signs of others."""

from dataclasses import dataclass, field
from enum import StrEnum

from tidings_sdk.errors import SendFailed
from tidings_sdk.protocol import State
from tidings_wire.frames.history import ChatRow, Entry
from tidings_wire.frames.inbox import BroadcastUpdate, InboxUpdate


class EventOrigin(StrEnum):
    """When an entry was committed, as seen from this client."""

    HISTORY = "history"
    """Before the client's first sync: it was there when the client came."""
    MISSED = "missed"
    """While the client was not connected."""
    LIVE = "live"


@dataclass(frozen=True, slots=True)
class MessageAdded:
    """A message, one's own too. In a chat they come in the order of their sequences, each once."""

    chat: str
    entry: Entry
    origin: EventOrigin = field(default=EventOrigin.LIVE, compare=False)

    @property
    def is_live(self) -> bool:
        """False for history: what was in the log before this client first came. True for what it missed."""
        return self.origin is not EventOrigin.HISTORY


@dataclass(frozen=True, slots=True)
class MessageChanged:
    """An edit, a redaction or a reaction; `entry.refers_to` says of which message."""

    chat: str
    entry: Entry
    origin: EventOrigin = field(default=EventOrigin.LIVE, compare=False)

    @property
    def is_live(self) -> bool:
        return self.origin is not EventOrigin.HISTORY


@dataclass(frozen=True, slots=True)
class ChatChanged:
    """A join, a leave, a name … and whatever a newer server puts into a log."""

    chat: str
    entry: Entry
    origin: EventOrigin = field(default=EventOrigin.LIVE, compare=False)

    @property
    def is_live(self) -> bool:
        return self.origin is not EventOrigin.HISTORY


@dataclass(frozen=True, slots=True)
class MessageSent:
    """Something of the outbox is committed, at this sequence."""

    chat: str
    client_message_id: str
    sequence: int
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class MessageSendFailed:
    """Something of the outbox is not in the log and will not be."""

    chat: str
    client_message_id: str
    error: SendFailed


@dataclass(frozen=True, slots=True)
class ConnectionStateChanged:
    """`wait_s`: when closed, how long until the next try."""

    state: State
    wait_s: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class InstallationRestored:
    """The installation was restored from a backup: what is shown of chats is to be read anew."""

    epoch: int


@dataclass(frozen=True, slots=True)
class ReceiptsChanged:
    """Members of a watched chat got further, came or went: `chat.status` of its messages may be another now."""

    chat: str


@dataclass(frozen=True, slots=True)
class ReadElsewhere:
    """The user has read up to here on another device: a badge that is shown can go."""

    chat: str
    sequence: int


@dataclass(frozen=True, slots=True)
class TypingChanged:
    """Who types in the chat now; nobody, if it is empty."""

    chat: str
    users: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PresenceChanged:
    """How a watched user is there: `online`, `away`, `offline`. `last_seen_at`: if he is not, and lets it be told."""

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

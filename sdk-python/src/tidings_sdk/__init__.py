"""Tidings from Python: `Client`, its chats, and the events it gives."""

from tidings_sdk import dev
from tidings_sdk.chat import Chat
from tidings_sdk.client import Client
from tidings_sdk.connection import State
from tidings_sdk.errors import (
    ClientTooOld,
    CredentialRefused,
    NotAnswered,
    NotSent,
    OutboxFull,
    Refused,
    Stopped,
    StoreInUse,
    TidingsError,
    Unsettled,
    WrongStore,
)
from tidings_sdk.events import (
    ChatChanged,
    Event,
    MessageAdded,
    MessageChanged,
    Origin,
    Presence,
    ReadElsewhere,
    Restored,
    SendRefused,
    Sent,
    StateChanged,
    TicksChanged,
    TypingChanged,
)
from tidings_sdk.frames.notices import BroadcastNews, InboxCounts, InboxNews, Notice, NoticePage
from tidings_sdk.frames.reading import ChatRow, Entry, HistoryPage, Reaction
from tidings_sdk.inbox import Inbox
from tidings_sdk.sending import Sending
from tidings_sdk.session import Patience
from tidings_sdk.stores.file import FileStore
from tidings_sdk.stores.memory import MemoryStore
from tidings_sdk.ticks import Status, Tick

__all__ = [
    "BroadcastNews",
    "Chat",
    "ChatChanged",
    "ChatRow",
    "Client",
    "ClientTooOld",
    "CredentialRefused",
    "Entry",
    "Event",
    "FileStore",
    "HistoryPage",
    "Inbox",
    "InboxCounts",
    "InboxNews",
    "MemoryStore",
    "MessageAdded",
    "MessageChanged",
    "NotAnswered",
    "NotSent",
    "Notice",
    "NoticePage",
    "Origin",
    "OutboxFull",
    "Patience",
    "Presence",
    "Reaction",
    "ReadElsewhere",
    "Refused",
    "Restored",
    "SendRefused",
    "Sending",
    "Sent",
    "State",
    "StateChanged",
    "Status",
    "Stopped",
    "StoreInUse",
    "Tick",
    "TicksChanged",
    "TidingsError",
    "TypingChanged",
    "Unsettled",
    "WrongStore",
    "dev",
]

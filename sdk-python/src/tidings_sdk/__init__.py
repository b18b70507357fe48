"""Tidings from Python: `Client`, its chats, and the events it gives."""

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
    Restored,
    SendRefused,
    Sent,
    StateChanged,
)
from tidings_sdk.frames.notices import InboxCounts, InboxNews, Notice, NoticePage
from tidings_sdk.frames.reading import ChatRow, Entry, HistoryPage, Reaction
from tidings_sdk.frames.signs import PresencePush, TypingPush
from tidings_sdk.frames.watermarks import Receipts
from tidings_sdk.inbox import Inbox
from tidings_sdk.sending import Sending
from tidings_sdk.session import Patience
from tidings_sdk.stores.file import FileStore
from tidings_sdk.stores.memory import MemoryStore

__all__ = [
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
    "OutboxFull",
    "Patience",
    "PresencePush",
    "Reaction",
    "Receipts",
    "Refused",
    "Restored",
    "SendRefused",
    "Sending",
    "Sent",
    "State",
    "StateChanged",
    "Stopped",
    "StoreInUse",
    "TidingsError",
    "TypingPush",
    "Unsettled",
    "WrongStore",
]

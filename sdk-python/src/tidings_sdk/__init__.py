"""The SDK for Python: `Client`, its chats and inboxes, and its events."""

from tidings_sdk import dev
from tidings_sdk.attachments import AttachmentLink, Attachments
from tidings_sdk.chat import Chat
from tidings_sdk.client import Client
from tidings_sdk.errors import (
    ClientStopped,
    CredentialRefused,
    OutboxFull,
    ProtocolUnsupported,
    RequestRefused,
    RequestTimeout,
    SendFailed,
    SendUnconfirmed,
    StoreInUse,
    StoreOwnerMismatch,
    TidingsError,
)
from tidings_sdk.events import (
    ChatChanged,
    ConnectionStateChanged,
    Event,
    EventOrigin,
    InstallationRestored,
    MessageAdded,
    MessageChanged,
    MessageSendFailed,
    MessageSent,
    PresenceChanged,
    ReadElsewhere,
    ReceiptsChanged,
    TypingChanged,
)
from tidings_sdk.inbox import Inbox
from tidings_sdk.moderation import Invite, Moderation, ReportReason, SendRestrictions
from tidings_sdk.protocol import State
from tidings_sdk.push import PushNotifications
from tidings_sdk.receipts import DeliveryStatus, MessageStatus
from tidings_sdk.search import FoundMessage, Highlight, MessageSearch, SearchPage, SearchResult
from tidings_sdk.send_queues import QueuedSend
from tidings_sdk.session import Timeouts
from tidings_sdk.stores.file import FileStore
from tidings_sdk.stores.memory import MemoryStore
from tidings_wire.frames.history import ChatRow, Entry, HistoryPage, Reaction
from tidings_wire.frames.inbox import (
    BroadcastUpdate,
    InboxCounts,
    InboxUpdate,
    Notification,
    NotificationPage,
)
from tidings_wire.frames.push import ApnsToken, Badge, PushPreferences, QuietHours, WebPushSubscription

__all__ = [
    "ApnsToken",
    "AttachmentLink",
    "Attachments",
    "Badge",
    "BroadcastUpdate",
    "Chat",
    "ChatChanged",
    "ChatRow",
    "Client",
    "ClientStopped",
    "ConnectionStateChanged",
    "CredentialRefused",
    "DeliveryStatus",
    "Entry",
    "Event",
    "EventOrigin",
    "FileStore",
    "FoundMessage",
    "Highlight",
    "HistoryPage",
    "Inbox",
    "InboxCounts",
    "InboxUpdate",
    "InstallationRestored",
    "Invite",
    "MemoryStore",
    "MessageAdded",
    "MessageChanged",
    "MessageSearch",
    "MessageSendFailed",
    "MessageSent",
    "MessageStatus",
    "Moderation",
    "Notification",
    "NotificationPage",
    "OutboxFull",
    "PresenceChanged",
    "ProtocolUnsupported",
    "PushNotifications",
    "PushPreferences",
    "QueuedSend",
    "QuietHours",
    "Reaction",
    "ReadElsewhere",
    "ReceiptsChanged",
    "ReportReason",
    "RequestRefused",
    "RequestTimeout",
    "SearchPage",
    "SearchResult",
    "SendFailed",
    "SendRestrictions",
    "SendUnconfirmed",
    "State",
    "StoreInUse",
    "StoreOwnerMismatch",
    "TidingsError",
    "Timeouts",
    "TypingChanged",
    "WebPushSubscription",
    "dev",
]

"""Every frame there is, by its one key: which answer a request gets, which body a push has."""

from collections.abc import Mapping
from typing import Final

from tidings_sdk.frames import connecting, notices, reading, signs, watermarks, writing
from tidings_sdk.frames.shape import Body, ErrorBody, Ok

PROTOCOL: Final = 1

REQUESTS: Final[Mapping[str, tuple[type[Body], type[Body]]]] = {
    "connect": (connecting.Connect, connecting.Welcome),
    "resume": (connecting.Resume, connecting.Resumed),
    "send": (writing.Send, writing.CommitResult),
    "edit": (writing.Edit, writing.CommitResult),
    "redact": (writing.Redact, writing.CommitResult),
    "react": (writing.React, writing.CommitResult),
    "history": (reading.GetHistory, reading.HistoryPage),
    "ack": (watermarks.Ack, Ok),
    "read": (watermarks.Read, Ok),
    "counts": (notices.GetCounts, notices.InboxCounts),
    "notices": (notices.ListNotifications, notices.NotificationPage),
    "mark": (notices.MarkNotifications, notices.InboxCounts),
    "typing": (signs.Typing, Ok),
    "presence": (signs.Presence, Ok),
    "subscribe": (signs.Subscribe, Ok),
    "unsubscribe": (signs.Unsubscribe, Ok),
    "ping": (signs.Ping, Ok),
    "pong": (signs.Pong, Ok),
}

PUSHES: Final[Mapping[str, type[Body]]] = {
    "entry": reading.EntryPush,
    "entries": reading.Entries,
    "chat": reading.ChatRow,
    "chats": reading.ChatRows,
    "resumed": connecting.Resumed,
    "resume": connecting.ResumeRequired,
    "inbox": notices.InboxUpdate,
    "broadcast": notices.BroadcastUpdate,
    "receipts": watermarks.Receipts,
    "typing": signs.TypingPush,
    "presence": signs.PresencePush,
    "reconnect": connecting.Reconnect,
    "ping": signs.PingPush,
    "error": ErrorBody,
}

NAME_OF: Final = {asked: name for name, (asked, _) in REQUESTS.items()}
ANSWER_TO: Final = {asked: answer for asked, answer in REQUESTS.values()}  # noqa: C416 - two names say what is what

"""Every frame there is, by its one key: which answer a request gets, which body a push has."""

from collections.abc import Mapping
from typing import Final

from tidings_sdk.frames import ephemeral, history, inbox, messages, session
from tidings_sdk.frames.structs import Body, ErrorBody, Ok

PROTOCOL: Final = 1

REQUESTS: Final[Mapping[str, tuple[type[Body], type[Body]]]] = {
    "connect": (session.Connect, session.Welcome),
    "resume": (session.Resume, session.Resumed),
    "send": (messages.Send, messages.CommitResult),
    "edit": (messages.Edit, messages.CommitResult),
    "redact": (messages.Redact, messages.CommitResult),
    "react": (messages.React, messages.CommitResult),
    "history": (history.GetHistory, history.HistoryPage),
    "ack": (ephemeral.Ack, Ok),
    "read": (ephemeral.Read, Ok),
    "counts": (inbox.GetCounts, inbox.InboxCounts),
    "notifications": (inbox.ListNotifications, inbox.NotificationPage),
    "mark": (inbox.MarkNotifications, inbox.InboxCounts),
    "typing": (ephemeral.Typing, Ok),
    "presence": (ephemeral.Presence, Ok),
    "subscribe": (ephemeral.Subscribe, Ok),
    "unsubscribe": (ephemeral.Unsubscribe, Ok),
    "ping": (ephemeral.Ping, Ok),
    "pong": (ephemeral.Pong, Ok),
}

PUSHES: Final[Mapping[str, type[Body]]] = {
    "entry": history.EntryPush,
    "entries": history.Entries,
    "chat": history.ChatRow,
    "chats": history.ChatRows,
    "resumed": session.Resumed,
    "resume": session.ResumeRequired,
    "inbox": inbox.InboxUpdate,
    "broadcast": inbox.BroadcastUpdate,
    "receipts": ephemeral.Receipts,
    "typing": ephemeral.TypingPush,
    "presence": ephemeral.PresencePush,
    "reconnect": session.Reconnect,
    "ping": ephemeral.PingPush,
    "error": ErrorBody,
}

NAME_OF: Final = {asked: name for name, (asked, _) in REQUESTS.items()}
ANSWER_TO: Final = {asked: answer for asked, answer in REQUESTS.values()}  # noqa: C416 - two names say what is what

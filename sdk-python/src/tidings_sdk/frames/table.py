"""Every frame there is, by its one key: which answer a request gets, which body a push has."""

from collections.abc import Mapping
from typing import Final

from tidings_sdk.frames import connecting, notices, reading, signs, watermarks, writing
from tidings_sdk.frames.shape import Body, Done, ErrorBody

PROTOCOL: Final = 1

REQUESTS: Final[Mapping[str, tuple[type[Body], type[Body]]]] = {
    "connect": (connecting.Connect, connecting.Welcome),
    "resume": (connecting.Resume, connecting.Resumed),
    "send": (writing.Send, writing.Appended),
    "edit": (writing.Edit, writing.Appended),
    "redact": (writing.Redact, writing.Appended),
    "react": (writing.React, writing.Appended),
    "history": (reading.History, reading.HistoryPage),
    "ack": (watermarks.Ack, Done),
    "read": (watermarks.Read, Done),
    "counts": (notices.Counts, notices.InboxCounts),
    "notices": (notices.Notices, notices.NoticePage),
    "mark": (notices.MarkNotices, notices.InboxCounts),
    "typing": (signs.Typing, Done),
    "presence": (signs.Presence, Done),
    "subscribe": (signs.Subscribe, Done),
    "unsubscribe": (signs.Unsubscribe, Done),
    "ping": (signs.Ping, Done),
    "pong": (signs.Pong, Done),
}

PUSHES: Final[Mapping[str, type[Body]]] = {
    "entry": reading.EntryPush,
    "entries": reading.Entries,
    "chat": reading.ChatRow,
    "chats": reading.ChatRows,
    "resumed": connecting.Resumed,
    "resume": connecting.ResumeAgain,
    "inbox": notices.InboxNews,
    "broadcast": notices.BroadcastNews,
    "receipts": watermarks.Receipts,
    "typing": signs.TypingPush,
    "presence": signs.PresencePush,
    "reconnect": connecting.Reconnect,
    "ping": signs.PingPush,
    "error": ErrorBody,
}

NAME_OF: Final = {asked: name for name, (asked, _) in REQUESTS.items()}
ANSWER_TO: Final = {asked: answer for asked, answer in REQUESTS.values()}  # noqa: C416 - two names say what is what

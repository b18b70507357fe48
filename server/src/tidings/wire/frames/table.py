"""Every frame there is, by its one key. Codec, state machine, schema and docs go by this table."""

from typing import Final, NamedTuple

from msgspec import Struct

from tidings.wire.errors import ErrorBody
from tidings.wire.frames import connecting, notices, reading, signs, watermarks, writing
from tidings.wire.frames.shape import Ok


class RequestKind(NamedTuple):
    """`needs_id`: makes no sense without an answer. Whoever gives an id is answered in any case."""

    name: str
    body: type[Struct]
    answer: type[Struct]
    needs_id: bool


class PushKind(NamedTuple):
    name: str
    body: type[Struct]


REQUESTS: Final = (
    RequestKind("connect", connecting.Connect, connecting.Welcome, needs_id=True),
    RequestKind("resume", connecting.Resume, connecting.Resumed, needs_id=True),
    RequestKind("send", writing.Send, writing.CommitResult, needs_id=True),
    RequestKind("edit", writing.Edit, writing.CommitResult, needs_id=True),
    RequestKind("redact", writing.Redact, writing.CommitResult, needs_id=True),
    RequestKind("react", writing.React, writing.CommitResult, needs_id=True),
    RequestKind("history", reading.GetHistory, reading.HistoryPage, needs_id=True),
    RequestKind("ack", watermarks.Ack, Ok, needs_id=False),
    RequestKind("read", watermarks.Read, Ok, needs_id=False),
    RequestKind("counts", notices.GetCounts, notices.InboxCounts, needs_id=True),
    RequestKind("notices", notices.ListNotifications, notices.NotificationPage, needs_id=True),
    RequestKind("mark", notices.MarkNotifications, notices.InboxCounts, needs_id=True),
    RequestKind("typing", signs.Typing, Ok, needs_id=False),
    RequestKind("presence", signs.Presence, Ok, needs_id=False),
    RequestKind("subscribe", signs.Subscribe, Ok, needs_id=False),
    RequestKind("unsubscribe", signs.Unsubscribe, Ok, needs_id=False),
    RequestKind("ping", signs.Ping, Ok, needs_id=False),
    RequestKind("pong", signs.Pong, Ok, needs_id=False),
)

PUSHES: Final = (
    PushKind("entry", reading.EntryPush),
    PushKind("entries", reading.Entries),
    PushKind("chat", reading.ChatRow),
    PushKind("chats", reading.ChatRows),
    PushKind("resumed", connecting.Resumed),
    PushKind("resume", connecting.ResumeRequired),
    PushKind("inbox", notices.InboxUpdate),
    PushKind("broadcast", notices.BroadcastUpdate),
    PushKind("receipts", watermarks.Receipts),
    PushKind("typing", signs.TypingPush),
    PushKind("presence", signs.PresencePush),
    PushKind("reconnect", connecting.Reconnect),
    PushKind("ping", signs.PingPush),
    PushKind("error", ErrorBody),
)

REQUEST_OF: Final = {kind.name: kind for kind in REQUESTS}
REQUEST_BY_BODY: Final = {kind.body: kind for kind in REQUESTS}
PUSH_OF: Final = {kind.name: kind for kind in PUSHES}
PUSH_NAME: Final = {kind.body: kind.name for kind in PUSHES}

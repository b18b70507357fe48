"""Every frame there is, by its one key. Codec, state machine, schema and docs go by this table."""

from typing import Final, NamedTuple

from msgspec import Struct

from tidings.wire.errors import ErrorBody
from tidings.wire.frames import connecting, notices, reading, signs, watermarks, writing
from tidings.wire.frames.shape import Done


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
    RequestKind("send", writing.Send, writing.Appended, needs_id=True),
    RequestKind("edit", writing.Edit, writing.Appended, needs_id=True),
    RequestKind("redact", writing.Redact, writing.Appended, needs_id=True),
    RequestKind("react", writing.React, writing.Appended, needs_id=True),
    RequestKind("history", reading.History, reading.HistoryPage, needs_id=True),
    RequestKind("ack", watermarks.Ack, Done, needs_id=False),
    RequestKind("read", watermarks.Read, Done, needs_id=False),
    RequestKind("counts", notices.Counts, notices.InboxCounts, needs_id=True),
    RequestKind("notices", notices.Notices, notices.NoticePage, needs_id=True),
    RequestKind("mark", notices.MarkNotices, notices.InboxCounts, needs_id=True),
    RequestKind("typing", signs.Typing, Done, needs_id=False),
    RequestKind("presence", signs.Presence, Done, needs_id=False),
    RequestKind("subscribe", signs.Subscribe, Done, needs_id=False),
    RequestKind("unsubscribe", signs.Unsubscribe, Done, needs_id=False),
    RequestKind("ping", signs.Ping, Done, needs_id=False),
    RequestKind("pong", signs.Pong, Done, needs_id=False),
)

PUSHES: Final = (
    PushKind("entry", reading.EntryPush),
    PushKind("entries", reading.Entries),
    PushKind("chat", reading.ChatRow),
    PushKind("chats", reading.ChatRows),
    PushKind("resumed", connecting.Resumed),
    PushKind("resume", connecting.ResumeAgain),
    PushKind("inbox", notices.InboxNews),
    PushKind("broadcast", notices.BroadcastNews),
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

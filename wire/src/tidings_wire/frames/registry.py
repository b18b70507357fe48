"""The table of all frames, by their key. Codec, state machine, schema and docs use it."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from tidings_wire.frames import ephemeral, history, inbox, messages, push, session
from tidings_wire.frames.structs import Body, ErrorBody, Ok


class RequestKind(NamedTuple):
    """A kind of request. `needs_id`: the request is invalid without an id. Every request with an id is answered."""

    name: str
    body: type[Body]
    answer: type[Body]
    needs_id: bool


class PushKind(NamedTuple):
    name: str
    body: type[Body]


REQUESTS: Final = (
    RequestKind("connect", session.Connect, session.Welcome, needs_id=True),
    RequestKind("resume", session.Resume, session.Resumed, needs_id=True),
    RequestKind("send", messages.Send, messages.CommitResult, needs_id=True),
    RequestKind("edit", messages.Edit, messages.CommitResult, needs_id=True),
    RequestKind("redact", messages.Redact, messages.CommitResult, needs_id=True),
    RequestKind("react", messages.React, messages.CommitResult, needs_id=True),
    RequestKind("history", history.GetHistory, history.HistoryPage, needs_id=True),
    RequestKind("ack", ephemeral.Ack, Ok, needs_id=False),
    RequestKind("read", ephemeral.Read, Ok, needs_id=False),
    RequestKind("counts", inbox.GetCounts, inbox.InboxCounts, needs_id=True),
    RequestKind("notifications", inbox.ListNotifications, inbox.NotificationPage, needs_id=True),
    RequestKind("mark", inbox.MarkNotifications, inbox.InboxCounts, needs_id=True),
    RequestKind("preferences", inbox.ChangePreferences, inbox.InboxPreferences, needs_id=True),
    RequestKind("register_push", push.RegisterPush, Ok, needs_id=True),
    RequestKind("unregister_push", push.UnregisterPush, Ok, needs_id=True),
    RequestKind("push_preferences", push.GetPushPreferences, push.PushPreferences, needs_id=True),
    RequestKind("set_push_preferences", push.SetPushPreferences, Ok, needs_id=True),
    RequestKind("web_push_key", push.GetWebPushKey, push.WebPushKey, needs_id=True),
    RequestKind("badge", push.GetBadge, push.Badge, needs_id=True),
    RequestKind("typing", ephemeral.Typing, Ok, needs_id=False),
    RequestKind("presence", ephemeral.Presence, Ok, needs_id=False),
    RequestKind("subscribe", ephemeral.Subscribe, Ok, needs_id=False),
    RequestKind("unsubscribe", ephemeral.Unsubscribe, Ok, needs_id=False),
    RequestKind("ping", ephemeral.Ping, Ok, needs_id=False),
    RequestKind("pong", ephemeral.Pong, Ok, needs_id=False),
)

PUSHES: Final = (
    PushKind("entry", history.EntryPush),
    PushKind("entries", history.Entries),
    PushKind("chat", history.ChatRow),
    PushKind("chats", history.ChatRows),
    PushKind("resumed", session.Resumed),
    PushKind("resume", session.ResumeRequired),
    PushKind("inbox", inbox.InboxUpdate),
    PushKind("broadcast", inbox.BroadcastUpdate),
    PushKind("receipts", ephemeral.Receipts),
    PushKind("typing", ephemeral.TypingPush),
    PushKind("presence", ephemeral.PresencePush),
    PushKind("reconnect", session.Reconnect),
    PushKind("ping", ephemeral.PingPush),
    PushKind("error", ErrorBody),
)

REQUEST_OF: Final = {kind.name: kind for kind in REQUESTS}
REQUEST_BY_BODY: Final[Mapping[type[Struct], RequestKind]] = {kind.body: kind for kind in REQUESTS}
PUSH_OF: Final = {kind.name: kind for kind in PUSHES}
PUSH_NAME: Final[Mapping[type[Struct], str]] = {kind.body: kind.name for kind in PUSHES}

"""What a device gets of a log: one entry, a range, a page, a row of the chat list."""

from typing import Annotated

from msgspec import Meta

from tidings.wire.fields import (
    MAX_PAGE,
    ChatName,
    Data,
    EntryKindName,
    EntryStateName,
    Milliseconds,
    Position,
    RowState,
    Sequence,
    UserName,
)
from tidings.wire.frames.structs import RequestBody, ResponseBody


class GetHistory(RequestBody, frozen=True, kw_only=True):
    """What the user may see of a chat. One of `before`, `after`, `around`; none: the newest."""

    chat: ChatName
    before: Sequence | None = None
    after: Position | None = None
    around: Sequence | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 50


class Reaction(ResponseBody, frozen=True, kw_only=True):
    """`users` are the first few of them."""

    emoji: str
    count: int
    users: tuple[str, ...] = ()


class MessageState(ResponseBody, frozen=True, kw_only=True):
    """A message as it is now: what an edit, a redaction or a reaction has made of it, and what came after that."""

    state: EntryStateName = "active"
    text: str = ""
    data: Data | None = None
    reply_to: Sequence | None = None
    mentions: tuple[str, ...] = ()
    content_type: str | None = None
    edited_at: Milliseconds | None = None
    redacted_at: Milliseconds | None = None
    expires_at: Milliseconds | None = None
    reactions: tuple[Reaction, ...] = ()


class Entry(ResponseBody, frozen=True, kw_only=True):
    """One item of a log, written by whom and at what time. A message unless `kind` says otherwise.

    `client_message_id` comes to the devices of the user who chose it, so that they know their own again.
    `changed`: the message at `refers_to` as it is now, where it is pushed and does not come along itself.
    """

    sequence: Sequence
    by: str
    at: Milliseconds
    kind: EntryKindName = "message"
    state: EntryStateName = "active"
    text: str = ""
    data: Data | None = None
    reply_to: Sequence | None = None
    mentions: tuple[str, ...] = ()
    content_type: str | None = None
    client_message_id: str | None = None
    edited_at: Milliseconds | None = None
    redacted_at: Milliseconds | None = None
    expires_at: Milliseconds | None = None
    reactions: tuple[Reaction, ...] = ()
    refers_to: Sequence | None = None
    emoji: str | None = None
    name: str | None = None
    role: str | None = None
    users: tuple[str, ...] = ()
    member_count: int | None = None
    changed: MessageState | None = None


class EntryPush(Entry, frozen=True, kw_only=True):
    """An entry as it happens. Its message id is `<chat>.<sequence>`, so it is not sent."""

    chat: ChatName


class Entries(ResponseBody, frozen=True, kw_only=True):
    """What was missed, oldest first. Complete for this user in `(after, up_to]`: the device's position is `up_to` now."""

    chat: ChatName
    after: Position
    up_to: Position
    entries: tuple[Entry, ...]


class HistoryPage(ResponseBody, frozen=True, kw_only=True):
    """Newest first. Complete for this user in `(after, up_to]`."""

    after: Position
    up_to: Position
    entries: tuple[Entry, ...]
    has_older: bool = False
    has_newer: bool = False


class ChatRow(ResponseBody, frozen=True, kw_only=True):
    """A row of the chat list: a chat that the device did not know, or whose row has changed.

    `members`: a few of the others; of a direct chat the other one. `last`: the sequence of the newest message, which
    `by`, `preview` and `state` describe; 0 if there is none. `preview` is empty unless `state` is `there`: a message
    that expires is `ephemeral`, then `expired`.
    """

    chat: ChatName
    head: Position
    unread: int = 0
    read: Position = 0
    name: str | None = None
    members: tuple[UserName, ...] = ()
    at: Milliseconds | None = None
    by: str | None = None
    preview: str | None = None
    last: Position = 0
    state: RowState = "active"
    is_muted: bool = False
    is_pinned: bool = False
    is_archived: bool = False


class ChatRows(ResponseBody, frozen=True, kw_only=True):
    """Several rows at once, newest activity first: what a device gets that knows none of its chats."""

    rows: tuple[ChatRow, ...]

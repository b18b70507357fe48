"""What a device gets of a log: one entry, a range, a page, a row of the chat list."""

from typing import Annotated

from msgspec import Meta

from tidings_wire.fields import (
    MAX_PAGE,
    ChatName,
    ChatNameOut,
    Data,
    EntryKindOut,
    EntryStateOut,
    MillisecondsOut,
    Position,
    PositionOut,
    RowStateOut,
    Sequence,
    SequenceOut,
    UserNameOut,
)
from tidings_wire.frames.structs import RequestBody, ResponseBody


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

    state: EntryStateOut = "active"
    text: str = ""
    data: Data | None = None
    reply_to: SequenceOut | None = None
    mentions: tuple[str, ...] = ()
    content_type: str | None = None
    edited_at: MillisecondsOut | None = None
    redacted_at: MillisecondsOut | None = None
    expires_at: MillisecondsOut | None = None
    reactions: tuple[Reaction, ...] = ()


class Entry(ResponseBody, frozen=True, kw_only=True):
    """One item of a log, written by whom and at what time. A message unless `kind` says otherwise.

    `client_message_id` comes to the devices of the user who chose it, so that they know their own again.
    `changed`: the message at `refers_to` as it is now, where it is pushed and does not come along itself.
    """

    sequence: SequenceOut
    by: str
    at: MillisecondsOut
    kind: EntryKindOut = "message"
    state: EntryStateOut = "active"
    text: str = ""
    data: Data | None = None
    reply_to: SequenceOut | None = None
    mentions: tuple[str, ...] = ()
    content_type: str | None = None
    client_message_id: str | None = None
    edited_at: MillisecondsOut | None = None
    redacted_at: MillisecondsOut | None = None
    expires_at: MillisecondsOut | None = None
    reactions: tuple[Reaction, ...] = ()
    refers_to: SequenceOut | None = None
    emoji: str | None = None
    name: str | None = None
    role: str | None = None
    users: tuple[str, ...] = ()
    member_count: int | None = None
    changed: MessageState | None = None


class EntryPush(Entry, frozen=True, kw_only=True):
    """An entry as it happens. Its message id is `<chat>.<sequence>`, so it is not sent."""

    chat: ChatNameOut


class Entries(ResponseBody, frozen=True, kw_only=True):
    """What was missed, oldest first. Complete for this user in `(after, up_to]`: the device's position is `up_to` now."""

    chat: ChatNameOut
    after: PositionOut
    up_to: PositionOut
    entries: tuple[Entry, ...]


class HistoryPage(ResponseBody, frozen=True, kw_only=True):
    """Newest first. Complete for this user in `(after, up_to]`."""

    after: PositionOut
    up_to: PositionOut
    entries: tuple[Entry, ...]
    has_older: bool = False
    has_newer: bool = False


class ChatRow(ResponseBody, frozen=True, kw_only=True):
    """A row of the chat list: a chat that the device did not know, or whose row has changed.

    `members`: a few of the others; of a direct chat the other one. `last`: the sequence of the newest message, which
    `by`, `preview` and `state` describe; 0 if there is none. `preview` is empty unless `state` is `there`: a message
    that expires is `ephemeral`, then `expired`.
    """

    chat: ChatNameOut
    head: PositionOut
    unread: int = 0
    read: PositionOut = 0
    name: str | None = None
    members: tuple[UserNameOut, ...] = ()
    at: MillisecondsOut | None = None
    by: str | None = None
    preview: str | None = None
    last: PositionOut = 0
    state: RowStateOut = "active"
    is_muted: bool = False
    is_pinned: bool = False
    is_archived: bool = False


class ChatRows(ResponseBody, frozen=True, kw_only=True):
    """Several rows at once, newest activity first: what a device gets that knows none of its chats."""

    rows: tuple[ChatRow, ...]

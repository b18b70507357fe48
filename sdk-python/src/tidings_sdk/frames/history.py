"""What a device gets of a log: one entry, a range, a page, a row of the chat list."""

from typing import Any

from tidings_sdk.fields import Name, PageSize, Position, Sequence
from tidings_sdk.frames.structs import Body


class GetHistory(Body, frozen=True, kw_only=True):
    """What the user may see of a chat. One of `before`, `after`, `around`; none: the newest."""

    chat: Name
    before: Sequence | None = None
    after: Position | None = None
    around: Sequence | None = None
    limit: PageSize = 50


class Reaction(Body, frozen=True, kw_only=True):
    """`users` are the first few of them."""

    emoji: str
    count: int
    users: tuple[str, ...] = ()


class MessageState(Body, frozen=True, kw_only=True):
    """A message as it is now: what an edit, a redaction or a reaction has made of it, and what came after that."""

    state: str = "active"
    text: str = ""
    data: dict[str, Any] | None = None
    reply_to: int | None = None
    mentions: tuple[str, ...] = ()
    content_type: str | None = None
    edited_at: int | None = None
    redacted_at: int | None = None
    expires_at: int | None = None
    reactions: tuple[Reaction, ...] = ()


class Entry(Body, frozen=True, kw_only=True):
    """One item of a log. A message unless `kind` says otherwise; `client_message_id` is there on one's own.

    `changed`: the message at `refers_to` as it is now, where it was pushed and did not come along itself.
    """

    sequence: int
    by: str
    at: int
    kind: str = "message"
    state: str = "active"
    text: str = ""
    data: dict[str, Any] | None = None
    reply_to: int | None = None
    mentions: tuple[str, ...] = ()
    content_type: str | None = None
    client_message_id: str | None = None
    edited_at: int | None = None
    redacted_at: int | None = None
    expires_at: int | None = None
    reactions: tuple[Reaction, ...] = ()
    refers_to: int | None = None
    emoji: str | None = None
    name: str | None = None
    role: str | None = None
    users: tuple[str, ...] = ()
    member_count: int | None = None
    changed: MessageState | None = None


class EntryPush(Entry, frozen=True, kw_only=True):
    """An entry as it happens."""

    chat: str


class Entries(Body, frozen=True, kw_only=True):
    """What was missed, oldest first. Complete for this user in `(after, up_to]`."""

    chat: str
    after: int
    up_to: int
    entries: tuple[Entry, ...]


class HistoryPage(Body, frozen=True, kw_only=True):
    """Newest first. Complete for this user in `(after, up_to]`."""

    after: int
    up_to: int
    entries: tuple[Entry, ...]
    has_older: bool = False
    has_newer: bool = False


class ChatRow(Body, frozen=True, kw_only=True):
    """A row of the chat list: a chat that the device did not know, or whose row has changed.

    `members`: a few of the others; of a direct chat the other one. `last`: the sequence of the newest message, which
    `by`, `preview` and `state` describe; 0 if there is none. `preview` is empty unless `state` is `there`: a message
    that expires is `ephemeral`, then `expired`.
    """

    chat: str
    head: int
    unread: int = 0
    read: int = 0
    name: str | None = None
    members: tuple[str, ...] = ()
    at: int | None = None
    by: str | None = None
    preview: str | None = None
    last: int = 0
    state: str = "active"
    is_muted: bool = False
    is_pinned: bool = False
    is_archived: bool = False


class ChatRows(Body, frozen=True, kw_only=True):
    """Several rows at once, newest activity first."""

    rows: tuple[ChatRow, ...]

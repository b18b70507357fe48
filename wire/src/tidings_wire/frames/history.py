"""Entries of a log as devices read them: one entry, a range, a page, a row of the chat list."""

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
    """Read entries of a chat that the user may see: `before`, `after` or `around` a sequence, or the newest."""

    chat: ChatName
    before: Sequence | None = None
    after: Position | None = None
    around: Sequence | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 50


class Reaction(ResponseBody, frozen=True, kw_only=True):
    """The reactions to a message with one emoji. `users`: the first few users who reacted."""

    emoji: str
    count: int
    users: tuple[str, ...] = ()


class MessageState(ResponseBody, frozen=True, kw_only=True):
    """The current state of a message, with all edits, redactions and reactions applied."""

    state: EntryStateOut = "active"
    text: str = ""
    data: Data | None = None
    reply_to: SequenceOut | None = None
    mentions: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()
    content_type: str | None = None
    edited_at: MillisecondsOut | None = None
    redacted_at: MillisecondsOut | None = None
    expires_at: MillisecondsOut | None = None
    reactions: tuple[Reaction, ...] = ()


class EntryRules(ResponseBody, frozen=True, kw_only=True):
    """The rules of a chat after an entry of the kind `rules`. `slow_mode_s` 0: no slow mode."""

    is_frozen: bool = False
    slow_mode_s: int = 0
    join_rule: str = "closed"


class Entry(ResponseBody, frozen=True, kw_only=True):
    """One item of a log, with its author and time. It is a message unless `kind` says otherwise.

    `client_message_id` is sent only to the author's devices, which identify their own messages by it.
    `changed`: the current state of the message at `refers_to`. Only in pushes, and only if that message is not in the
    same range. `until` and `reason`: the end and the reason of a mute or ban; a `leave` with the role `ban` is one. An
    entry of the kind `lost` was lost in a failover between regions; `by` is then no user.
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
    attachments: tuple[str, ...] = ()
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
    until: MillisecondsOut | None = None
    reason: str | None = None
    rules: EntryRules | None = None
    changed: MessageState | None = None


class EntryPush(Entry, frozen=True, kw_only=True):
    """A new entry. Its message id is `<chat>.<sequence>` and is not sent."""

    chat: ChatNameOut


class Entries(ResponseBody, frozen=True, kw_only=True):
    """Missed entries, oldest first. Complete for this user in `(after, up_to]`: the device's new position is `up_to`."""

    chat: ChatNameOut
    after: PositionOut
    up_to: PositionOut
    entries: tuple[Entry, ...]


class HistoryPage(ResponseBody, frozen=True, kw_only=True):
    """A page of entries, newest first. Complete for this user in `(after, up_to]`."""

    after: PositionOut
    up_to: PositionOut
    entries: tuple[Entry, ...]
    has_older: bool = False
    has_newer: bool = False


class ChatRow(ResponseBody, frozen=True, kw_only=True):
    """A row of the chat list, for a chat that the device does not have or whose row has changed.

    `members`: some of the other members; in a direct chat, the other user. `last`: the sequence of the newest message,
    which `by`, `preview` and `state` describe, or 0 if there is none. `preview` is empty unless `state` is `active`.
    A message with an expiry time is `ephemeral`, and later `expired`.
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
    """Several rows, newest activity first, for a device without positions."""

    rows: tuple[ChatRow, ...]

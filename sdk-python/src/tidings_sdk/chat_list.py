"""The user's chat list: rows from the server, updated by later entries. Without I/O.

The unread count follows the server's rule: messages above the user's read position. A user who sends a message, from any
device, has read everything before it. The count is exact if the device has all messages since then. Otherwise the
server's count applies until the user reads further.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, final

from msgspec.structs import replace

from tidings_wire.frames.history import ChatRow, Entry, MessageState

_MAX_TRACKED: Final = 1_000
_PREVIEW_CHARS: Final = 100
_LIVE_FIELDS: Final = ("head", "unread", "at", "by", "preview", "last", "state")
"""The fields of a row that entries change."""


@dataclass(slots=True)
class _TrackedRow:
    """A row with the messages since then. `messages`: all message sequences above `since`."""

    row: ChatRow
    since: int
    messages: deque[int] = field(default_factory=deque)

    def advance(self, sequence: int) -> None:
        self.messages.append(sequence)
        if len(self.messages) > _MAX_TRACKED:
            self.since = self.messages.popleft()

    @property
    def unread(self) -> int:
        if self.row.read < self.since:
            return self.row.unread
        return sum(sequence > self.row.read for sequence in self.messages)


@final
class ChatList:
    def __init__(self, rows: Iterable[ChatRow] = ()) -> None:
        self._known = {row.chat: _TrackedRow(row, row.head) for row in rows}
        self._changed: set[str] = set()

    def rows(self) -> list[ChatRow]:
        """Return the rows: pinned chats first, then newest activity first."""
        found = [known.row for known in self._known.values()]
        return sorted(found, key=lambda row: (row.is_pinned, row.at or 0, row.chat), reverse=True)

    def row(self, chat: str) -> ChatRow | None:
        known = self._known.get(chat)
        return known.row if known else None

    def apply_row(self, row: ChatRow) -> None:
        """Apply a row of the server. It may be older than applied entries; a read position never moves back."""
        self._changed.add(row.chat)
        known = self._known.get(row.chat)
        if known is None or known.row.head <= row.head:
            read = max(row.read, known.row.read if known else 0)
            self._known[row.chat] = _TrackedRow(replace(row, read=read), row.head)
        else:
            known.row = replace(row, **_live_fields(known.row), read=max(row.read, known.row.read))

    def apply_entries(self, chat: str, entries: Iterable[Entry], user: str) -> ChatRow | None:
        """Apply entries of the log, in order. If the user joined an unknown chat, create and return its row."""
        has_joined = False
        for entry in entries:
            self._changed.add(chat)
            known = self._known.get(chat)
            if known is None:
                before = entry.sequence - 1
                known = self._known[chat] = _TrackedRow(ChatRow(chat=chat, head=before), before)
                has_joined = user in entry.users
            _apply(known, entry, user)
            if entry.kind == "leave" and user in (entry.users or (entry.by,)):
                del self._known[chat]
        return self.row(chat) if has_joined else None

    def read(self, chat: str, sequence: int) -> bool:
        """Apply a read position of the user, from any device. Return whether it advanced."""
        known = self._known.get(chat)
        if known is None or sequence <= known.row.read:
            return False
        self._changed.add(chat)
        known.row = replace(known.row, read=sequence)
        known.row = replace(known.row, unread=0 if sequence >= known.row.head else known.unread)
        return True

    def changed(self) -> dict[str, ChatRow | None]:
        """Return and reset the rows that changed since the last call. None: the chat was removed from the list."""
        changed, self._changed = self._changed, set()
        return {chat: self.row(chat) for chat in changed}

    def clear(self) -> None:
        self._known.clear()
        self._changed.clear()


def _live_fields(row: ChatRow) -> dict[str, object]:
    return {name: getattr(row, name) for name in _LIVE_FIELDS}


def _preview(message: Entry | MessageState) -> dict[str, object]:
    """Return the state and preview of a message. Like the server, show no preview of a message that expires."""
    state = "ephemeral" if message.state == "active" and message.expires_at is not None else message.state
    text = _preview_text(message)[:_PREVIEW_CHARS]
    return {"state": state, "preview": (text or None) if state == "active" else None}


def _preview_text(message: Entry | MessageState) -> str:
    """Return the text, or the name of the first file and the number of the others. The server has the same rule."""
    if message.text or not message.attachments:
        return message.text
    described = (message.data or {}).get("attachments")
    first = described.get(message.attachments[0]) if isinstance(described, dict) else None
    name = first.get("name") if isinstance(first, dict) else None
    more = len(message.attachments) - 1
    return " ".join(
        ["📎", *([name] if isinstance(name, str) and name else []), *([f"+{more}"] if more else [])]
    )


def _apply(known: _TrackedRow, entry: Entry, user: str) -> None:
    """Apply an entry above the row's head; the row covers the others already."""
    if entry.sequence <= known.row.head:
        return
    known.row = replace(known.row, head=entry.sequence)
    if entry.kind == "message":
        _count(known, entry, user)
    elif entry.changed is not None:
        if entry.refers_to == known.row.last:
            known.row = replace(known.row, **_preview(entry.changed))
    else:
        _name(known, entry, user)


def _count(known: _TrackedRow, entry: Entry, user: str) -> None:
    known.advance(entry.sequence)
    read = max(known.row.read, entry.sequence) if entry.by == user else known.row.read
    known.row = replace(known.row, read=read, unread=known.row.unread + 1)
    fields = {"unread": known.unread, "at": entry.at, "by": entry.by, "last": entry.sequence}
    known.row = replace(known.row, **fields, **_preview(entry))


def _name(known: _TrackedRow, entry: Entry, user: str) -> None:
    row = known.row
    if entry.kind in ("create", "rename"):
        known.row = row = replace(row, name=entry.name)
    if entry.kind in ("create", "join"):
        others = {*row.members, *entry.users, entry.by} - {user}
        known.row = replace(row, members=tuple(sorted(others)), at=row.at or entry.at)

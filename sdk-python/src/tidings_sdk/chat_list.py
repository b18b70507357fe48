"""The user's chats as this device knows them: rows that the server gave, kept current by what comes since. Pure.

Unread is derived as the server derives it: messages above what the user has read, or has written himself. It is exact
where the messages since are held; below them the server's number stands until the user has read further.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, final

from msgspec.structs import replace

from tidings_wire.frames.history import ChatRow, Entry, MessageState

_MAX_HELD: Final = 1_000
_PREVIEW_CHARS: Final = 100
_LIVELY: Final = ("head", "unread", "at", "by", "preview", "last", "state")
"""The fields of a row that entries change."""


@dataclass(slots=True)
class _Known:
    """`messages`: sequences of those above `since`, without a hole; `own`: the user's last message."""

    row: ChatRow
    since: int
    messages: deque[int] = field(default_factory=deque)
    own: int = 0

    def advance(self, sequence: int) -> None:
        self.messages.append(sequence)
        if len(self.messages) > _MAX_HELD:
            self.since = self.messages.popleft()

    @property
    def unread(self) -> int:
        seen = max(self.row.read, self.own)
        if seen < self.since:
            return self.row.unread
        return sum(sequence > seen for sequence in self.messages)


@final
class ChatList:
    def __init__(self, rows: Iterable[ChatRow] = ()) -> None:
        self._known = {row.chat: _Known(row, row.head) for row in rows}
        self._moved: set[str] = set()

    def rows(self) -> list[ChatRow]:
        """Pinned first, then newest activity first."""
        found = [known.row for known in self._known.values()]
        return sorted(found, key=lambda row: (row.is_pinned, row.at or 0, row.chat), reverse=True)

    def row(self, chat: str) -> ChatRow | None:
        known = self._known.get(chat)
        return known.row if known else None

    def apply_row(self, row: ChatRow) -> None:
        """By the server. It may be behind what has come meanwhile; a watermark never goes back."""
        self._moved.add(row.chat)
        known = self._known.get(row.chat)
        if known is None or known.row.head <= row.head:
            read = max(row.read, known.row.read if known else 0)
            self._known[row.chat] = _Known(replace(row, read=read), row.head)
        else:
            known.row = replace(row, **_lively(known.row), read=max(row.read, known.row.read))

    def apply_entries(self, chat: str, entries: Iterable[Entry], user: str) -> ChatRow | None:
        """Entries of the log, in order. Who is let in gets a row of what they say, which is returned."""
        is_let_in = False
        for entry in entries:
            self._moved.add(chat)
            known = self._known.get(chat)
            if known is None:
                before = entry.sequence - 1
                known = self._known[chat] = _Known(ChatRow(chat=chat, head=before), before)
                is_let_in = user in entry.users
            _apply(known, entry, user)
            if entry.kind == "leave" and user in (entry.users or (entry.by,)):
                del self._known[chat]
        return self.row(chat) if is_let_in else None

    def read(self, chat: str, sequence: int) -> bool:
        """By the user, here or elsewhere. Is it news?"""
        known = self._known.get(chat)
        if known is None or sequence <= known.row.read:
            return False
        self._moved.add(chat)
        known.row = replace(known.row, read=sequence)
        known.row = replace(known.row, unread=0 if sequence >= known.row.head else known.unread)
        return True

    def changed(self) -> dict[str, ChatRow | None]:
        """Since the last time this was asked; None: not in the list any more."""
        moved, self._moved = self._moved, set()
        return {chat: self.row(chat) for chat in moved}

    def clear(self) -> None:
        self._known.clear()
        self._moved.clear()


def _lively(row: ChatRow) -> dict[str, object]:
    return {name: getattr(row, name) for name in _LIVELY}


def _words(said: Entry | MessageState) -> dict[str, object]:
    """Follow the server's rule: a row shows no words of a message that expires."""
    state = "ephemeral" if said.state == "active" and said.expires_at is not None else said.state
    return {"state": state, "preview": (said.text[:_PREVIEW_CHARS] or None) if state == "active" else None}


def _apply(known: _Known, entry: Entry, user: str) -> None:
    """Apply an entry above the row's head; the row covers the others already."""
    if entry.sequence <= known.row.head:
        return
    known.row = replace(known.row, head=entry.sequence)
    if entry.kind == "message":
        _count(known, entry, user)
    elif entry.changed is not None:
        if entry.refers_to == known.row.last:
            known.row = replace(known.row, **_words(entry.changed))
    else:
        _name(known, entry, user)


def _count(known: _Known, entry: Entry, user: str) -> None:
    known.advance(entry.sequence)
    if entry.by == user:
        known.own = entry.sequence
    unread = known.unread if max(known.row.read, known.own) >= known.since else known.row.unread + 1
    told = {"unread": unread, "at": entry.at, "by": entry.by, "last": entry.sequence, **_words(entry)}
    known.row = replace(known.row, **told)


def _name(known: _Known, entry: Entry, user: str) -> None:
    row = known.row
    if entry.kind in ("create", "rename"):
        known.row = row = replace(row, name=entry.name)
    if entry.kind in ("create", "join"):
        others = {*row.members, *entry.users, entry.by} - {user}
        known.row = replace(row, members=tuple(sorted(others)), at=row.at or entry.at)

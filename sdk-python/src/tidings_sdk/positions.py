"""The device's position in each chat, and gaps after it. Without I/O.

A position moves over completely received ranges, never over a gap. Entries that are pushed after a gap are not kept,
only their highest sequence; the client reads the range from history. So memory does not grow while there is a gap.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import final

from tidings_wire.frames.history import Entry


@dataclass(slots=True)
class _ChatPosition:
    position: int | None = None
    ahead: int = 0
    head: int = 0


@final
class Positions:
    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self._chats = {chat: _ChatPosition(position) for chat, position in (known or {}).items()}

    def on_reported(self) -> dict[str, int]:
        """Return the positions for `connect` and `resume`."""
        return {chat: state.position for chat, state in self._chats.items() if state.position is not None}

    def of(self, chat: str) -> int | None:
        state = self._chats.get(chat)
        return state.position if state else None

    def head(self, chat: str) -> int | None:
        """Return the highest committed sequence that this process has seen, the `after` of a new message, or None.

        It may be above the position: a new key is not in the log yet, so it is not below the head either. The stored
        position is not used instead. It may be old, and from before a membership that ended and began again.
        """
        state = self._chats.get(chat)
        return state.head or None if state else None

    def doubt(self, chat: str) -> None:
        """Forget the head after a refused send. The next send reads it again: the membership may have changed."""
        self._of(chat).head = 0

    def committed(self, chat: str, sequence: int) -> None:
        """Raise the head by an answer or a row. The position stays: the device does not have the entry yet."""
        state = self._of(chat)
        state.head = max(state.head, sequence)

    def take(self, chat: str, after: int, up_to: int, entries: Iterable[Entry]) -> list[Entry]:
        """Apply a complete range `(after, up_to]`. Return its new entries in order, or none if there is a gap before it."""
        state = self._of(chat)
        state.head = max(state.head, up_to)
        if state.position is None:
            state.position = after
        if after > state.position:
            state.ahead = max(state.ahead, up_to)
            return []
        position, state.position = state.position, max(state.position, up_to)
        return sorted((e for e in entries if position < e.sequence <= up_to), key=lambda e: e.sequence)

    def missed(self, chat: str, after: int, up_to: int) -> None:
        """Record a pushed range that the event queue has no space for. It is read from history later."""
        state = self._of(chat)
        state.head = max(state.head, up_to)
        state.ahead = max(state.ahead, up_to)
        if state.position is None:
            state.position = after

    def begin(self, chat: str, up_to: int) -> None:
        """Set the position of an unknown chat that was read by other means. Events start after it."""
        state = self._of(chat)
        state.head = max(state.head, up_to)
        if state.position is None:
            state.position = up_to

    def is_behind(self, chat: str) -> bool:
        state = self._of(chat)
        return state.position is not None and state.position < state.ahead

    def behind(self) -> list[str]:
        return [chat for chat in self._chats if self.is_behind(chat)]

    def abandon_gap(self, chat: str) -> None:
        """Stop filling a gap that history does not have. The next push tries again."""
        state = self._of(chat)
        state.ahead = 0

    def clear(self) -> None:
        """Delete all positions, after the installation was restored."""
        self._chats.clear()

    def _of(self, chat: str) -> _ChatPosition:
        return self._chats.setdefault(chat, _ChatPosition())

"""Up to where the device holds each chat, what lies ahead of that, and what may be given out. Pure.

A `position` moves over ranges that were received whole, never over a hole. What is pushed ahead of a hole is not kept:
its sequence is, and history gives the range, so that nothing grows while a hole is open.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import final

from tidings_wire.frames.history import Entry


@dataclass(slots=True)
class _Held:
    position: int | None = None
    ahead: int = 0
    head: int = 0


@final
class Positions:
    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self._chats = {chat: _Held(position) for chat, position in (known or {}).items()}

    def on_reported(self) -> dict[str, int]:
        """For `connect` and `resume`."""
        return {chat: held.position for chat, held in self._chats.items() if held.position is not None}

    def of(self, chat: str) -> int | None:
        held = self._chats.get(chat)
        return held.position if held else None

    def head(self, chat: str) -> int | None:
        """The highest sequence seen committed, by this process: what a new message is sent `after`. None: ask.

        It may be above the position. A key that was never sent stands nowhere, so least of all below there. A position
        out of the store may be from long ago, and from before a membership ended and began anew.
        """
        held = self._chats.get(chat)
        return held.head or None if held else None

    def doubt(self, chat: str) -> None:
        """A send was refused: the next one asks where the log is, as the user may have been away in between."""
        self._of(chat).head = 0

    def committed(self, chat: str, sequence: int) -> None:
        """Seen in an answer or a row. The position stays: an answer is not the entry."""
        held = self._of(chat)
        held.head = max(held.head, sequence)

    def take(self, chat: str, after: int, up_to: int, entries: Iterable[Entry]) -> list[Entry]:
        """What came whole in `(after, up_to]`: what of it is new, in order. Nothing, if it lies ahead of a hole."""
        held = self._of(chat)
        held.head = max(held.head, up_to)
        if held.position is None:
            held.position = after
        if after > held.position:
            held.ahead = max(held.ahead, up_to)
            return []
        position, held.position = held.position, max(held.position, up_to)
        return sorted((e for e in entries if position < e.sequence <= up_to), key=lambda e: e.sequence)

    def missed(self, chat: str, after: int, up_to: int) -> None:
        """It was pushed and there is no room for it: it is as if it had not come."""
        held = self._of(chat)
        held.head = max(held.head, up_to)
        held.ahead = max(held.ahead, up_to)
        if held.position is None:
            held.position = after

    def begin(self, chat: str, up_to: int) -> None:
        """A chat that was unknown has been read up to here by other means; events begin behind it."""
        held = self._of(chat)
        held.head = max(held.head, up_to)
        if held.position is None:
            held.position = up_to

    def is_behind(self, chat: str) -> bool:
        held = self._of(chat)
        return held.position is not None and held.position < held.ahead

    def behind(self) -> list[str]:
        return [chat for chat in self._chats if self.is_behind(chat)]

    def abandon_gap(self, chat: str) -> None:
        """History has nothing up to there; the next push asks again."""
        held = self._of(chat)
        held.ahead = 0

    def clear(self) -> None:
        """The installation was restored: nothing of before counts."""
        self._chats.clear()

    def _of(self, chat: str) -> _Held:
        return self._chats.setdefault(chat, _Held())

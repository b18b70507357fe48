"""What the whole run knows: the recorder, how far each chat has got, and who is in it, as entries tell."""

import hashlib
from collections import defaultdict
from collections.abc import Callable
from typing import Final, NamedTuple, final

from tidings_harness.history.events import EntryCategory, EventKind
from tidings_harness.history.recorder import Recorder
from tidings_wire.frames.history import Entry

_OTHER: Final = 1 << 62
_DIGITS: Final = 16


class SeenEntry(NamedTuple):
    """An entry, as the history has it."""

    sequence: int
    message: int
    sort: EntryCategory


def entry_text(message: int, size: int) -> str:
    return f"{message:0{_DIGITS}x}".ljust(size, ".")


@final
class RunState:
    """`again`: makes the recorder of the next epoch. What is written down of two epochs is two histories."""

    def __init__(self, recorder: Recorder, again: Callable[[Recorder], Recorder] | None = None) -> None:
        self.recorder = recorder
        self._again = again
        self._epoch: int | None = None
        self.heads: dict[str, int] = defaultdict(int)
        self.last_of: dict[tuple[str, str], tuple[int, bool]] = {}
        """By chat and user: the last entry that let him in or took him out, and which of the two it was."""
        self.delivered = 0

    def entry(self, chat: str, entry: Entry) -> SeenEntry:
        """Called for what a device got, often with what others got before."""
        self.committed(chat, entry.sequence)
        if entry.kind == "message":
            return SeenEntry(entry.sequence, _number(entry.text), EntryCategory.MESSAGE)
        self._member(chat, entry)
        return SeenEntry(entry.sequence, _fingerprint(entry), EntryCategory.OTHER)

    def welcomed(self, epoch: int) -> None:
        """Another epoch than before: the installation was restored, and what is known of its chats is of before."""
        if self._epoch not in {None, epoch} and self._again is not None:
            self.recorder = self._again(self.recorder)
            self.heads.clear()
            self.last_of.clear()
        self._epoch = epoch

    def committed(self, chat: str, sequence: int) -> None:
        self.heads[chat] = max(self.heads[chat], sequence)

    def must_hold(self, chat: str, user: str) -> int:
        """Up to where his devices are to get; 0: nothing is known to be for him."""
        at, is_in = self.last_of.get((chat, user), (0, False))
        return self.heads[chat] if is_in else at

    def _member(self, chat: str, entry: Entry) -> None:
        kind = {"create": EventKind.IN, "join": EventKind.IN, "leave": EventKind.OUT}.get(entry.kind)
        if kind is None:
            return
        number = self.recorder.name
        for user in entry.users:
            self.recorder.member(kind, number(chat), entry.sequence, number(user))
            if entry.sequence >= self.last_of.get((chat, user), (0, False))[0]:
                self.last_of[chat, user] = (entry.sequence, kind is EventKind.IN)


def _number(text: str) -> int:
    """The message's own, which its text begins with. A text that is not ours has one that nobody sent."""
    try:
        return int(text[:_DIGITS], 16)
    except ValueError:
        return _OTHER - 1


def _fingerprint(entry: Entry) -> int:
    told = f"{entry.kind} {entry.by} {entry.refers_to} {entry.name} {entry.role} {sorted(entry.users)}"
    return _OTHER | int.from_bytes(hashlib.blake2b(told.encode(), digest_size=7).digest())

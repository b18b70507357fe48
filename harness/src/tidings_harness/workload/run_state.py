"""The state of a run: the recorder, and the head and members of each chat, derived from entries."""

import hashlib
from collections import defaultdict
from collections.abc import Callable
from typing import Final, NamedTuple, final

from tidings_harness.history.events import ERASED_ENTRY, EntryCategory, EventKind
from tidings_harness.history.recorder import Recorder
from tidings_wire.frames.history import Entry

_OTHER: Final = 1 << 62
_DIGITS: Final = 16
_RESTRICTIONS: Final = {
    "mute": EventKind.MUTED,
    "unmute": EventKind.UNMUTED,
    "ban": EventKind.BANNED,
    "unban": EventKind.UNBANNED,
}


class SeenEntry(NamedTuple):
    """An entry in the form of the history."""

    sequence: int
    message: int
    sort: EntryCategory


def entry_text(message: int, size: int) -> str:
    return f"{message:0{_DIGITS}x}".ljust(size, ".")


@final
class RunState:
    """The state of a run. `again` creates the recorder of the next epoch: each epoch has its own history."""

    def __init__(self, recorder: Recorder, again: Callable[[Recorder], Recorder] | None = None) -> None:
        self.recorder = recorder
        self._again = again
        self._epoch: int | None = None
        self.heads: dict[str, int] = defaultdict(int)
        self.last_of: dict[tuple[str, str], tuple[int, bool]] = {}
        """The last entry by chat and user that added or removed the user, and which of the two it was."""
        self.delivered = 0

    def entry(self, chat: str, entry: Entry) -> SeenEntry:
        """Process a received entry. Other devices may have received it before."""
        self.committed(chat, entry.sequence)
        if entry.kind == "message":
            number = ERASED_ENTRY if entry.state == "erased" else _number(entry.text)
            return SeenEntry(entry.sequence, number, EntryCategory.MESSAGE)
        self._restriction(chat, entry)
        self._member(chat, entry)
        is_erased = any(map(_is_pseudonym, (entry.by, *entry.users)))
        number = ERASED_ENTRY if is_erased else _fingerprint(entry)
        category = EntryCategory.LOST if entry.kind == "lost" else EntryCategory.OTHER
        return SeenEntry(entry.sequence, number, category)

    def welcomed(self, epoch: int) -> None:
        """Start a new epoch after a restore, and discard the state of chats."""
        if self._epoch not in {None, epoch} and self._again is not None:
            self.recorder = self._again(self.recorder)
            self.heads.clear()
            self.last_of.clear()
        self._epoch = epoch

    def committed(self, chat: str, sequence: int) -> None:
        self.heads[chat] = max(self.heads[chat], sequence)

    def must_hold(self, chat: str, user: str) -> int:
        """Return the last sequence that the user's devices must receive; 0 if none is known."""
        at, is_in = self.last_of.get((chat, user), (0, False))
        return self.heads[chat] if is_in else at

    def _restriction(self, chat: str, entry: Entry) -> None:
        kind = _RESTRICTIONS.get(entry.role or "")
        if kind is not None and entry.kind in {"leave", "mute", "ban"}:
            number = self.recorder.name
            for user in entry.users:
                self.recorder.member(kind, number(chat), entry.sequence, number(user))

    def _member(self, chat: str, entry: Entry) -> None:
        kind = {"create": EventKind.IN, "join": EventKind.IN, "leave": EventKind.OUT}.get(entry.kind)
        if kind is None:
            return
        number = self.recorder.name
        for user in entry.users:
            if _is_pseudonym(user):
                continue  # The entry had the id of the user when it was committed.
            self.recorder.member(kind, number(chat), entry.sequence, number(user))
            if entry.sequence >= self.last_of.get((chat, user), (0, False))[0]:
                self.last_of[chat, user] = (entry.sequence, kind is EventKind.IN)


def _is_pseudonym(user: str) -> bool:
    """Return whether an id replaces that of an erased user. No other user has such an id."""
    return user.startswith("erased-")


def _number(text: str) -> int:
    """Return the message number at the start of a text. Other texts get a number that no writer uses."""
    try:
        return int(text[:_DIGITS], 16)
    except ValueError:
        return _OTHER - 1


def _fingerprint(entry: Entry) -> int:
    content = f"{entry.kind} {entry.by} {entry.refers_to} {entry.name} {entry.role} {sorted(entry.users)}"
    return _OTHER | int.from_bytes(hashlib.blake2b(content.encode(), digest_size=7).digest())

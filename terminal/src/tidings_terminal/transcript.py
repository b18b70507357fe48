"""The loaded messages of one chat, in order, with later changes and unsent messages. Without I/O."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

from tidings_sdk import Entry, HistoryPage, Reaction

_SHOWN_KINDS: Final = frozenset({"create", "join", "leave", "rename", "role", "lost"})
MAX_LINES: Final = 2_000
"""Maximum number of loaded messages. Older ones are loaded again when the user scrolls."""


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """The current state of a message. For other entries, `happening` is the entry itself."""

    sequence: int
    by: str
    at: int
    text: str = ""
    state: str = "active"
    data: dict[str, Any] | None = None
    reply_to: int | None = None
    mentions: tuple[str, ...] = ()
    is_edited: bool = False
    reactions: tuple[Reaction, ...] = ()
    happening: Entry | None = None

    @property
    def can_change(self) -> bool:
        return self.happening is None and self.state == "active"


@dataclass(frozen=True, slots=True)
class UnsentMessage:
    """A message of the user: in the outbox, committed but not received back (`sequence`), or refused."""

    key: str
    text: str
    reply_to: int | None = None
    sequence: int | None = None
    refused: str = ""


@final
@dataclass(slots=True)
class Transcript:
    chat: str
    has_older: bool = True
    is_loaded: bool = False
    waiting: list[UnsentMessage] = field(default_factory=list)
    _messages: dict[int, TranscriptMessage] = field(default_factory=dict)

    @property
    def messages(self) -> list[TranscriptMessage]:
        return [self._messages[sequence] for sequence in sorted(self._messages)]

    @property
    def oldest(self) -> int | None:
        return min(self._messages, default=None)

    @property
    def newest(self) -> int:
        return max(self._messages, default=0)

    def page(self, page: HistoryPage) -> None:
        """Add a page of history. Loaded messages are kept: they are as new as those of the page, or newer."""
        for entry in page.entries:
            if entry.sequence not in self._messages:
                self._take(entry)
        self.has_older, self.is_loaded = page.has_older, True

    def add_entries(self, entry: Entry) -> None:
        """Apply a new entry. Ignored before the first page is loaded."""
        self.waiting = [each for each in self.waiting if each.key != entry.client_message_id]
        if not self.is_loaded:
            return
        self._take(entry)
        self._drop_oldest()

    def waits(self, key: str, text: str, reply_to: int | None = None) -> None:
        self.waiting.append(UnsentMessage(key, text, reply_to))

    def sent(self, key: str, sequence: int) -> None:
        """Mark a message as committed. Its entry arrives separately, possibly before."""
        if sequence in self._messages:
            self.waiting = [each for each in self.waiting if each.key != key]
        self._change_waiting(key, sequence=sequence)

    def refused(self, key: str, why: str) -> None:
        self._change_waiting(key, refused=why)

    def dismiss(self) -> None:
        """Remove the refused messages."""
        self.waiting = [each for each in self.waiting if not each.refused]

    def at(self, sequence: int) -> TranscriptMessage | None:
        return self._messages.get(sequence)

    def last_of(self, user: str) -> TranscriptMessage | None:
        return next((m for m in reversed(self.messages) if m.by == user and m.can_change), None)

    def last(self) -> TranscriptMessage | None:
        return next((m for m in reversed(self.messages) if m.can_change), None)

    def selected(self, chosen: int | None, user: str, *, is_own: bool) -> TranscriptMessage | None:
        """Return the message under the cursor, or else the last one that the action applies to."""
        found = self.at(chosen) if chosen is not None else None
        if found is None:
            found = self.last_of(user) if is_own else self.last()
        is_suitable = found is not None and found.can_change and (not is_own or found.by == user)
        return found if is_suitable else None

    def _change_waiting(self, key: str, **changed: object) -> None:
        self.waiting = [
            replace(each, **changed) if each.key == key else each  # type: ignore[arg-type]  # by name
            for each in self.waiting
        ]

    def _take(self, entry: Entry) -> None:
        if entry.kind == "message":
            self._messages[entry.sequence] = _message(entry)
        elif entry.changed is not None and entry.refers_to in self._messages:
            self._messages[entry.refers_to] = _changed(self._messages[entry.refers_to], entry)
        elif entry.kind in _SHOWN_KINDS:
            self._messages[entry.sequence] = TranscriptMessage(
                entry.sequence, entry.by, entry.at, happening=entry
            )

    def _drop_oldest(self) -> None:
        if len(self._messages) > MAX_LINES:
            self._drop(sorted(self._messages)[: -MAX_LINES // 2])
            self.has_older = True

    def _drop(self, sequences: Iterable[int]) -> None:
        for sequence in sequences:
            del self._messages[sequence]


def _message(entry: Entry) -> TranscriptMessage:
    return TranscriptMessage(
        sequence=entry.sequence,
        by=entry.by,
        at=entry.at,
        text=entry.text,
        state=entry.state,
        data=entry.data,
        reply_to=entry.reply_to,
        mentions=entry.mentions,
        is_edited=entry.edited_at is not None,
        reactions=entry.reactions,
    )


def _changed(message: TranscriptMessage, entry: Entry) -> TranscriptMessage:
    now = entry.changed
    assert now is not None  # noqa: S101 - checked by the caller
    return replace(
        message,
        text=now.text,
        state=now.state,
        data=now.data,
        reply_to=now.reply_to,
        mentions=now.mentions,
        is_edited=now.edited_at is not None,
        reactions=now.reactions,
    )

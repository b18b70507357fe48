"""The state of the screen: the open chat, transcripts, the connection, and the number of missed messages. Without I/O.

Its inputs are events of the SDK. The SDK itself keeps rows, receipts, typing and presence; a view reads them from it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, final

from tidings_sdk import (
    ChatChanged,
    ChatRow,
    ConnectionStateChanged,
    Event,
    InstallationRestored,
    MessageAdded,
    MessageChanged,
    MessageSendFailed,
    MessageSent,
    PresenceChanged,
    State,
)
from tidings_terminal import formatting
from tidings_terminal.transcript import Transcript

_HINT_S: Final = 6.0


class ComposeMode(StrEnum):
    SEND = "send"
    REPLY = "reply"
    EDIT = "edit"
    REACT = "react"


@dataclass(frozen=True, slots=True)
class ComposeTask:
    """What Enter does. `sequence`: the message that it refers to. `about`: that message in one line."""

    mode: ComposeMode = ComposeMode.SEND
    sequence: int = 0
    about: str = ""

    @property
    def is_sending(self) -> bool:
        return self.mode in (ComposeMode.SEND, ComposeMode.REPLY)


@dataclass(frozen=True, slots=True)
class ChatListLine:
    """A row of the chat list as text."""

    chat: str
    title: str
    preview: str
    when: str
    unread: int
    mark: str
    is_muted: bool
    is_open: bool


@final
@dataclass(slots=True)
class ScreenModel:
    open: str | None = None
    state: State = State.CONNECTING
    next_try_at: float | None = None
    hint: str = ""
    threads: dict[str, Transcript] = field(default_factory=dict)
    drafts: dict[str, tuple[ComposeTask, str]] = field(default_factory=dict)
    _hint_until: float = 0.0
    _missed: int | None = None
    _was_live: bool = False
    _others: dict[str, str] = field(default_factory=dict)

    def thread(self, chat: str) -> Transcript:
        return self.threads.setdefault(chat, Transcript(chat))

    def apply(self, event: Event, user: str, now: float) -> None:
        match event:
            case MessageAdded(chat, entry):
                self.thread(chat).add_entries(entry)
                if self._missed is not None and entry.by != user:
                    self._missed += 1
            case MessageChanged(chat, entry) | ChatChanged(chat, entry):
                self.thread(chat).add_entries(entry)
            case MessageSent(chat, key, sequence):
                self.thread(chat).sent(key, sequence)
            case MessageSendFailed(chat, key, error):
                why = formatting.refusal_text(error.code)
                self.thread(chat).refused(key, why)
                self.show_status(f"failed: {why}", now)
            case ConnectionStateChanged():
                self._on_connection(event, now)
            case InstallationRestored():
                self.threads.clear()
                self.show_status("the server was restored from a backup; chats are loaded again", now)

    def show_status(self, hint: str, now: float) -> None:
        """Show a text in the top bar for 6 seconds."""
        self.hint, self._hint_until = hint, now + _HINT_S

    def on_timer(self, now: float) -> None:
        if self.hint and now >= self._hint_until:
            self.hint = ""

    def connection(self, now: float) -> str:
        wait_s = None if self.next_try_at is None else self.next_try_at - now
        return formatting.connection_text(self.state, wait_s)

    def title(self, row: ChatRow, user: str) -> str:
        """Return the name of a chat, or its other members, or the last sender, or its id."""
        if row.by and row.by != user:
            self._others[row.chat] = row.by
        others = row.members or tuple(filter(None, [self._others.get(row.chat)]))
        return formatting.one_line(row.name or "") or ", ".join(others) or row.chat

    def _on_connection(self, event: ConnectionStateChanged, now: float) -> None:
        self.state = event.state
        self.next_try_at = None if event.wait_s is None else now + event.wait_s
        if event.state is State.RESUMING:
            self._missed = 0 if self._was_live else None
        elif event.state is State.LIVE:
            if self._was_live and self._missed is not None:
                self.show_status(formatting.caught_up_text(self._missed), now)
            self._was_live, self._missed = True, None


def partner(row: ChatRow) -> str | None:
    """Return the other user of a direct chat. A direct chat has no name."""
    return row.members[0] if row.name is None and len(row.members) == 1 else None


def partners(rows: Iterable[ChatRow]) -> set[str]:
    return {other for row in rows if (other := partner(row))}


def chat_list_line(
    row: ChatRow, title: str, when: str, presence: PresenceChanged | None, *, is_open: bool
) -> ChatListLine:
    text = (
        formatting.one_line(formatting.content_text(row.state, row.preview or "", has_data=True))
        if row.last
        else ""
    )
    is_direct = partner(row) is not None
    return ChatListLine(
        chat=row.chat,
        title=title,
        preview=f"{row.by}: {text}" if text and row.by and not is_direct else text,
        when=when,
        unread=row.unread,
        mark=formatting.unread_mark(presence) if is_direct else " ",
        is_muted=row.is_muted,
        is_open=is_open,
    )

"""The model as text with styles: a row of the list, a line of the thread. Nothing is told by a colour alone."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from textwrap import wrap
from typing import Final, Self
from zlib import crc32

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from tidings_sdk import ChatRow, Client, Presence, Status
from tidings_terminal import words
from tidings_terminal.model import ChatLine, Model, line_of, partner
from tidings_terminal.notices import Note
from tidings_terminal.thread import Message, Thread, Waiting

_TOGETHER_MS: Final = 5 * 60 * 1000
"""Messages of one author that follow each other so closely stand under one name."""

_MOST_UNREAD: Final = 999
_MOST_LINES: Final = 4
"""Of a notice's words, below its title."""

_AUTHORS: Final = (
    "ansi_cyan",
    "ansi_green",
    "ansi_magenta",
    "ansi_yellow",
    "ansi_bright_blue",
    "ansi_bright_red",
)


@dataclass(frozen=True, slots=True)
class Line:
    """`sequence` None: nothing that could be chosen."""

    id: str
    content: Content
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class Eyes:
    """Who looks, when and from where."""

    user: str
    now_ms: int
    zone: tzinfo

    @classmethod
    def now(cls, client: Client) -> Self:
        zone = datetime.now(UTC).astimezone().tzinfo or UTC
        return cls(client.user or "", int(time.time() * 1000), zone)


def fit(text: str, width: int) -> str:
    """To exactly so many cells; an ellipsis where something is left out."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, max(0, width - 1)) + "…" if width > 0 else ""


def chat_lines(
    model: Model, rows: Sequence[ChatRow], presence: Callable[[str], Presence | None], eyes: Eyes
) -> list[ChatLine]:
    return [
        line_of(
            row,
            model.title(row, eyes.user),
            words.clock(row.at, eyes.now_ms, eyes.zone) if row.at else "",
            presence(partner(row) or ""),
            is_open=row.chat == model.open,
        )
        for row in rows
    ]


def chat_row(line: ChatLine, width: int) -> Content:
    badge = f" {min(line.unread, _MOST_UNREAD)}" if line.unread else ""
    when = f" {line.when}" if line.when else ""
    edge = ("▌" if line.is_open else " ", "ansi_bright_blue")
    name = fit(f"{line.mark} {line.title}", max(4, width - cell_len(badge) - cell_len(when) - 1))
    quiet = "dim" if line.is_muted else ""
    return Content.assemble(
        edge,
        (name, "bold" if line.unread else quiet),
        (when, "dim"),
        (badge, "bold reverse" if line.unread and not line.is_muted else "dim"),
        "\n",
        edge,
        (fit(f"  {line.preview}", width - 1), "dim"),
    )


def glance(unread: int, notes: Sequence[Note], width: int) -> Content:
    """The inbox beside the chats: how many are unread, and the newest, one line each."""
    head = (fit(f" {words.inbox(unread)}", width), "bold" if unread else "")
    rows = [(f"\n{fit(f'{_dot(note)}{note.title}', width)}", "dim" if note.is_read else "") for note in notes]
    return Content.assemble(head, *rows)


def note_row(note: Note, eyes: Eyes, width: int) -> Content:
    when = f"  {words.clock(note.delivered_at, eyes.now_ms, eyes.zone)}"
    quiet = "dim" if note.is_read else ""
    parts = [(fit(f"{_dot(note)}{note.title}", width - cell_len(when)), quiet or "bold"), (when, "dim")]
    said = wrap(note.more, max(8, width - 3), max_lines=_MOST_LINES, placeholder=" …")
    parts += [(f"\n   {line}", quiet) for line in said]
    return Content.assemble(*parts)


def _dot(note: Note) -> str:
    return "   " if note.is_read else " • "


def thread_lines(thread: Thread, eyes: Eyes, status: Callable[[int], Status]) -> Iterator[Line]:
    before: Message | None = None
    for message in thread.messages:
        if before is None or words.day(before.at, eyes.zone) != words.day(message.at, eyes.zone):
            yield _separator(f"day-{message.sequence}", words.day(message.at, eyes.zone))
        if message.happening is not None:
            yield _separator(f"e-{message.sequence}", words.happening(message.happening))
        else:
            is_first = before is None or not _belongs(before, message)
            yield Line(
                f"m-{message.sequence}", _message(message, eyes, status, is_first=is_first), message.sequence
            )
        before = message
    for waiting in thread.waiting:
        yield Line(f"w-{waiting.key}", _waiting(waiting))


def _separator(name: str, text: str) -> Line:
    return Line(name, Content.assemble(("── ", "dim"), (text, "dim")))


def _belongs(before: Message, message: Message) -> bool:
    return before.happening is None and before.by == message.by and 0 <= message.at - before.at < _TOGETHER_MS


def _message(message: Message, eyes: Eyes, status: Callable[[int], Status], *, is_first: bool) -> Content:
    is_own = message.by == eyes.user
    parts: list[tuple[str, str]] = []
    if is_first:
        parts += [
            ("you" if is_own else message.by, f"bold {_colour(message.by)}"),
            (_when(message, eyes), "dim"),
        ]
        parts.append(("\n", ""))
    said = words.content(message.state, message.text, has_data=message.has_data)
    parts.append((said, "" if message.state == "there" else "dim italic"))
    if message.is_edited and message.state == "there":
        parts.append((" (edited)", "dim"))
    if is_own and message.state == "there":
        parts.append((f"  {words.tick(status(message.sequence))}", "dim"))
    if shown := words.reactions(message.reactions):
        parts.append((f"\n  {shown}", ""))
    return Content.assemble(*parts)


def _when(message: Message, eyes: Eyes) -> str:
    return f"  {words.clock(message.at, eyes.now_ms, eyes.zone)}"


def _waiting(waiting: Waiting) -> Content:
    text = words.clean(waiting.text)
    if waiting.refused:
        return Content.assemble((text, "dim strike"), (f"  ✗ not sent: {waiting.refused}", "bold ansi_red"))
    return Content.assemble((text, ""), ("  ✓" if waiting.sequence else "  ◌ on its way", "dim"))


def _colour(user: str) -> str:
    return _AUTHORS[crc32(user.encode()) % len(_AUTHORS)]

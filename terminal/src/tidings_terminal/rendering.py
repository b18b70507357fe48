"""Render the model as styled text. Colour is never the only sign of a state."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from textwrap import wrap
from typing import Final, Self
from zlib import crc32

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from tidings_sdk import ChatRow, Client, MessageStatus, PresenceChanged
from tidings_terminal import formatting
from tidings_terminal.model import ChatListLine, ScreenModel, chat_list_line, partner
from tidings_terminal.notifications import NotificationView
from tidings_terminal.transcript import Transcript, TranscriptMessage, UnsentMessage

_GROUP_MS: Final = 5 * 60 * 1000
"""Messages of one author within this time are grouped under one name."""

_MAX_UNREAD: Final = 999
_MAX_LINES: Final = 4
"""Maximum number of lines of a notification below its title."""

_AUTHORS: Final = (
    "ansi_cyan",
    "ansi_green",
    "ansi_magenta",
    "ansi_yellow",
    "ansi_bright_blue",
    "ansi_bright_red",
)


@dataclass(frozen=True, slots=True)
class RenderedLine:
    """A line of the transcript. `sequence` is None if the line cannot be selected."""

    id: str
    content: Content
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class ViewContext:
    """The user, the current time and the time zone of the screen."""

    user: str
    now_ms: int
    zone: tzinfo

    @classmethod
    def now(cls, client: Client) -> Self:
        zone = datetime.now(UTC).astimezone().tzinfo or UTC
        return cls(client.user or "", int(time.time() * 1000), zone)


def fit_text(text: str, width: int) -> str:
    """Pad or truncate a text to `width` cells, with an ellipsis if it is truncated."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, max(0, width - 1)) + "…" if width > 0 else ""


def chat_lines(
    model: ScreenModel,
    rows: Sequence[ChatRow],
    presence: Callable[[str], PresenceChanged | None],
    context: ViewContext,
) -> list[ChatListLine]:
    return [
        chat_list_line(
            row,
            model.title(row, context.user),
            formatting.format_clock(row.at, context.now_ms, context.zone) if row.at else "",
            presence(partner(row) or ""),
            is_open=row.chat == model.open,
        )
        for row in rows
    ]


def chat_row(line: ChatListLine, width: int) -> Content:
    badge = f" {min(line.unread, _MAX_UNREAD)}" if line.unread else ""
    when = f" {line.when}" if line.when else ""
    edge = ("▌" if line.is_open else " ", "ansi_bright_blue")
    name = fit_text(f"{line.mark} {line.title}", max(4, width - cell_len(badge) - cell_len(when) - 1))
    quiet = "dim" if line.is_muted else ""
    return Content.assemble(
        edge,
        (name, "bold" if line.unread else quiet),
        (when, "dim"),
        (badge, "bold reverse" if line.unread and not line.is_muted else "dim"),
        "\n",
        edge,
        (fit_text(f"  {line.preview}", width - 1), "dim"),
    )


def render_inbox_summary(unread: int, notes: Sequence[NotificationView], width: int) -> Content:
    """Render the summary of the inbox: the unread count and the newest notifications, one line each."""
    head = (fit_text(f" {formatting.inbox_text(unread)}", width), "bold" if unread else "")
    rows = [
        (f"\n{fit_text(f'{_dot(note)}{note.title}', width)}", "dim" if note.is_read else "") for note in notes
    ]
    return Content.assemble(head, *rows)


def notification_row(note: NotificationView, context: ViewContext, width: int) -> Content:
    when = f"  {formatting.format_clock(note.delivered_at, context.now_ms, context.zone)}"
    quiet = "dim" if note.is_read else ""
    parts = [(fit_text(f"{_dot(note)}{note.title}", width - cell_len(when)), quiet or "bold"), (when, "dim")]
    text_lines = wrap(note.more, max(8, width - 3), max_lines=_MAX_LINES, placeholder=" …")
    parts += [(f"\n   {line}", quiet) for line in text_lines]
    return Content.assemble(*parts)


def _dot(note: NotificationView) -> str:
    return "   " if note.is_read else " • "


def transcript_lines(
    thread: Transcript, context: ViewContext, status: Callable[[int], MessageStatus]
) -> Iterator[RenderedLine]:
    before: TranscriptMessage | None = None
    for message in thread.messages:
        if before is None or formatting.format_day(before.at, context.zone) != formatting.format_day(
            message.at, context.zone
        ):
            yield _separator(f"day-{message.sequence}", formatting.format_day(message.at, context.zone))
        if message.happening is not None:
            yield _separator(f"e-{message.sequence}", formatting.event_text(message.happening))
        else:
            is_first = before is None or not _is_grouped(before, message)
            yield RenderedLine(
                f"m-{message.sequence}",
                _message(
                    message,
                    context,
                    status,
                    is_first=is_first,
                    quoted=_quoted(thread, message.reply_to, context),
                ),
                message.sequence,
            )
        before = message
    for waiting in thread.waiting:
        yield RenderedLine(f"w-{waiting.key}", _waiting(waiting, _quoted(thread, waiting.reply_to, context)))


def name_of(user: str, context: ViewContext) -> str:
    return "you" if user == context.user else user


def content_of(message: TranscriptMessage) -> str:
    return formatting.content_text(message.state, message.text, has_data=message.data is not None)


def _quoted(thread: Transcript, reply_to: int | None, context: ViewContext) -> str:
    """Return the line above a reply: the current text of the message that it answers."""
    if reply_to is None:
        return ""
    message = thread.at(reply_to)
    if message is None or message.happening is not None:
        return formatting.NOT_LOADED
    return formatting.quote(name_of(message.by, context), content_of(message))


def _separator(name: str, text: str) -> RenderedLine:
    return RenderedLine(name, Content.assemble(("── ", "dim"), (text, "dim")))


def _is_grouped(before: TranscriptMessage, message: TranscriptMessage) -> bool:
    return before.happening is None and before.by == message.by and 0 <= message.at - before.at < _GROUP_MS


def _message(
    message: TranscriptMessage,
    context: ViewContext,
    status: Callable[[int], MessageStatus],
    *,
    is_first: bool,
    quoted: str,
) -> Content:
    is_own = message.by == context.user
    parts: list[tuple[str, str]] = []
    if is_first:
        parts += [
            (name_of(message.by, context), f"bold {_colour(message.by)}"),
            (_when(message, context), "dim"),
        ]
        parts.append(("\n", ""))
    if quoted and message.state == "active":
        parts.append((f"{quoted}\n", "dim"))
    parts.append((content_of(message), "" if message.state == "active" else "dim italic"))
    if message.is_edited and message.state == "active":
        parts.append((" (edited)", "dim"))
    if is_own and message.state == "active":
        parts.append((f"  {formatting.delivery_mark(status(message.sequence))}", "dim"))
    if shown := formatting.reactions_text(message.reactions):
        parts.append((f"\n  {shown}", ""))
    return Content.assemble(*parts)


def _when(message: TranscriptMessage, context: ViewContext) -> str:
    return f"  {formatting.format_clock(message.at, context.now_ms, context.zone)}"


def _waiting(waiting: UnsentMessage, quoted: str) -> Content:
    text, above = formatting.strip_controls(waiting.text), (f"{quoted}\n" if quoted else "", "dim")
    if waiting.refused:
        why = (f"  ✗ not sent: {waiting.refused}", "bold ansi_red")
        return Content.assemble(above, (text, "dim strike"), why)
    return Content.assemble(above, (text, ""), ("  ✓" if waiting.sequence else "  ◌ sending", "dim"))


def _colour(user: str) -> str:
    return _AUTHORS[crc32(user.encode()) % len(_AUTHORS)]

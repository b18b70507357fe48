"""The widgets of the inbox: the summary next to the chats, and the list in place of the transcript."""

from collections.abc import Sequence
from typing import ClassVar, Final, override

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tidings_terminal import formatting
from tidings_terminal.inbox_controller import GLANCE, InboxController
from tidings_terminal.notifications import NotificationView
from tidings_terminal.rendering import ViewContext, notification_row, render_inbox_summary

_NEAR_END: Final = 3


class InboxSummary(Widget):
    """The summary of the inbox. A click opens the list."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)
        self._shown: tuple[int, Sequence[NotificationView]] = (0, ())

    def show(self, unread: int, notes: Sequence[NotificationView]) -> None:
        shown = (unread, tuple(notes[:GLANCE]))
        if shown != self._shown:
            self._shown = shown
            self.refresh(layout=True)

    @override
    def render(self) -> Content:
        return render_inbox_summary(*self._shown, self.size.width)

    async def on_click(self, _: events.Click) -> None:
        await self.app.run_action("inbox")


class NotificationList(OptionList):
    """The list of notifications. Loads older ones when the cursor is near the end."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,r", "mark_read", "Read", tooltip="Mark the notification as read"),
        Binding("u", "mark_unread", "Unread", tooltip="Mark the notification as unread"),
        Binding("a", "mark_all_read", "All", tooltip="Mark all notifications as read"),
        Binding("x", "archive", "Archive", tooltip="Archive the notification"),
        Binding("escape", "app.inbox", "Back", tooltip="Go back to the chat"),
    ]

    def __init__(self, controller: InboxController, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)
        self._controller = controller
        self._shown: list[tuple[str, Content]] = []

    def show(self, notes: Sequence[NotificationView], context: ViewContext) -> None:
        width = self.scrollable_content_region.width - 1
        rows = [(note.id, notification_row(note, context, width)) for note in notes]
        if rows != self._shown:
            chosen, place = self._chosen, self.highlighted or 0
            self._shown = rows
            self.set_options([Option(row, id=name) for name, row in rows])
            self.highlighted = _place([name for name, _ in rows], chosen, place)

    @property
    def _chosen(self) -> list[str]:
        return [] if self.highlighted is None else [self._shown[self.highlighted][0]]

    @override
    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        if highlighted is not None and highlighted >= len(self._shown) - _NEAR_END:
            self._controller.older()

    def action_mark_read(self) -> None:
        self._controller.mark_read(self._chosen)

    def action_mark_unread(self) -> None:
        self._controller.mark_read(self._chosen, is_read=False)

    def action_mark_all_read(self) -> None:
        self._controller.mark_all_read()

    def action_archive(self) -> None:
        self._controller.archive(self._chosen)


def _place(ids: list[str], chosen: list[str], before: int) -> int | None:
    """Return the new cursor: at the same notification, or at the same index if it was removed."""
    if chosen and chosen[0] in ids:
        return ids.index(chosen[0])
    return min(before, len(ids) - 1) if ids else None


class InboxPane(Vertical):
    """The list of notifications with its title."""

    class Resized(Message):
        pass

    def __init__(self, controller: InboxController, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._controller = controller

    @override
    def compose(self) -> ComposeResult:
        yield Static(id="desk-head", markup=False)
        yield NotificationList(self._controller, id="notifications")

    @on(events.Resize)
    def _resized(self) -> None:
        """Request a redraw. Rows are truncated to the width of the list, which is unknown before it is visible."""
        self.post_message(self.Resized())

    def show(self, unread: int, notes: Sequence[NotificationView], context: ViewContext) -> None:
        head = formatting.inbox_text(unread) if notes else "Inbox   empty"
        self.query_one("#desk-head", Static).update(head)
        self.query_one(NotificationList).show(notes, context)

    def turn(self, *, to_inbox: bool) -> None:
        """Show the list instead of the transcript, or the transcript again."""
        if to_inbox != self._controller.is_open:
            self._controller.open(is_open=to_inbox)
            self.screen.set_class(to_inbox, "-desk")
            self.screen.query_one("#notifications" if to_inbox else "#words").focus()
            self.app.refresh_bindings()


def show_inbox(screen: Screen[object], controller: InboxController, context: ViewContext) -> None:
    controller.on_timer()
    counts, notes = controller.counts, controller.notes
    if counts is None:
        return
    if not screen.has_class("-inbox"):
        screen.add_class("-inbox")
        screen.app.refresh_bindings()
    screen.query_one(InboxSummary).show(counts.unread, notes)
    screen.query_one(InboxPane).show(counts.unread, notes, context)

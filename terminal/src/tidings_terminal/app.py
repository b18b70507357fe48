"""The Textual app of `tidings chat`: connects the SDK's client, the model and the widgets, and binds the keys."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import ClassVar, Final, override

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import OptionList, Static

from tidings_sdk import Client, Event, MemoryStore, TidingsError
from tidings_terminal.chat_view import ChatView
from tidings_terminal.dialogs import HelpScreen
from tidings_terminal.endpoint import Endpoint
from tidings_terminal.inbox_controller import InboxController
from tidings_terminal.inbox_widgets import InboxPane, InboxSummary, NotificationList, show_inbox
from tidings_terminal.key_bindings import KeyBar
from tidings_terminal.model import ScreenModel, partners
from tidings_terminal.rendering import ViewContext, chat_lines
from tidings_terminal.widgets import ChatPane, Composer, ThreadPane

_PAGE: Final = 50
_AWAY_AFTER_S: Final = 60.0
_REDRAW_DELAY_S: Final = 0.03
"""Events arrive in bursts; the screen is updated about thirty times a second."""

_WIDE_COLUMNS, _NARROW = 100, 60
_THREAD_ACTIONS: Final = frozenset({"edit", "reply", "react", "redact", "page"})


class ChatApp(App[str]):
    CSS_PATH = "style.tcss"
    TITLE = "tidings chat"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as Textual declares it
        (0, "-narrow"),
        (_NARROW, "-normal"),
        (_WIDE_COLUMNS, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help", priority=True, tooltip="List the commands and keys"),
        Binding("ctrl+n", "step(1)", "Next chat", priority=True, tooltip="Open the next chat"),
        Binding(
            "ctrl+p", "step(-1)", "Previous", priority=True, show=False, tooltip="Open the previous chat"
        ),
        Binding("ctrl+o", "inbox", "Inbox", priority=True, tooltip="Open or close the inbox"),
        Binding("ctrl+y", "reply", "Reply", priority=True, tooltip="Reply to the last message"),
        Binding("ctrl+r", "react", "React", priority=True, tooltip="React to the last message"),
        Binding("ctrl+t", "redact", "Delete", priority=True, tooltip="Delete your last message for everyone"),
        Binding("pageup", "page(-1)", "Older", priority=True, show=False, tooltip="Scroll to older messages"),
        Binding(
            "pagedown", "page(1)", "Newer", priority=True, show=False, tooltip="Scroll to newer messages"
        ),
        Binding("ctrl+q", "quit", "Quit", priority=True, tooltip="Quit"),
        Binding("ctrl+c", "quit", "Quit", priority=True, show=False, tooltip="Quit"),
    ]

    def __init__(self, new_client: Callable[[], Client]) -> None:
        super().__init__()
        self.theme = "ansi-dark"
        self.model = ScreenModel()
        self._new_client = new_client
        self._client: Client | None = None
        self._is_redraw_scheduled = False
        self._bar = ""
        self._away: asyncio.TimerHandle | None = None
        self._inbox = InboxController(
            self._start, self._schedule_redraw, lambda text: self.model.show_status(text, time.monotonic())
        )

    @override
    def compose(self) -> ComposeResult:
        yield Static(id="bar", markup=False)
        with Horizontal(id="middle"):
            with Vertical(id="left"):
                yield ChatPane(id="chats")
                yield InboxSummary(id="inbox")
            yield ChatView(self.model, lambda: self._client, self._start, self._schedule_redraw, id="right")
            yield InboxPane(self._inbox, id="desk")
        yield KeyBar(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(Composer).focus()
        self._start(self._serve())
        self.set_interval(1.0, self._schedule_redraw)
        self._schedule_redraw()

    async def _serve(self) -> None:
        """Run the client. If it stops with an error, exit with its text."""
        try:
            async with self._new_client() as self._client:
                self._inbox.take(self._client.inbox())
                async for event in self._client.events():
                    self._apply_event(event)
        except TidingsError as error:
            self.exit(str(error))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self.run_worker(work, exit_on_error=False)

    def _apply_event(self, event: Event) -> None:
        self.model.apply(event, self._user, time.monotonic())
        self._inbox.happened(event)
        self._schedule_redraw()

    @on(InboxPane.Resized)
    def _schedule_redraw(self) -> None:
        if not self._is_redraw_scheduled:
            self._is_redraw_scheduled = True
            self.set_timer(_REDRAW_DELAY_S, self._show)

    def _show(self) -> None:
        self._is_redraw_scheduled = False
        if self._client is None or not self.is_running:
            return
        self.model.on_timer(time.monotonic())
        rows = self._client.chats()
        self._client.watch(*partners(rows))
        if self.model.open is None and rows:
            self._view.open(rows[0].chat)
        context = ViewContext.now(self._client)
        lines = chat_lines(self.model, self._client.chats(), self._client.presence, context)
        self._show_bar()
        self.query_one(ChatPane).show(lines, self.model.open)
        self._view.show()
        show_inbox(self.default_screen, self._inbox, context)

    def _show_bar(self) -> None:
        parts = [f"tidings · {self._user or '…'}", self.model.connection(time.monotonic()), self.model.hint]
        text = "   ".join(filter(None, parts))
        if text != self._bar:
            self._bar = text
            self.query_one("#bar", Static).update(text)

    @on(OptionList.OptionHighlighted, "#chats")
    def _chosen(self, event: OptionList.OptionHighlighted) -> None:
        if event.option.id and event.option.id != self.model.open:
            self.query_one(InboxPane).turn(to_inbox=False)
            self._view.open(event.option.id)

    @on(OptionList.OptionSelected, "#chats")
    def _to_composer(self) -> None:
        self.query_one(InboxPane).turn(to_inbox=False)
        self._view.to_composer()

    def action_help(self) -> None:
        sections = [
            ("Everywhere", self.BINDINGS),
            ("While you write", Composer.BINDINGS),
            ("In the messages (Shift-Tab)", ThreadPane.BINDINGS),
            ("In the inbox", NotificationList.BINDINGS),
        ]
        _ = self.push_screen(HelpScreen(sections))

    def action_search(self) -> None:
        self.query_one(InboxPane).turn(to_inbox=False)
        self._view.search("")

    def action_reply(self) -> None:
        self._view.reply()

    def action_edit(self) -> None:
        self._view.edit()

    def action_react(self) -> None:
        self._view.react()

    def action_redact(self) -> None:
        self._view.redact()

    def action_report(self, reason: str) -> None:
        self._view.report(reason)

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Do nothing behind a dialog, and nothing to a message that is not on the screen."""
        if len(self.screen_stack) > 1:
            return action == "quit"
        if action == "inbox":
            return self._inbox.counts is not None
        return not (self._inbox.is_open and action in _THREAD_ACTIONS)

    def action_inbox(self) -> None:
        self.query_one(InboxPane).turn(to_inbox=not self._inbox.is_open)

    def action_step(self, by: int) -> None:
        chats = [row.chat for row in self._client.chats()] if self._client else []
        self.query_one(InboxPane).turn(to_inbox=False)
        if self.model.open in chats:
            self._view.open(chats[(chats.index(self.model.open) + by) % len(chats)])
            self._schedule_redraw()

    def action_page(self, by: int) -> None:
        self._view.page(by)

    def on_app_focus(self, _: events.AppFocus) -> None:
        if self._away is not None:
            self._away.cancel()
        if self._client is not None:
            self._client.set_presence("online")
        self._schedule_redraw()

    def on_app_blur(self, _: events.AppBlur) -> None:
        self._away = asyncio.get_running_loop().call_later(_AWAY_AFTER_S, self._set_away)

    def _set_away(self) -> None:
        if self._client is not None:
            self._client.set_presence("away")

    @property
    def _view(self) -> ChatView:
        return self.query_one(ChatView)

    @property
    def _user(self) -> str:
        return (self._client.user or "") if self._client else ""


def run(where: Endpoint) -> str | None:
    """Run the app until the user quits. Return the error that stopped it, or None."""
    return ChatApp(lambda: Client(where.url, where.token, api=where.api, store=MemoryStore())).run()

"""`tidings chat` on the screen: joins the SDK's client, the model and the panes. Decides what a key does."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import ClassVar, Final, override

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, Input, OptionList, Static

from tidings_sdk import Chat, Client, Event, MemoryStore, TidingsError
from tidings_terminal import words
from tidings_terminal.address import Address
from tidings_terminal.desk import Desk
from tidings_terminal.inbox_panes import Glance, InboxPane, show_inbox
from tidings_terminal.model import Model, partner, partners
from tidings_terminal.panes import ChatPane, Composer, Doing, Task, ThreadPane
from tidings_terminal.thread import Message
from tidings_terminal.views import Eyes, chat_lines, thread_lines

_PAGE: Final = 50
_AWAY_AFTER_S: Final = 60.0
_SOON_S: Final = 0.03
"""Events come in bursts; the screen follows some thirty times a second."""

_WIDE, _NARROW = 100, 60
_OF_THE_THREAD: Final = frozenset({"edit", "react", "redact", "page"})


class ChatApp(App[str]):
    CSS_PATH = "look.tcss"
    TITLE = "tidings chat"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as Textual declares it
        (0, "-narrow"),
        (_NARROW, "-normal"),
        (_WIDE, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "step(1)", "Next chat", priority=True),
        Binding("ctrl+p", "step(-1)", "Chat before", priority=True, show=False),
        Binding("ctrl+o", "inbox", "Inbox", priority=True),
        Binding("ctrl+r", "react", "React", priority=True),
        Binding("ctrl+t", "redact", "Take back", priority=True),
        Binding("pageup", "page(-1)", "Older", priority=True, show=False),
        Binding("pagedown", "page(1)", "Newer", priority=True, show=False),
        Binding("ctrl+q,ctrl+c", "quit", "Quit", priority=True),
    ]

    def __init__(self, new_client: Callable[[], Client]) -> None:
        super().__init__()
        self.theme = "ansi-dark"
        self.model = Model()
        self._new_client = new_client
        self._client: Client | None = None
        self._is_due = self._is_loading = False
        self._reading = 0
        self._said: dict[str, str] = {}
        self._away: asyncio.TimerHandle | None = None
        self._desk = Desk(self._aside, self._touch, lambda said: self.model.say(said, time.monotonic()))

    @override
    def compose(self) -> ComposeResult:
        yield Static(id="bar", markup=False)
        with Horizontal(id="middle"):
            with Vertical(id="left"):
                yield ChatPane(id="chats")
                yield Glance(id="inbox")
            with Vertical(id="right"):
                yield Static(id="head", markup=False)
                yield ThreadPane(id="thread")
                yield Static(id="typing", markup=False)
                yield Composer(id="words")
            yield InboxPane(self._desk, id="desk")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(Composer).focus()
        self._aside(self._serve())
        self.set_interval(1.0, self._touch)
        self._touch()

    async def _serve(self) -> None:
        """As long as the client can go on; then what stopped it is the last word."""
        try:
            async with self._new_client() as self._client:
                self._desk.take(self._client.inbox())
                async for event in self._client.events():
                    self._happened(event)
        except TidingsError as error:
            self.exit(str(error))

    def _aside(self, work: Coroutine[None, None, None]) -> None:
        self.run_worker(work, exit_on_error=False)

    def _happened(self, event: Event) -> None:
        self.model.apply(event, self._user, time.monotonic())
        self._desk.happened(event)
        self._touch()

    @on(InboxPane.Resized)
    def _touch(self) -> None:
        if not self._is_due:
            self._is_due = True
            self.set_timer(_SOON_S, self._show)

    def _show(self) -> None:
        self._is_due = False
        if self._client is None or not self.is_running:
            return
        self.model.tick(time.monotonic())
        rows = self._client.chats()
        self._client.watch(*partners(rows))
        if self.model.open is None and rows:
            self._open(rows[0].chat)
        self._show_bar()
        self._show_list()
        self._show_thread()
        show_inbox(self.screen, self._desk, self._eyes)

    def _show_bar(self) -> None:
        parts = [f"tidings · {self._user or '…'}", self.model.connection(time.monotonic()), self.model.hint]
        self._say("#bar", "   ".join(filter(None, parts)))

    def _say(self, where: str, text: str) -> None:
        """Drawn only if it is another."""
        if self._said.get(where) != text:
            self._said[where] = text
            self.query_one(where, Static).update(text)

    def _show_list(self) -> None:
        lines = chat_lines(self.model, self._linked.chats(), self._linked.presence, self._eyes)
        self.query_one(ChatPane).show(lines, self.model.open)

    def _show_thread(self, *, from_end: bool = False) -> None:
        chat, eyes = self._chat, self._eyes
        if chat is None:
            self._say("#head", "no chats yet")
            return
        row, others = chat.row, chat.members
        other = partner(row) if row else None
        about = (
            words.presence(self._linked.presence(other), eyes.now_ms, eyes.zone)
            if other
            else ", ".join(others)
        )
        title = self.model.title(row, eyes.user) if row else chat.id
        self._say("#head", f"{title}   {about}" if about else title)
        self._say("#typing", words.typing(chat.typists))
        lines = thread_lines(self.model.thread(chat.id), eyes, chat.status)
        self.query_one(ThreadPane).show(list(lines), from_end=from_end)
        self._see()

    def _open(self, chat: str) -> None:
        """One chat is watched, the one on the screen; the others need only their rows."""
        if self.model.open is not None:
            self._linked.chat(self.model.open).unwatch()
            self._change_draft(self.model.open, chat)
        self._linked.chat(chat).watch()
        self.model.open = chat
        self._reading = 0
        if not self.model.thread(chat).is_loaded:
            self._load()
        self._show_thread(from_end=True)

    def _change_draft(self, before: str, chat: str) -> None:
        """What was begun in a chat waits there."""
        composer = self.query_one(Composer)
        self.model.drafts[before] = composer.value if composer.task_now.doing is Doing.SEND else ""
        composer.begin(Task(), self.model.drafts.pop(chat, ""))

    def _load(self) -> None:
        if not self._is_loading and (chat := self._chat) is not None:
            self._is_loading = True
            self._aside(self._older(chat))

    async def _older(self, chat: Chat) -> None:
        thread = self.model.thread(chat.id)
        was_loaded = thread.is_loaded
        try:
            thread.page(await chat.history(before=thread.oldest if was_loaded else None, limit=_PAGE))
        except TidingsError as error:
            self.model.say(f"older messages could not be had: {error}", time.monotonic())
        finally:
            self._is_loading = False
        if chat.id == self.model.open:
            self._show_thread(from_end=not was_loaded)
        elif self.model.open and not self.model.thread(self.model.open).is_loaded:
            self._load()

    def _see(self) -> None:
        """What stands on a screen that is looked at is read."""
        chat = self._chat
        is_looked_at = self.app_focus and not self._desk.is_open and self.query_one(ThreadPane).is_at_end
        if chat is None or chat.row is None or not is_looked_at:
            return
        newest = self.model.thread(chat.id).newest
        if chat.row.unread and newest > max(chat.row.read, self._reading):
            self._reading = newest
            self._aside(self._read(chat, newest))

    async def _read(self, chat: Chat, sequence: int) -> None:
        try:
            await chat.read(sequence)
        except TidingsError:
            self._reading = 0
        self._touch()

    @on(OptionList.OptionHighlighted, "#chats")
    def _chosen(self, event: OptionList.OptionHighlighted) -> None:
        if event.option.id and event.option.id != self.model.open:
            self.query_one(InboxPane).turn(to_inbox=False)
            self._open(event.option.id)

    @on(OptionList.OptionSelected, "#chats")
    @on(OptionList.OptionSelected, "#thread")
    def _to_composer(self) -> None:
        self.query_one(InboxPane).turn(to_inbox=False)
        self.query_one(Composer).focus()

    @on(ThreadPane.WantsOlder)
    def _wants_older(self) -> None:
        if self.model.open and self.model.thread(self.model.open).has_older:
            self._load()

    @on(ThreadPane.ReachedEnd)
    def _reached_end(self) -> None:
        self._see()

    @on(Input.Changed, "#words")
    def _types(self, event: Input.Changed) -> None:
        if self._chat is not None and self.query_one(Composer).task_now.doing is Doing.SEND:
            self._chat.typing(is_typing=bool(event.value))

    @on(Input.Submitted, "#words")
    def _enter(self, event: Input.Submitted) -> None:
        composer, text = self.query_one(Composer), event.value.strip()
        task, chat = composer.task_now, self._chat
        if chat is None or (not text and task.doing is not Doing.REACT):
            return
        try:
            self._do(chat, task, text)
        except (TidingsError, ValueError) as error:
            self.model.say(f"not done: {error}", time.monotonic())
        composer.begin(Task())
        self._show_thread(from_end=task.doing is Doing.SEND)
        self._touch()

    def _do(self, chat: Chat, task: Task, text: str) -> None:
        thread = self.model.thread(chat.id)
        match task.doing:
            case Doing.SEND:
                thread.dismiss()
                thread.waits(chat.send(text).client_message_id, text)
            case Doing.EDIT:
                _ = chat.edit(task.sequence, text)
            case Doing.REACT:
                _ = chat.react(task.sequence, text or "👍")

    def action_edit(self) -> None:
        """Not over words that are being written."""
        composer, message = self.query_one(Composer), self._meant(is_own=True)
        if message is not None and not (composer.has_focus and composer.value):
            self._begin(Task(Doing.EDIT, message.sequence), message.text)

    def action_react(self) -> None:
        message = self._meant(is_own=False)
        if message is not None:
            self._begin(Task(Doing.REACT, message.sequence))

    def action_redact(self) -> None:
        message, chat = self._meant(is_own=True), self._chat
        if message is not None and chat is not None:
            _ = chat.redact(message.sequence)

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing is done to a message that is not on the screen."""
        if action == "inbox":
            return self._desk.counts is not None
        return not (self._desk.is_open and action in _OF_THE_THREAD)

    def action_inbox(self) -> None:
        self.query_one(InboxPane).turn(to_inbox=not self._desk.is_open)

    def action_step(self, by: int) -> None:
        chats = [row.chat for row in self._client.chats()] if self._client else []
        self.query_one(InboxPane).turn(to_inbox=False)
        if self.model.open in chats:
            self._open(chats[(chats.index(self.model.open) + by) % len(chats)])
            self._touch()

    def action_page(self, by: int) -> None:
        pane = self.query_one(ThreadPane)
        pane.scroll_relative(y=by * max(1, pane.size.height - 2), animate=False)
        if by < 0 and pane.scroll_offset.y == 0:
            self._wants_older()

    def on_app_focus(self, _: events.AppFocus) -> None:
        if self._away is not None:
            self._away.cancel()
        if self._client is not None:
            self._client.appear("online")
        self._touch()

    def on_app_blur(self, _: events.AppBlur) -> None:
        self._away = asyncio.get_running_loop().call_later(_AWAY_AFTER_S, self._goes_away)

    def _goes_away(self) -> None:
        if self._client is not None:
            self._client.appear("away")

    def _begin(self, task: Task, text: str = "") -> None:
        composer = self.query_one(Composer)
        composer.begin(task, text)
        composer.focus()

    def _meant(self, *, is_own: bool) -> Message | None:
        if self._chat is None:
            return None
        chosen = self.query_one(ThreadPane).chosen
        return self.model.thread(self._chat.id).meant(chosen, self._user, is_own=is_own)

    @property
    def _linked(self) -> Client:
        assert self._client is not None  # noqa: S101 - nothing is shown before it is there
        return self._client

    @property
    def _chat(self) -> Chat | None:
        return self._client.chat(self.model.open) if self._client and self.model.open else None

    @property
    def _user(self) -> str:
        return (self._client.user or "") if self._client else ""

    @property
    def _eyes(self) -> Eyes:
        zone = datetime.now(UTC).astimezone().tzinfo or UTC
        return Eyes(self._user, int(time.time() * 1000), zone)


def run(where: Address) -> str | None:
    """Until it is quit; what stopped it, if something did."""
    return ChatApp(lambda: Client(where.url, where.token, store=MemoryStore())).run()

"""The open chat: title, transcript and composer. Loads history, marks the chat as read, and sends."""

import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Final, override

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static

from tidings_sdk import Chat, Client, ReportReason, SearchResult, TidingsError
from tidings_terminal import formatting
from tidings_terminal.dialogs import DeleteScreen
from tidings_terminal.key_bindings import REPORT_REASONS, command_of, is_command
from tidings_terminal.model import ComposeMode, ComposeTask, ScreenModel, partner
from tidings_terminal.rendering import ViewContext, content_of, name_of, transcript_lines
from tidings_terminal.search_screen import SearchScreen
from tidings_terminal.transcript import MAX_LINES, TranscriptMessage
from tidings_terminal.widgets import Composer, ThreadPane

_PAGE: Final = 50


class ChatView(Vertical):
    """The open chat. `client` returns None before the start, `run` starts a coroutine, `changed` requests a redraw."""

    def __init__(
        self,
        model: ScreenModel,
        client: Callable[[], Client | None],
        run: Callable[[Coroutine[None, None, None]], None],
        changed: Callable[[], None],
        *,
        id: str,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self.model = model
        self._client, self._run, self._changed = client, run, changed
        self._is_loading = False
        self._reading = 0
        self._shown_texts: dict[str, str] = {}

    @override
    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield ThreadPane(id="thread")
        yield Static(id="typing", markup=False)
        yield Composer(id="words")

    def show(self, *, from_end: bool = False) -> None:
        chat, client = self._chat, self._client()
        if chat is None or client is None:
            self._update_line("#head", "no chats yet")
            return
        context, row = ViewContext.now(client), chat.row
        other = partner(row) if row else None
        about = (
            formatting.presence_text(client.presence(other), context.now_ms, context.zone)
            if other
            else ", ".join(chat.members)
        )
        title = self.model.title(row, context.user) if row else chat.id
        self._update_line("#head", f"{title}   {about}" if about else title)
        self._update_line("#typing", formatting.typing_text(chat.typing_users))
        lines = transcript_lines(self.model.thread(chat.id), context, chat.status)
        self.query_one(ThreadPane).show(list(lines), from_end=from_end)
        self.see()

    def _update_line(self, where: str, text: str) -> None:
        """Update a line if its text has changed."""
        if self._shown_texts.get(where) != text:
            self._shown_texts[where] = text
            self.query_one(where, Static).update(text)

    def open(self, chat: str) -> None:
        """Show another chat. Only the chat on the screen is watched; the others need only their rows."""
        if (before := self._chat) is not None:
            before.unwatch()
            self._change_draft(before.id, chat)
        self.model.open = chat
        self._reading = 0
        if (now := self._chat) is not None:
            now.watch()
            self._run(self._show_restriction(now))
        if not self.model.thread(chat).is_loaded:
            self._load()
        self.show(from_end=True)

    async def _show_restriction(self, chat: Chat) -> None:
        """Show what keeps the user from sending in the chat that was opened. Without REST it is not known."""
        client = self._client()
        try:
            found = None if client is None else await client.moderation.restrictions(chat.id)
        except (TidingsError, ValueError):
            return
        text = None if found is None else formatting.restriction_text(found, datetime.now(UTC))
        if text is not None and chat.id == self.model.open:
            self.model.show_status(text, time.monotonic())
            self._changed()

    def _change_draft(self, before: str, chat: str) -> None:
        """Keep the draft of a chat until the user opens the chat again."""
        composer = self.query_one(Composer)
        self.model.drafts[before] = composer.draft
        composer.begin(*self.model.drafts.pop(chat, (ComposeTask(), "")))

    def _load(self) -> None:
        if not self._is_loading and (chat := self._chat) is not None:
            self._is_loading = True
            self._run(self._older(chat))

    async def _older(self, chat: Chat) -> None:
        thread = self.model.thread(chat.id)
        was_loaded = thread.is_loaded
        try:
            thread.page(await chat.history(before=thread.oldest if was_loaded else None, limit=_PAGE))
        except TidingsError as error:
            self.model.show_status(f"cannot load older messages: {error}", time.monotonic())
        finally:
            self._is_loading = False
        if chat.id == self.model.open:
            self.show(from_end=not was_loaded)
        elif self.model.open and not self.model.thread(self.model.open).is_loaded:
            self._load()

    def see(self) -> None:
        """Mark the chat as read while its end is on the screen and the terminal has the focus."""
        chat = self._chat
        is_visible = self.app.app_focus and not self.screen.has_class("-desk")
        if chat is None or chat.row is None or not (is_visible and self.query_one(ThreadPane).is_at_end):
            return
        newest = self.model.thread(chat.id).newest
        if chat.row.unread and newest > max(chat.row.read, self._reading):
            self._reading = newest
            self._run(self._read(chat, newest))

    async def _read(self, chat: Chat, sequence: int) -> None:
        try:
            await chat.read(sequence)
        except TidingsError:
            self._reading = 0
        self._changed()

    def page(self, by: int) -> None:
        pane = self.query_one(ThreadPane)
        pane.scroll_relative(y=by * max(1, pane.size.height - 2), animate=False)
        if by < 0 and pane.scroll_offset.y == 0:
            self._wants_older()

    @on(ThreadPane.WantsOlder)
    def _wants_older(self) -> None:
        if self.model.open and self.model.thread(self.model.open).has_older:
            self._load()

    @on(ThreadPane.ReachedEnd)
    def _reached_end(self) -> None:
        self.see()

    @on(OptionList.OptionSelected, "#thread")
    def to_composer(self) -> None:
        self.query_one(Composer).focus()

    @on(Input.Changed, "#words")
    def _types(self, event: Input.Changed) -> None:
        if (chat := self._chat) is not None and self.query_one(Composer).task_now.is_sending:
            chat.typing(is_typing=bool(event.value) and not is_command(event.value))

    @on(Input.Submitted, "#words")
    def _enter(self, event: Input.Submitted) -> None:
        composer, text = self.query_one(Composer), event.value.strip()
        task, chat = composer.task_now, self._chat
        if task.is_sending and is_command(text):
            self._command(text)
            return
        if chat is None or (not text and task.mode is not ComposeMode.REACT):
            return
        try:
            self._do(chat, task, text)
        except (TidingsError, ValueError) as error:
            self.model.show_status(f"failed: {error}", time.monotonic())
        composer.end()
        self.show(from_end=task.is_sending)
        self._changed()

    def _command(self, text: str) -> None:
        """Run the command. One that does not exist stays on the line to be corrected."""
        name, _, words = text.partition(" ")
        if name == "/search":
            self.query_one(Composer).end()
            self.search(words)
            return
        if (command := command_of(text)) is not None:
            self.query_one(Composer).end()
            self._run(self._act(command.action))
            return
        self.model.show_status(
            f"Unknown command {formatting.short(name, 20)}; /help lists them", time.monotonic()
        )
        self._changed()

    async def _act(self, action: str) -> None:
        await self.app.run_action(action)

    def _do(self, chat: Chat, task: ComposeTask, text: str) -> None:
        match task.mode:
            case ComposeMode.SEND:
                self._send(chat, text, None)
            case ComposeMode.REPLY:
                self._send(chat, text, task.sequence)
            case ComposeMode.EDIT:
                self._edit(chat, task.sequence, text)
            case ComposeMode.REACT:
                _ = chat.react(task.sequence, text or "👍")

    def _send(self, chat: Chat, text: str, reply_to: int | None) -> None:
        thread, text = self.model.thread(chat.id), text.removeprefix("/")
        thread.dismiss()
        thread.waits(chat.send(text, reply_to=reply_to).client_message_id, text, reply_to)

    def _edit(self, chat: Chat, sequence: int, text: str) -> None:
        """Edit a message. An edit replaces the whole content, so the unchanged parts are sent again."""
        message = self.model.thread(chat.id).at(sequence)
        if message is not None:
            _ = chat.edit(
                sequence, text, data=message.data, reply_to=message.reply_to, mentions=message.mentions
            )

    def edit(self) -> None:
        """Edit a message of the user's own, unless they are writing another one."""
        composer, message = self.query_one(Composer), self._selected(is_own=True)
        if message is not None and not (composer.has_focus and composer.value):
            self._begin(ComposeMode.EDIT, message, message.text)

    def react(self) -> None:
        message = self._selected(is_own=False)
        if message is not None:
            self._begin(ComposeMode.REACT, message)

    def reply(self) -> None:
        message = self._selected(is_own=False)
        if message is not None:
            _, text = self.query_one(Composer).draft
            self._begin(ComposeMode.REPLY, message, text)

    def redact(self) -> None:
        message, chat = self._selected(is_own=True), self._chat
        if message is None or chat is None:
            return

        def delete(answer: bool | None) -> None:  # noqa: FBT001 - as Textual calls it
            if answer:
                _ = chat.redact(message.sequence)

        _ = self.app.push_screen(DeleteScreen(message), delete)

    def report(self, reason: str) -> None:
        """Report a message of another user to the moderators."""
        message, chat = self._selected(is_own=False), self._chat
        if message is not None and chat is not None:
            self._run(self._report(chat, message, reason))

    async def _report(self, chat: Chat, message: TranscriptMessage, reason: str) -> None:
        client = self._client()
        if client is None:
            return
        if message.by == client.user:
            text = "you cannot report your own message"
        else:
            text = await _reported(client, chat, message.sequence, reason)
        self.model.show_status(text, time.monotonic())

    def search(self, words: str) -> None:
        """Show the messages with these words. The one that the user chooses is shown in its chat."""
        client = self._client()
        if client is None:
            return

        def chosen(result: SearchResult | None) -> None:
            if result is not None:
                self._run(self._show_message(result.chat, result.message.sequence))

        context = ViewContext.now(client)
        titles = {row.chat: self.model.title(row, context.user) for row in client.chats()}
        _ = self.app.push_screen(SearchScreen(client, titles, context, words), chosen)

    async def _show_message(self, chat: str, sequence: int) -> None:
        """Open a chat at a message. Loads older messages until it is among them, up to the limit of a transcript."""
        if self.model.open != chat:
            self.open(chat)
        thread, client = self.model.thread(chat), self._client()
        loaded = len(thread.messages)
        while client is not None and thread.at(sequence) is None and loaded < MAX_LINES:
            try:
                page = await client.chat(chat).history(
                    before=thread.oldest if thread.is_loaded else None, limit=_PAGE
                )
            except TidingsError as error:
                self.model.show_status(f"cannot load older messages: {error}", time.monotonic())
                return
            thread.page(page)
            loaded += _PAGE
            if not page.has_older:
                break
        if self.model.open != chat or client is None:
            return
        lines = transcript_lines(thread, ViewContext.now(client), client.chat(chat).status)
        if not self.query_one(ThreadPane).choose(list(lines), sequence):
            self.model.show_status("The message is too old to be shown here.", time.monotonic())
        self._changed()

    def _begin(self, mode: ComposeMode, message: TranscriptMessage, text: str = "") -> None:
        client, composer = self._client(), self.query_one(Composer)
        if client is not None:
            by = name_of(message.by, ViewContext.now(client))
            composer.begin(
                ComposeTask(mode, message.sequence, formatting.about(mode, by, content_of(message))), text
            )
            composer.focus()

    def _selected(self, *, is_own: bool) -> TranscriptMessage | None:
        client, chat = self._client(), self._chat
        if client is None or chat is None:
            return None
        chosen = self.query_one(ThreadPane).chosen
        return self.model.thread(chat.id).selected(chosen, client.user or "", is_own=is_own)

    @property
    def _chat(self) -> Chat | None:
        client = self._client()
        return client.chat(self.model.open) if client and self.model.open else None


async def _reported(client: Client, chat: Chat, sequence: int, reason: str) -> str:
    """Report a message and return what the status shows."""
    other: ReportReason = "other"
    known = next((each for each in REPORT_REASONS if each == reason), other)
    try:
        await client.moderation.report_message(chat.id, sequence, known)
    except (TidingsError, ValueError) as error:
        return f"failed: {error}"
    return f"reported as {known}: the moderators will look at it"

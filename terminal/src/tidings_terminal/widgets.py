"""The widgets of the chats: list, transcript, composer. They show the model and make no decisions."""

from collections.abc import Sequence
from typing import ClassVar, Final, override

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from tidings_terminal.model import ChatListLine, ComposeMode, ComposeTask
from tidings_terminal.rendering import RenderedLine, chat_row

MAX_TEXT_CHARS: Final = 4_096
_NEAR_TOP: Final = 2


class ChatPane(OptionList):
    """The chat list, with two lines for each chat."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)
        self._shown: list[ChatListLine] = []
        self._shown_width = 0

    def show(self, lines: Sequence[ChatListLine], chosen: str | None) -> None:
        width = self.scrollable_content_region.width - 1
        if list(lines) != self._shown or width != self._shown_width:
            self._shown, self._shown_width = list(lines), width
            self.set_options([Option(chat_row(line, width), id=line.chat) for line in lines])
        index = next((n for n, line in enumerate(lines) if line.chat == chosen), None)
        if index is not None and self.highlighted != index:
            # Race: Textual queues an event for this move. If the user presses Ctrl-N before it is handled, it would
            # undo the Ctrl-N. So this move sends no event.
            with self.prevent(OptionList.OptionHighlighted):
                self.highlighted = index


class ThreadPane(OptionList):
    """The transcript of a chat. Follows new messages while scrolled to the end; loads older ones at the top."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "app.reply", "Reply", tooltip="Reply to the chosen message"),
        Binding("r", "app.react", "React", tooltip="React to the chosen message"),
        Binding("e", "app.edit", "Edit", tooltip="Edit the chosen message, if it is yours"),
        Binding("t", "app.redact", "Delete", tooltip="Delete the chosen message, if it is yours"),
    ]

    class WantsOlder(Message):
        pass

    class ReachedEnd(Message):
        pass

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)
        self._shown: list[RenderedLine] = []
        self._follows = True
        self._is_jumping = False

    @property
    def is_at_end(self) -> bool:
        return self.scroll_offset.y >= self.max_scroll_y - 1

    @property
    def chosen(self) -> int | None:
        """The sequence of the message under the cursor, while this widget has the focus."""
        if not self.has_focus or self.highlighted is None:
            return None
        return self._shown[self.highlighted].sequence

    def show(self, lines: Sequence[RenderedLine], *, from_end: bool = False) -> None:
        below = self.max_scroll_y - self.scroll_offset.y
        self._follows = was_at_end = from_end or (self.is_at_end and not self._is_jumping)
        old, self._shown = self._shown, list(lines)
        if [line.id for line in lines[: len(old)]] == [line.id for line in old]:
            self._follow(old)
        else:
            self._rebuild(old)
        if was_at_end:
            self.call_after_refresh(self._scroll_to_end)
        elif len(lines) != len(old):
            self.call_after_refresh(self._keep_scroll_position, below)

    def choose(self, lines: Sequence[RenderedLine], sequence: int) -> bool:
        """Show the lines with the cursor on a message, and focus it. Return whether the message is among them."""
        index = next((n for n, line in enumerate(lines) if line.sequence == sequence), None)
        if index is None:
            return False
        # Until the list has scrolled to the message, other updates must not scroll it to the end.
        self._is_jumping = True
        self.show(lines)
        self.highlighted = index
        self.focus()
        self.call_after_refresh(self._end_jump)
        return True

    def _end_jump(self) -> None:
        self.scroll_to_highlight()
        self._is_jumping = False

    def _follow(self, old: list[RenderedLine]) -> None:
        for index, (before, now) in enumerate(zip(old, self._shown, strict=False)):
            if before.content != now.content:
                self.replace_option_prompt_at_index(index, now.content)
        self.add_options([_option(line) for line in self._shown[len(old) :]])

    def _rebuild(self, old: list[RenderedLine]) -> None:
        highlighted_id = old[self.highlighted].id if self.highlighted is not None and old else None
        self.set_options([_option(line) for line in self._shown])
        self.highlighted = next((n for n, line in enumerate(self._shown) if line.id == highlighted_id), None)

    def _scroll_to_end(self) -> None:
        # Race: the user chooses a message between an update and the refresh after it. `immediate`, because the
        # scroll would otherwise wait for one more refresh, and take place after the jump to that message.
        if self._follows:
            self.scroll_end(animate=False, immediate=True)

    def _keep_scroll_position(self, below: int) -> None:
        """Keep the visible messages in place after older ones were added above."""
        self.scroll_to(y=self.max_scroll_y - below, animate=False)

    @override
    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value and new_value <= _NEAR_TOP:
            self.post_message(self.WantsOlder())
        if self.is_at_end:
            self.post_message(self.ReachedEnd())

    def on_resize(self, _: events.Resize) -> None:
        """Stay at the end after a resize, which wraps the lines again."""
        if self._follows:
            self.call_after_refresh(self._scroll_to_end)

    def on_focus(self, _: events.Focus) -> None:
        last = next((n for n in reversed(range(len(self._shown))) if self._shown[n].sequence), None)
        if self.highlighted is None and last is not None:
            self.highlighted = last

    def on_blur(self, _: events.Blur) -> None:
        self.highlighted = None


def _option(line: RenderedLine) -> Option:
    return Option(line.content, id=line.id, disabled=line.sequence is None)


class Composer(Input):
    """The input line. It keeps the draft of a message while the user edits or reacts."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "app.edit", "Edit last", show=False, tooltip="Edit your last message"),
    ]

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, max_length=MAX_TEXT_CHARS, select_on_focus=False)
        self.task_now = ComposeTask()
        self._draft = (ComposeTask(), "")
        self.begin(ComposeTask())

    @property
    def draft(self) -> tuple[ComposeTask, str]:
        """The draft of a message, which an edit or a reaction may cover."""
        return (self.task_now, self.value) if self.task_now.is_sending else self._draft

    def begin(self, task: ComposeTask, text: str = "") -> None:
        self._draft = self.draft
        self.task_now, self.value = task, text
        self.cursor_position = len(text)
        self.placeholder = {
            ComposeMode.SEND: "Type a message",
            ComposeMode.REPLY: "Type a reply",
            ComposeMode.EDIT: "Type the new text",
            ComposeMode.REACT: "Type an emoji, or Enter for 👍",
        }[task.mode]
        self.border_title = Content(task.about)
        self.border_subtitle = "" if task.mode is ComposeMode.SEND else "Esc Cancel"
        self.set_class(task.mode is not ComposeMode.SEND, "-changing")

    def end(self) -> None:
        """Finish the current task, and show the draft again if there is one."""
        self.begin(*((ComposeTask(), "") if self.task_now.is_sending else self._draft))

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and (self.value or self.task_now.mode is not ComposeMode.SEND):
            event.stop()
            if self.task_now.mode is ComposeMode.REPLY:
                self.begin(ComposeTask(), self.value)
            else:
                self.end()

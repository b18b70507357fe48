"""Modal dialogs: the help, and the confirmation before a message is deleted."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, override

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from tidings_terminal import formatting
from tidings_terminal.key_bindings import COMMANDS, key_names
from tidings_terminal.transcript import TranscriptMessage

_QUOTED_CHARS: Final = 200
_FIRST_COLUMN: Final = 9


class HelpScreen(ModalScreen[None]):
    """The help: commands, and keys with their descriptions. `sections`: bindings by heading."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q,f1", "dismiss", "Close")]

    def __init__(self, sections: Sequence[tuple[str, Iterable[BindingType]]]) -> None:
        super().__init__()
        self._sections = sections

    @override
    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog"):
            yield Static(self._table())

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(min_width=_FIRST_COLUMN)
        table.add_column(ratio=1)
        table.add_row(Text("Commands", "bold"), "")
        for command in COMMANDS:
            table.add_row(f"/{command.name}", command.does)
        table.add_row("//…", "Send a message that begins with /")
        for heading, bindings in self._sections:
            table.add_row("", "")
            table.add_row(Text("Keys", "bold"), Text(heading, "bold"))
            for binding in bindings:
                if isinstance(binding, Binding):
                    table.add_row(key_names(binding), binding.tooltip or binding.description)
        table.add_row("", "")
        table.add_row("Esc", "Close this help")
        return table


class DeleteScreen(ModalScreen[bool]):
    """Ask for confirmation before a message is deleted. Deleting cannot be undone."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "answer(True)", "Delete"),
        Binding("escape,n", "answer(False)", "Keep"),
    ]

    def __init__(self, message: TranscriptMessage) -> None:
        super().__init__()
        self._message = message

    @override
    def compose(self) -> ComposeResult:
        quoted = formatting.short(self._message.text, _QUOTED_CHARS) or "(data)"
        with Vertical(classes="dialog -question"):
            yield Static("Delete this message for everyone?", markup=False, classes="-title")
            yield Static(f"“{quoted}”", markup=False)
            yield Static("Enter  Delete     Esc  Keep", markup=False)

    def action_answer(self, is_confirmed: bool) -> None:  # noqa: FBT001 - an action's arguments have no names
        _ = self.dismiss(is_confirmed)

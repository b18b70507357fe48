"""The names of keys, the commands, and the footer that shows the keys."""

from dataclasses import dataclass, replace
from typing import Final, override

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from tidings_sdk import ReportReason

_NAMES: Final = {
    "up": "↑",
    "enter": "Enter",
    "escape": "Esc",
    "pageup": "Page up",
    "pagedown": "Page down",
    "f1": "F1",
}
_KEPT: Final = ("help", "quit")
"""Actions whose keys stay in the footer of the narrowest terminal."""

_KEY_PADDING: Final = 2


@dataclass(frozen=True, slots=True)
class Command:
    """A line `/name` in the composer, and the app's action that it runs."""

    name: str
    action: str
    does: str


COMMANDS: Final = (
    Command("help", "help", "List the commands and keys"),
    Command("reply", "reply", "Reply to the last message"),
    Command("react", "react", "React to the last message"),
    Command("edit", "edit", "Edit your last message"),
    Command("delete", "redact", "Delete your last message for everyone"),
    Command("report", "report('other')", "Report the last message, for example /report spam"),
    Command("next", "step(1)", "Open the next chat"),
    Command("search", "search", "Search your messages: /search lunch fri*"),
    Command("inbox", "inbox", "Open or close the inbox"),
    Command("quit", "quit", "Quit"),
)


def is_command(text: str) -> bool:
    """Return whether a text is a command. `//` starts a message that begins with `/`."""
    return text.startswith("/") and not text.startswith("//")


REPORT_REASONS: Final[tuple[ReportReason, ...]] = ("spam", "abuse", "violence", "sexual", "illegal", "other")


def command_of(text: str) -> Command | None:
    """Return the command of a line. `/report` may have a reason."""
    name, _, reason = text.removeprefix("/").partition(" ")
    found = next((each for each in COMMANDS if name == each.name), None)
    if found is None or not reason:
        return found
    is_report = found.name == "report" and reason in REPORT_REASONS
    return replace(found, action=f"report('{reason}')") if is_report else None


def key_names(binding: Binding) -> str:
    return ", ".join(_name(key) for key in binding.key.split(","))


def _name(key: str) -> str:
    return f"Ctrl-{key[-1].upper()}" if key.startswith("ctrl+") else _NAMES.get(key, key)


class KeyBar(Footer):
    """A footer that shows as many keys as fit, and truncates none."""

    @override
    def compose(self) -> ComposeResult:
        found = list[Widget](super().compose())
        free_width, fitting = self.app.size.width, set[Widget]()
        for key in sorted(found, key=_rank):
            width = _width(key)
            if width <= free_width:
                free_width -= width
                fitting.add(key)
        yield from (key for key in sorted(found, key=_place) if key in fitting)

    def on_resize(self, _: events.Resize) -> None:
        self.refresh(recompose=True)


def _width(key: Widget) -> int:
    assert isinstance(key, FooterKey)  # noqa: S101 - no bindings are grouped, so the footer has nothing else
    return cell_len(key.key_display) + _KEY_PADDING + cell_len(key.description) + 1


def _rank(key: Widget) -> int:
    action = key.action if isinstance(key, FooterKey) else ""
    return _KEPT.index(action) if action in _KEPT else len(_KEPT)


def _place(key: Widget) -> int:
    """Sort Help to the left and Quit to the right."""
    action = key.action if isinstance(key, FooterKey) else ""
    return {"help": -1, "quit": 1}.get(action, 0)

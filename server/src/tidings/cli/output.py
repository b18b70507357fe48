"""Print to the terminal safely: stored text cannot move the cursor, draw links or break a table.

A display name can contain anything. Escape sequences, characters that change the direction of text, and rich's markup
are printed as text. A test checks that no other file of this folder prints directly.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, override

import click
import msgspec
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tidings.schema.plan import PlanLine, Severity
from tidings.schema.reconcile import ProgressEvent

if TYPE_CHECKING:
    from rich.progress import TaskID

_ALLOWED_CONTROLS = frozenset("\n\u200d\u200c")
"""Line feeds, and the joiners of emoji and of scripts that need them."""
_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co"})
"""Unicode's categories of control, format, surrogate and private characters."""

_WIDE_CHARS = 500


def clean(text: str) -> str:
    """Drop the characters that a terminal would obey instead of showing them."""
    text = text.replace("\t", "    ")
    return "".join(c for c in text if c in _ALLOWED_CONTROLS or unicodedata.category(c) not in _DROPPED)


def one_line(text: str) -> str:
    return clean(text.replace("\n", " "))


def echo(text: str, *, err: bool = False, nl: bool = True, fg: str | None = None, dim: bool = False) -> None:
    click.secho(clean(text), err=err, nl=nl, fg=fg, dim=dim or None)


def echo_json(value: object) -> None:
    """Print for programs: nothing is dropped, everything outside of ASCII is escaped."""
    click.echo(json.dumps(msgspec.to_builtins(value), separators=(",", ":")))


class SafeTable(Table):
    """A table without lines whose cells are text, never markup."""

    def __init__(self, *headers: str) -> None:
        super().__init__(*headers, show_header=bool(headers), box=None, pad_edge=False)

    @override
    def add_row(self, *cells: str, style: str | None = None, **_: Any) -> None:  # type: ignore[override]
        super().add_row(*(Text(one_line(cell)) for cell in cells), style=style)


class SafeConsole(Console):
    """Print text, tables and progress; stored text is never markup."""

    def __init__(self, *, soft_wrap: bool = False, stderr: bool = False) -> None:
        super().__init__(soft_wrap=soft_wrap, stderr=stderr, markup=False, emoji=False, highlight=False)

    @override
    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*map(_safe, objects), **options)


def show_wide(table: SafeTable) -> None:
    """Print a table in its full width: an id that is cut or wrapped cannot be copied."""
    console = SafeConsole(soft_wrap=True)
    console.width = max(console.width, _WIDE_CHARS)
    console.print(table)


def _safe(printed: object) -> object:
    """Clean a text. If characters are dropped, its styles are too, because their positions would be wrong."""
    text = Text(printed) if isinstance(printed, str) else printed
    if isinstance(text, Text) and clean(text.plain) != text.plain:
        return Text(clean(text.plain))
    return text


_STYLES = {
    Severity.GOOD: "green",
    Severity.CHANGE: "yellow",
    Severity.BAD: "bold red",
    Severity.QUIET: "dim",
    Severity.PLAIN: "",
}


def show_plan(lines: Iterable[PlanLine]) -> None:
    console = SafeConsole(soft_wrap=True)
    for line in lines:
        console.print(Text(line.text, style=_STYLES[line.tone]))


@contextmanager
def show_progress() -> Iterator[Callable[[ProgressEvent], None]]:
    """Yield a function that prints a line for each step."""
    columns = (SpinnerColumn(), TextColumn("{task.fields[name]}"), TextColumn("{task.description}"))
    with Progress(*columns, TimeElapsedColumn(), console=SafeConsole()) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(step: ProgressEvent) -> None:
            if step.name not in tasks:
                tasks[step.name] = bars.add_task(step.action, name=step.name, total=1)
            bars.update(tasks[step.name], description=step.action, completed=step.action == "done")

        yield tell


_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_FORM = re.compile(r"(\d{1,9})([smhd])")


class Duration(click.ParamType[int]):
    """A duration, in seconds."""

    name = "duration"

    @override
    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        form = _FORM.fullmatch(str(value))
        if form is None:
            self.fail(f"{value!r} is not a duration like 90s, 15m, 12h or 7d", param, ctx)
        return int(form[1]) * _UNITS_S[form[2]]


DURATION = Duration()


def show_fields(fields: Mapping[str, object], *, as_json: bool) -> None:
    """Show the fields of one thing: a table, or one JSON value."""
    if as_json:
        echo_json(fields)
        return
    table = SafeTable()
    for name, value in fields.items():
        table.add_row(name.replace("_", " "), "-" if value is None else str(value))
    SafeConsole().print(table)

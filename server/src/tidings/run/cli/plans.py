"""How `tidings tables` and `tidings topics` show a plan and the making of it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from tidings.kernel.reconcile import PlanLine, ProgressEvent, Severity
from tidings.run.cli.output import SafeConsole

if TYPE_CHECKING:
    from rich.progress import TaskID

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
    """A line for each thing that is made; call what it gives with every step."""
    columns = (SpinnerColumn(), TextColumn("{task.fields[name]}"), TextColumn("{task.description}"))
    with Progress(*columns, TimeElapsedColumn(), console=SafeConsole()) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(step: ProgressEvent) -> None:
            if step.name not in tasks:
                tasks[step.name] = bars.add_task(step.action, name=step.name, total=1)
            bars.update(tasks[step.name], description=step.action, completed=step.action == "done")

        yield tell

"""`tidings tables plan | apply | check | doc`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from tidings.kernel.errors import Code, TidingsError
from tidings.run.settings.load import load
from tidings.run.tables import look, plan_of, plane_of
from tidings.tables import diff, page, report
from tidings.tables.apply import Pace, Step, apply
from tidings.tables.control import ControlPlane
from tidings.tables.declaration import TABLES

if TYPE_CHECKING:
    from rich.progress import TaskID

STYLES = {
    report.Tone.GOOD: "green",
    report.Tone.CHANGE: "yellow",
    report.Tone.BAD: "bold red",
    report.Tone.QUIET: "dim",
    report.Tone.PLAIN: "",
}


@click.group(name="tables")
def group() -> None:
    """The DynamoDB tables: plan, apply, check."""


@group.command(name="plan")
def plan_() -> None:
    """Show what `apply` would do to each table, and what it costs. Changes nothing."""
    settings = load().settings.dynamo
    _print(report.lines(look(settings)))


@group.command(name="apply")
@click.option("--timeout-s", default=1800.0, show_default=True, help="How long one table may take.")
def apply_(timeout_s: float) -> None:
    """Make the tables as declared. Safe to repeat; refuses to destroy anything."""
    settings = load().settings.dynamo
    plane = plane_of(settings)
    plan = plan_of(plane, settings)
    _apply(plane, plan, timeout_s)
    todo = sum(entry.verdict in (diff.Verdict.CREATE, diff.Verdict.CHANGE) for entry in plan.tables)
    _print([report.Line(f"ok: {todo} of {len(TABLES)} tables created or changed"), *_left_out(plan)])


@group.command()
def check() -> None:
    """Compare the tables with the declaration; fails with the list of what differs."""
    settings = load().settings.dynamo
    plan = look(settings)
    _print(_left_out(plan))
    if plan.drift:
        raise TidingsError(
            Code.TABLES_DRIFT,
            "\n".join(["The tables are not as declared:", *(f"  - {line}" for line in plan.drift)]),
            hint="`tidings tables plan` shows what `tidings tables apply` would do about it.",
            details={"drift": list(plan.drift)},
        )
    click.echo(f"ok: {len(TABLES)} tables as declared")


@group.command()
@click.argument("name", type=click.Choice(sorted(page.PAGES)))
def doc(name: str) -> None:
    """Print a reference page in Markdown: `tables` or `access-patterns`."""
    click.echo(page.PAGES[name](), nl=False)


def _apply(plane: ControlPlane, plan: diff.Plan, timeout_s: float) -> None:
    columns = (SpinnerColumn(), TextColumn("{task.fields[table]}"), TextColumn("{task.description}"))
    with Progress(*columns, TimeElapsedColumn(), console=Console()) as progress:
        tasks: dict[str, TaskID] = {}

        def tell(step: Step) -> None:
            if step.table not in tasks:
                tasks[step.table] = progress.add_task(step.doing, table=step.table, total=1)
            progress.update(tasks[step.table], description=step.doing, completed=step.doing == "done")

        apply(plane, plan, tell, Pace(timeout_s=timeout_s))


def _left_out(plan: diff.Plan) -> Iterable[report.Line]:
    return report.not_known(plan.not_known)


def _print(lines: Iterable[report.Line]) -> None:
    console = Console(soft_wrap=True)
    for line in lines:
        console.print(Text(line.text, style=STYLES[line.tone]))

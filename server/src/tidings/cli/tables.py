"""`tidings tables plan | apply | check`."""

from collections.abc import Iterable
from dataclasses import replace

import click

from tidings.app.settings.loader import load
from tidings.app.wiring.tables import load_tables_plan, tables_control_plane, tables_plan
from tidings.cli.output import echo, show_plan, show_progress
from tidings.kernel.errors import Code, TidingsError
from tidings.schema.reconcile import ChangeKind, PlanLine
from tidings.schema.tables import apply, diff
from tidings.schema.tables.apply import PACE, apply_tables
from tidings.schema.tables.control_plane import TableControlPlane
from tidings.schema.tables.declaration import TABLES


@click.group(name="tables")
def group() -> None:
    """The DynamoDB tables: plan, apply, check."""


@group.command(name="plan")
def plan_() -> None:
    """Show what `apply_tables` would do to each table, and what it costs. Changes nothing."""
    settings = load().settings.dynamo
    show_plan(apply.plan_lines(load_tables_plan(settings)))


@group.command(name="apply")
@click.option("--timeout-s", default=1800.0, show_default=True, help="How long one table may take.")
def apply_(timeout_s: float) -> None:
    """Make the tables as declared. Safe to repeat; refuses to destroy anything."""
    settings = load().settings.dynamo
    plane = tables_control_plane(settings)
    plan = tables_plan(plane, settings)
    _apply(plane, plan, timeout_s)
    todo = sum(entry.verdict in (ChangeKind.CREATE, ChangeKind.CHANGE) for entry in plan.tables)
    show_plan([PlanLine(f"ok: {todo} of {len(TABLES)} tables created or changed"), *_left_out(plan)])


@group.command()
def check() -> None:
    """Compare the tables with the declaration; fails with the list of what differs."""
    settings = load().settings.dynamo
    plan = load_tables_plan(settings)
    show_plan(_left_out(plan))
    if plan.drift:
        raise TidingsError(
            Code.TABLES_DRIFT,
            "\n".join(["The tables are not as declared:", *(f"  - {line}" for line in plan.drift)]),
            hint="`tidings tables plan` shows what `tidings tables apply` would do about it.",
            details={"drift": list(plan.drift)},
        )
    echo(f"ok: {len(TABLES)} tables as declared")


def _apply(plane: TableControlPlane, plan: diff.TablesPlan, timeout_s: float) -> None:
    with show_progress() as tell:
        apply_tables(plane, plan, tell, replace(PACE, timeout_s=timeout_s))


def _left_out(plan: diff.TablesPlan) -> Iterable[PlanLine]:
    return apply.unsupported_text(plan.not_known)

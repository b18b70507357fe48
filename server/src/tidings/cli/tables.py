"""`tidings tables plan | apply | check`."""

from dataclasses import replace

import click

from tidings.app.settings.loader import load
from tidings.app.wiring.tables import load_tables_plan, tables_control_plane, tables_plan
from tidings.cli.output import echo, show_plan, show_progress
from tidings.schema.plan import PlanLine
from tidings.schema.tables.apply import POLL_POLICY, apply_tables, plan_lines, unsupported_text
from tidings.schema.tables.declaration import TABLES


@click.group(name="tables")
def group() -> None:
    """Plan, apply and check the DynamoDB tables."""


@group.command(name="plan")
def plan_() -> None:
    """Show what `apply` would do to each table, and what it costs. Changes nothing."""
    settings = load().settings.dynamo
    show_plan(plan_lines(load_tables_plan(settings)))


@group.command(name="apply")
@click.option(
    "--timeout-s", default=1800.0, show_default=True, help="Maximum time for one table, in seconds."
)
def apply_(timeout_s: float) -> None:
    """Create and change the tables as declared. Safe to repeat. Never destroys data."""
    settings = load().settings.dynamo
    plane = tables_control_plane(settings)
    plan = tables_plan(plane, settings)
    with show_progress() as on_progress:
        apply_tables(plane, plan, on_progress, replace(POLL_POLICY, timeout_s=timeout_s))
    result = PlanLine(f"ok: {plan.todo} of {len(TABLES)} tables created or changed")
    show_plan([result, *unsupported_text(plan.not_known)])


@group.command()
def check() -> None:
    """Compare the tables with the declaration. Fails with the list of differences."""
    settings = load().settings.dynamo
    plan = load_tables_plan(settings)
    show_plan(unsupported_text(plan.not_known))
    plan.check()
    echo(f"ok: {len(TABLES)} tables as declared")

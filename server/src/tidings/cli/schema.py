"""`tidings tables` and `tidings topics`, each with `plan | apply | check`."""

import asyncio
from dataclasses import replace

import click

from tidings.app.settings.loader import load
from tidings.app.settings.model import DynamoSettings
from tidings.app.wiring.engine_clients import open_tables
from tidings.app.wiring.schema import (
    load_tables_plan,
    tables_control_plane,
    tables_plan,
    topics_control_plane,
    topics_plan,
)
from tidings.cli.output import echo, show_plan, show_progress
from tidings.installation.store import InstallationStore
from tidings.kernel.clock import SystemClock
from tidings.schema.plan import PlanLine
from tidings.schema.tables import apply as tables_apply
from tidings.schema.tables.declaration import TABLES
from tidings.schema.topics import control_plane as topics_apply
from tidings.schema.topics.diff import topic_plan_lines
from tidings.schema.topics.model import TOPICS

_ALLOW_REORDER = click.option(
    "--allow-reorder",
    is_flag=True,
    help="Allow more partitions, although unprocessed records can lose their order.",
)


async def _record_format(settings: DynamoSettings) -> None:
    async with open_tables(settings) as client:
        await InstallationStore(client, SystemClock()).record_format()


@click.group()
def tables() -> None:
    """Plan, apply and check the DynamoDB tables."""


@tables.command(name="plan")
def plan_tables() -> None:
    """Show what `apply` would do to each table, and what it costs. Changes nothing."""
    settings = load().settings.dynamo
    show_plan(tables_apply.plan_lines(load_tables_plan(settings)))


@tables.command(name="apply")
@click.option(
    "--timeout-s", default=1800.0, show_default=True, help="Maximum time for one table, in seconds."
)
@click.option(
    "--in-place",
    is_flag=True,
    help="On AWS, also change existing tables: those that no OpenTofu module manages, such as restored ones.",
)
def apply_tables(*, timeout_s: float, in_place: bool) -> None:
    """Create and change the tables as declared. Safe to repeat. Never destroys data.

    On AWS, the OpenTofu module infra/tofu/dynamodb changes existing tables. Afterwards, it records the format of stored
    data that this version writes; processes that cannot read it do not start.
    """
    settings = load().settings.dynamo
    plane = tables_control_plane(settings)
    plan = tables_plan(plane, settings)
    if settings.endpoint == "aws" and not in_place:
        tables_apply.refuse_changes(plan)
    policy = replace(tables_apply.POLL_POLICY, timeout_s=timeout_s)
    with show_progress() as on_progress:
        tables_apply.apply_tables(plane, plan, on_progress, policy)
    asyncio.run(_record_format(settings))
    result = PlanLine(f"ok: {plan.todo} of {len(TABLES)} tables created or changed")
    show_plan([result, *tables_apply.unsupported_text(plan.not_known)])


@tables.command(name="check")
def check_tables() -> None:
    """Compare the tables with the declaration. Fails with the list of differences."""
    plan = load_tables_plan(load().settings.dynamo)
    show_plan(tables_apply.unsupported_text(plan.not_known))
    plan.check()
    echo(f"ok: {len(TABLES)} tables as declared")


@click.group()
def topics() -> None:
    """Plan, apply and check the Kafka topics."""


@topics.command(name="plan")
@_ALLOW_REORDER
def plan_topics(*, allow_reorder: bool) -> None:
    """Show what `apply` would do to each topic. Changes nothing."""
    settings = load().settings.kafka
    plan = topics_plan(topics_control_plane(settings), settings, allow_reorder=allow_reorder)
    show_plan(topic_plan_lines(plan))


@topics.command(name="apply")
@_ALLOW_REORDER
@click.option("--timeout-s", default=120.0, show_default=True, help="Maximum time for one topic, in seconds.")
def apply_topics(*, allow_reorder: bool, timeout_s: float) -> None:
    """Create and change the topics as declared. Safe to repeat. Never destroys data."""
    settings = load().settings.kafka
    plane = topics_control_plane(settings)
    plan = topics_plan(plane, settings, allow_reorder=allow_reorder)
    policy = replace(topics_apply.POLL_POLICY, timeout_s=timeout_s)
    with show_progress() as on_progress:
        topics_apply.apply_topics(plane, plan, on_progress, policy)
    echo(f"ok: {plan.todo} of {len(TOPICS)} topics created or changed")


@topics.command(name="check")
def check_topics() -> None:
    """Compare the topics with the declaration. Fails with the list of differences."""
    settings = load().settings.kafka
    topics_plan(topics_control_plane(settings), settings).check()
    echo(f"ok: {len(TOPICS)} topics as declared")

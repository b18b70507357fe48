"""`tidings topics plan | apply | check`."""

from dataclasses import replace

import click

from tidings.app.settings.loader import load
from tidings.app.wiring.topics import topics_control_plane, topics_plan
from tidings.cli.output import echo, show_plan, show_progress
from tidings.schema.topics import diff
from tidings.schema.topics.control_plane import POLL_POLICY, apply_topics
from tidings.schema.topics.model import TOPICS

_ALLOW_REORDER = click.option(
    "--allow-reorder",
    is_flag=True,
    help="Allow more partitions, although unprocessed records can lose their order.",
)


@click.group(name="topics")
def group() -> None:
    """Plan, apply and check the Kafka topics."""


@group.command(name="plan")
@_ALLOW_REORDER
def plan_(*, allow_reorder: bool) -> None:
    """Show what `apply` would do to each topic. Changes nothing."""
    settings = load().settings.kafka
    show_plan(
        diff.topic_plan_lines(
            topics_plan(topics_control_plane(settings), settings, allow_reorder=allow_reorder)
        )
    )


@group.command(name="apply")
@_ALLOW_REORDER
@click.option("--timeout-s", default=120.0, show_default=True, help="Maximum time for one topic, in seconds.")
def apply_(*, allow_reorder: bool, timeout_s: float) -> None:
    """Create and change the topics as declared. Safe to repeat. Never destroys data."""
    settings = load().settings.kafka
    plane = topics_control_plane(settings)
    plan = topics_plan(plane, settings, allow_reorder=allow_reorder)
    with show_progress() as on_progress:
        apply_topics(plane, plan, on_progress, replace(POLL_POLICY, timeout_s=timeout_s))
    echo(f"ok: {plan.todo} of {len(TOPICS)} topics created or changed")


@group.command()
def check() -> None:
    """Compare the topics with the declaration. Fails with the list of differences."""
    settings = load().settings.kafka
    topics_plan(topics_control_plane(settings), settings).check()
    echo(f"ok: {len(TOPICS)} topics as declared")

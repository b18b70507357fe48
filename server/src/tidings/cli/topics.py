"""`tidings topics plan | apply | check`."""

from dataclasses import replace

import click

from tidings.app.settings.loader import load
from tidings.app.wiring.topics import topics_control_plane, topics_plan
from tidings.cli.output import echo, show_plan, show_progress
from tidings.kernel.errors import Code, TidingsError
from tidings.schema.reconcile import ChangeKind
from tidings.schema.topics import diff
from tidings.schema.topics.control_plane import PACE, TopicControlPlane, apply_topics
from tidings.schema.topics.model import TOPICS

_ALLOW_REORDER = click.option(
    "--allow-reorder", is_flag=True, help="More partitions, though records under way may lose their order."
)


@click.group(name="topics")
def group() -> None:
    """The Kafka topics: plan, apply, check."""


@group.command(name="plan")
@_ALLOW_REORDER
def plan_(*, allow_reorder: bool) -> None:
    """Show what `apply_topics` would do to each topic. Changes nothing."""
    settings = load().settings.kafka
    show_plan(
        diff.topic_plan_lines(
            topics_plan(topics_control_plane(settings), settings, allow_reorder=allow_reorder)
        )
    )


@group.command(name="apply")
@_ALLOW_REORDER
@click.option("--timeout-s", default=120.0, show_default=True, help="How long one topic may take.")
def apply_(*, allow_reorder: bool, timeout_s: float) -> None:
    """Make the topics as declared. Safe to repeat; refuses to destroy anything."""
    settings = load().settings.kafka
    plane = topics_control_plane(settings)
    plan = topics_plan(plane, settings, allow_reorder=allow_reorder)
    _apply(plane, plan, timeout_s)
    todo = sum(entry.verdict in (ChangeKind.CREATE, ChangeKind.CHANGE) for entry in plan.topics)
    echo(f"ok: {todo} of {len(TOPICS)} topics created or changed")


@group.command()
def check() -> None:
    """Compare the topics with the declaration; fails with the list of what differs."""
    settings = load().settings.kafka
    plan = topics_plan(topics_control_plane(settings), settings)
    if plan.drift:
        raise TidingsError(
            Code.TOPICS_DRIFT,
            "\n".join(["The topics are not as declared:", *(f"  - {line}" for line in plan.drift)]),
            hint="`tidings topics plan` shows what `tidings topics apply` would do about it.",
            details={"drift": list(plan.drift)},
        )
    echo(f"ok: {len(TOPICS)} topics as declared")


def _apply(plane: TopicControlPlane, plan: diff.TopicsPlan, timeout_s: float) -> None:
    with show_progress() as tell:
        apply_topics(plane, plan, tell, replace(PACE, timeout_s=timeout_s))

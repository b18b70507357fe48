"""`tidings topics plan | apply | check | doc`."""

from dataclasses import replace

import click

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.reconcile import Verdict
from tidings.platform.kafka.connection import Connection
from tidings.run.cli.plans import progress, show
from tidings.run.settings.load import load
from tidings.run.settings.model import KafkaSettings
from tidings.topics import diff, page, report
from tidings.topics.apply import PACE, apply
from tidings.topics.control import ControlPlane
from tidings.topics.declaration import RETIRED, TOPICS
from tidings.topics.model import Size, wanted

_ALLOW_REORDER = click.option(
    "--allow-reorder", is_flag=True, help="More partitions, though records under way may lose their order."
)


@click.group(name="topics")
def group() -> None:
    """The Kafka topics: plan, apply, check."""


@group.command(name="plan")
@_ALLOW_REORDER
def plan_(*, allow_reorder: bool) -> None:
    """Show what `apply` would do to each topic. Changes nothing."""
    settings = load().settings.kafka
    show(report.lines(_plan(_plane(settings), settings, allow_reorder=allow_reorder)))


@group.command(name="apply")
@_ALLOW_REORDER
@click.option("--timeout-s", default=120.0, show_default=True, help="How long one topic may take.")
def apply_(*, allow_reorder: bool, timeout_s: float) -> None:
    """Make the topics as declared. Safe to repeat; refuses to destroy anything."""
    settings = load().settings.kafka
    plane = _plane(settings)
    plan = _plan(plane, settings, allow_reorder=allow_reorder)
    _apply(plane, plan, timeout_s)
    todo = sum(entry.verdict in (Verdict.CREATE, Verdict.CHANGE) for entry in plan.topics)
    click.echo(f"ok: {todo} of {len(TOPICS)} topics created or changed")


@group.command()
def check() -> None:
    """Compare the topics with the declaration; fails with the list of what differs."""
    settings = load().settings.kafka
    plan = _plan(_plane(settings), settings)
    if plan.drift:
        raise TidingsError(
            Code.TOPICS_DRIFT,
            "\n".join(["The topics are not as declared:", *(f"  - {line}" for line in plan.drift)]),
            hint="`tidings topics plan` shows what `tidings topics apply` would do about it.",
            details={"drift": list(plan.drift)},
        )
    click.echo(f"ok: {len(TOPICS)} topics as declared")


@group.command()
def doc() -> None:
    """Print the reference page of the topics, in Markdown."""
    click.echo(page.page(), nl=False)


def connection(settings: KafkaSettings) -> Connection:
    if settings.bootstrap_servers is None:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "kafka.bootstrap_servers is not set, so there is nothing to look at",
            hint="Run `tidings engines start`, or set kafka.bootstrap_servers.",
        )
    return Connection(
        bootstrap_servers=settings.bootstrap_servers,
        topic_prefix=settings.topic_prefix,
        security_protocol=settings.security_protocol,
        sasl_mechanism=settings.sasl_mechanism,
        sasl_username=settings.sasl_username,
        sasl_password=settings.sasl_password,
        ca_file=settings.ca_file,
    )


def _plane(settings: KafkaSettings) -> ControlPlane:
    return ControlPlane(connection(settings))


def _plan(plane: ControlPlane, settings: KafkaSettings, *, allow_reorder: bool = False) -> diff.Plan:
    brokers, size = plane.brokers(), Size(settings.partitions)
    wants = [wanted(topic, plane.prefix, size, brokers) for topic in TOPICS]
    retired = [plane.prefix + name for name in RETIRED]
    seen = plane.observe(want.name for want in wants)
    return diff.plan(wants, seen, retired=retired, allow_reorder=allow_reorder)


def _apply(plane: ControlPlane, plan: diff.Plan, timeout_s: float) -> None:
    with progress() as tell:
        apply(plane, plan, tell, replace(PACE, timeout_s=timeout_s))

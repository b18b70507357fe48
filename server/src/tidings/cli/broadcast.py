"""`tidings broadcast send | show | ramp | halt | recall | estimate`."""

import click

from tidings.app.wiring.inboxes import InboxServices
from tidings.cli.inbox import parse_object, run_with_inboxes
from tidings.cli.output import echo
from tidings.inboxes.broadcasts.estimates import estimate_cost
from tidings.inboxes.broadcasts.model import PARTS, STALE_MS
from tidings.inboxes.broadcasts.service import ALL_AT_ONCE, BroadcastRequest, RolloutStep
from tidings.inboxes.config import check_inbox_id
from tidings.inboxes.model import EVERYONE, NotificationContent, NotificationId
from tidings.kernel.clock import format_ms, parse_ms_or_none
from tidings.kernel.ids import TenantId


@click.group(name="broadcast")
def group() -> None:
    """Broadcasts to everyone or to a segment. They are stored once, and merged into each inbox when it is read."""


@group.command()
@click.argument("tenant")
@click.argument("inbox")
@click.option("--message", required=True, help="The message, as JSON.")
@click.option("--segment", help="Send to the users of this segment.  [default: everyone]")
@click.option("--category", help="A category of the inbox.")
@click.option("--starts-at", help="Start, such as 2026-12-01T08:00:00Z.  [default: now]")
@click.option("--expires-at", help="Expiry, at most 90 days after the start.")
@click.option(
    "--step", "steps", multiple=True, help="PERCENT or PERCENT@SECONDS after the start; several make a ramp."
)
@click.option("--track-reads", is_flag=True, help="Record each reader, with one write for each.")
@click.option("--key", help="A repeat with the same key is the same broadcast.")
def send(
    tenant: str,
    inbox: str,
    *,
    message: str,
    segment: str | None,
    category: str | None,
    starts_at: str | None,
    expires_at: str | None,
    steps: tuple[str, ...],
    track_reads: bool,
    key: str | None,
) -> None:
    """Send a broadcast to everyone, or to a segment. Every reader sees it within a second."""
    wish = BroadcastRequest(
        message=parse_object(message),
        segment=segment,
        category=category,
        starts_ms=_ms(starts_at),
        expires_ms=_ms(expires_at),
        steps=tuple(_step(each) for each in steps) or ALL_AT_ONCE,
        tracks_reads=track_reads,
    )
    sent = run_with_inboxes(lambda cases: cases.broadcast.send(TenantId(tenant), inbox, wish, key))
    echo(f"notification {sent.notification}\nsequence     {sent.status.sequence or '-'}")
    for job in sent.jobs:
        echo(f"job          {job}")


@group.command()
@click.argument("tenant")
@click.argument("inbox")
@click.argument("notification")
def show(tenant: str, inbox: str, notification: str) -> None:
    """Show the state of a broadcast: its share of users, and the time of a recall."""
    _show(tenant, inbox, notification)


@group.command()
@click.argument("tenant")
@click.argument("inbox")
@click.argument("notification")
@click.argument("percent", type=click.IntRange(1, 100))
def ramp(tenant: str, inbox: str, notification: str, percent: int) -> None:
    """Show the broadcast to PERCENT of its users."""
    run_with_inboxes(
        lambda cases: cases.broadcast.ramp(TenantId(tenant), inbox, NotificationId(notification), percent)
    )
    _show(tenant, inbox, notification)


@group.command()
@click.argument("tenant")
@click.argument("inbox")
@click.argument("notification")
def halt(tenant: str, inbox: str, notification: str) -> None:
    """Stop all further steps of a ramp. Users who have the broadcast keep it."""
    run_with_inboxes(
        lambda cases: cases.broadcast.halt(TenantId(tenant), inbox, NotificationId(notification))
    )
    _show(tenant, inbox, notification)


@group.command()
@click.argument("tenant")
@click.argument("inbox")
@click.argument("notification")
def recall(tenant: str, inbox: str, notification: str) -> None:
    """Hide the broadcast from all users, and delete its content."""
    run_with_inboxes(lambda cases: cases.recall.redact(TenantId(tenant), inbox, NotificationId(notification)))
    _show(tenant, inbox, notification)


@group.command()
@click.argument("tenant")
@click.option("--segment", help="Send to the users of this segment.  [default: everyone]")
@click.option(
    "--percent", type=click.IntRange(1, 100), default=100, show_default=True, help="Share of the users."
)
def estimate(tenant: str, segment: str | None, percent: int) -> None:
    """Estimate how many users with a profile a broadcast would reach, and its cost. Writes nothing."""
    reach = run_with_inboxes(
        lambda cases: cases.broadcasts.reach.estimate(TenantId(tenant), segment)
    ).of_percent(percent)
    cost = estimate_cost(reach.users)
    echo(f"reach        {reach.users:,} ({reach.low:,} to {reach.high:,})")
    echo(f"write units  {cost.write_units}, ${cost.dollars:f}")
    echo(f"if copied    {cost.copied_write_units:,}, ${cost.copied_dollars:f}")


def _show(tenant: str, inbox: str, notification: str) -> None:
    async def found(cases: InboxServices) -> None:
        content = await cases.broadcast.find(
            TenantId(tenant), check_inbox_id(inbox), NotificationId(notification)
        )
        reached = await cases.broadcast.status(TenantId(tenant), inbox, NotificationId(notification))
        redacted_ms = reached.redacted_ms or content.redacted_ms
        echo(f"notification   {notification}\nto       {_recipients(content)}")
        echo(f"shown    {reached.parts * 100 // PARTS} %{', halted' if reached.is_halted else ''}")
        if redacted_ms is not None:
            echo(
                f"recalled {format_ms(redacted_ms)}, hidden everywhere by {format_ms(redacted_ms + STALE_MS)}"
            )

    run_with_inboxes(found)


def _recipients(content: NotificationContent) -> str:
    return "everyone" if content.reach == EVERYONE else f"segment {content.reach}"


def _ms(text: str | None) -> int | None:
    try:
        return parse_ms_or_none(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not a time like 2026-12-01T08:00:00Z") from error


def _step(text: str) -> RolloutStep:
    percent, _, after_s = text.partition("@")
    if not percent.isdecimal() or not (after_s or "0").isdecimal():
        raise click.BadParameter(f"{text!r} is not a step like 25 or 25@3600")
    return RolloutStep(int(percent), int(after_s or 0))

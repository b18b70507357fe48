"""`tidings plan`: compute what a workload needs and costs. Reads no settings and connects to nothing."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import click

from tidings.capacity.model import SCENARIOS, CapacityPlan, Workload
from tidings.capacity.planner import make_plan
from tidings.cli.output import SafeConsole, SafeTable, echo, echo_json

_SHARES = click.FloatRange(0, 1)
_AMOUNT = click.FloatRange(min=0)
_AT_LEAST_ONE = click.FloatRange(min=1)
_COUNT = click.IntRange(min=1)
_INPUTS: dict[str, tuple[str, click.ParamType[Any], str]] = {
    "--users": ("daily_users", _COUNT, "Users of a day."),
    "--messages": ("messages", _AMOUNT, "Messages that a user sends in a day."),
    "--message-bytes": ("message_bytes", _COUNT, "Size of the content of a message."),
    "--direct-share": ("direct_share", _SHARES, "Share of messages in direct chats."),
    "--group-members": ("group_members", click.IntRange(min=2), "Members of a typical group."),
    "--large-group-members": ("large_group_members", click.IntRange(min=101), "Members of a large group."),
    "--large-group-share": ("large_group_share", _SHARES, "Share of group messages in large groups."),
    "--without-position": ("without_position_share", _SHARES, "Share of sends without a position, as servers do."),
    "--per-minute": ("per_minute", _AT_LEAST_ONE, "Messages in a minute in which a chat is active."),
    "--in-a-row": ("in_a_row", _AT_LEAST_ONE, "Messages that a user sends in a chat in a row."),
    "--devices": ("devices", _AMOUNT, "Devices of a user."),
    "--connects": ("connects", _AMOUNT, "Connects of a device in a day."),
    "--connected-share": ("connected_share", _SHARES, "Share of messages whose recipient is connected."),
    "--read-share": ("read_share", _SHARES, "Of these, share that a direct chat on the screen reads at once."),
    "--group-read-share": ("group_read_share", _SHARES, "The same in groups."),
    "--chat-opens": ("chat_opens", _AMOUNT, "Chats that a user opens in a day."),
    "--list-opens": ("list_opens", _AMOUNT, "Chat lists that a user reads over REST in a day."),
    "--direct-chats": ("direct_chats", _AMOUNT, "Direct chats of a user."),
    "--groups": ("groups", _AMOUNT, "Active groups of a user."),
    "--new-chats": ("new_chats", _AMOUNT, "Direct chats that a user creates in a day."),
    "--notifications": ("notifications", _AMOUNT, "Notifications to the inbox of a user in a day."),
    "--broadcasts": ("broadcasts", _AMOUNT, "Broadcasts of the installation in a day."),
    "--attachment-share": ("attachment_share", _SHARES, "Share of messages with a file."),
    "--attachment-bytes": ("attachment_bytes", _COUNT, "Size of a file with its previews."),
    "--retention-days": ("retention_days", _COUNT, "Days until messages expire. Default: never."),
    "--months": ("months", _COUNT, "Months of messages that are stored."),
    "--peak-factor": ("peak_factor", _AT_LEAST_ONE, "Load at the peak relative to the mean of a day."),
    "--busiest-chat": ("busiest_chat_per_s", _AMOUNT, "Messages a second in the busiest chat."),
}  # fmt: skip


def _inputs[F: Callable[..., None]](command: F) -> F:
    """Add an option for each input. All scenarios have the same values, except for the users."""
    for name, (attribute, kind, text) in reversed(_INPUTS.items()):
        value = getattr(SCENARIOS["10k"], attribute)
        shown = "" if value is None or attribute == "daily_users" else f"  [default: {value:g}]"
        command = click.option(name, attribute, type=kind, help=f"{text}{shown}")(command)
    return command


@click.command(name="plan")
@click.option(
    "--scenario",
    type=click.Choice(list(SCENARIOS)),
    default="10k",
    show_default=True,
    help="Start from this number of daily users. Each option below replaces one of its values.",
)
@_inputs
@click.option("--standby", "has_standby", is_flag=True, help="With a standby region.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def group(*, scenario: str, is_json: bool, has_standby: bool, **given: float | None) -> None:
    """Compute the capacity and the monthly cost of a workload, and warn at every limit that it comes close to.

    Units of DynamoDB come from the operations that tests measure, CPU from the benchmarks, prices from AWS's public
    list. Reads no settings and connects to nothing.
    """
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    plan = make_plan(replace(SCENARIOS[scenario], has_standby=has_standby, **changes))
    if is_json:
        echo_json(plan)
    else:
        _show(plan)


def _show(plan: CapacityPlan) -> None:
    console = SafeConsole()
    echo(_summary(plan))
    for title, table in (
        ("DynamoDB at the peak, and dollars per month", _tables(plan)),
        ("Hottest keys", _hot_keys(plan)),
        ("Processes and engines at the peak", _fleet(plan)),
        ("Dollars per month", _costs(plan)),
    ):
        echo(f"\n{title}")
        console.print(table)
    echo(f"\nWarnings: {len(plan.warnings)}" if plan.warnings else "\nNo limit is close.")
    for each in plan.warnings:
        echo(f"  {each.limit}", fg="yellow")
        echo(f"    planned: {each.planned}")
        echo(f"    {each.lever}")


def _summary(plan: CapacityPlan) -> str:
    workload: Workload = plan.workload
    return (
        f"{workload.daily_users:,} daily users, {workload.messages_per_day:,.0f} messages a day, "
        f"{plan.messages_per_s:,.0f} a second at the peak, {plan.connections:,.0f} connections\n"
        f"{_dollars(plan.dollars_per_month)} a month, "
        f"${plan.dollars_per_million_messages:,.2f} per million messages"
    )


def _tables(plan: CapacityPlan) -> SafeTable:
    shown = SafeTable(
        "table", "writes/s", "reads/s", "partitions", "GB", "on demand", "provisioned", "storage"
    )
    for each in plan.tables:
        shown.add_row(
            each.table,
            f"{each.write_per_s:,.0f}",
            f"{each.read_per_s:,.0f}",
            f"{each.partitions:,}",
            f"{each.storage_gb:,.0f}",
            *map(_dollars, (each.on_demand, each.provisioned, each.storage)),
        )
    return shown


def _hot_keys(plan: CapacityPlan) -> SafeTable:
    shown = SafeTable("key", "writes/s", "reads/s")
    for each in plan.hot_keys:
        shown.add_row(each.key, f"{each.write_per_s:,.0f}", f"{each.read_per_s:,.0f}")
    return shown


def _fleet(plan: CapacityPlan) -> SafeTable:
    kafka, redis = plan.fleet.kafka, plan.fleet.redis
    shown = SafeTable("what", "number", "cores used", "details")
    for each in plan.fleet.processes:
        details = f"{each.memory_gb:,.1f} GB; bound by: {each.bound_by}"
        shown.add_row(each.kind, f"{each.count:,}", f"{each.cores:,.1f}", details)
    brokers = (
        f"kafka.partitions = {kafka.partitions}, {kafka.partition_replicas:,} replicas, {kafka.in_mb_s:,.1f} MB/s in, "
        f"{kafka.disk_gb:,.0f} GB; bound by: {kafka.bound_by}"
    )
    shown.add_row("Kafka brokers", f"{kafka.brokers:,}", "", brokers)
    shards = f"{redis.memory_gb:,.2f} GB, each with a replica; bound by: {redis.bound_by}"
    shown.add_row("Redis shards", f"{redis.shards:,}", f"{redis.cores:,.1f}", shards)
    return shown


def _costs(plan: CapacityPlan) -> SafeTable:
    shown = SafeTable()
    for each in plan.costs:
        shown.add_row(each.what, _dollars(each.dollars))
    shown.add_row("sum", _dollars(plan.dollars_per_month))
    return shown


def _dollars(amount: Decimal) -> str:
    return f"${amount:,.0f}"

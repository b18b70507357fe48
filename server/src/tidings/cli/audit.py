"""`tidings audit list | export`: read the audit log. The log has no command that changes it."""

import asyncio
from collections.abc import Awaitable, Callable

import click

from tidings.app.wiring.audit import open_audit_log
from tidings.audit.log import AuditLog
from tidings.audit.model import AuditPage, AuditPhase
from tidings.cli.output import DURATION, SafeTable, echo, echo_json, show_wide
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId

_TENANT = click.option("--tenant", help="Actions in this tenant.  [default: those of the installation]")


@click.group(name="audit")
def group() -> None:
    """Read the audit log of administrative actions from the console, REST and the command line."""


@group.command(name="list")
@_TENANT
@click.option("--month", help="Such as 2026-11.  [default: the current month]")
@click.option("--before", help="Continue below this record: the last id of the page before.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 500))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def list_(tenant: str | None, month: str | None, before: str | None, limit: int, *, as_json: bool) -> None:
    """List actions of a month, newest first. An action that only started may have been applied."""
    page: AuditPage = _run(lambda log: log.page(_id(tenant), month, limit, before))
    if as_json:
        echo_json({"records": page.records, "cursor": page.last})
        return
    table = SafeTable("record", "time", "phase", "actor", "operation", "target", "outcome", "reason")
    for each in page.records:
        is_open = each.phase is AuditPhase.STARTED
        outcome = "" if is_open else each.outcome or "-"
        cells = (each.id, each.at, each.phase, each.actor, each.operation, each.target or "-", outcome)
        table.add_row(*cells, each.reason or "-")
    show_wide(table)
    if page.last:
        echo(f"There are more: --before {page.last}", dim=True)


@group.command()
@_TENANT
@click.option("--from", "since", metavar="MONTH", help="First month.  [default: the current month]")
@click.option("--after", metavar="ID", help="Continue after this record: the last id of the export before.")
@click.option(
    "--settle",
    "settle_s",
    type=DURATION,
    default="60s",
    show_default=True,
    help="Leave out younger records: processes stamp them by their own clocks, so they may still change their order.",
)
def export(tenant: str | None, since: str | None, after: str | None, settle_s: int) -> None:
    """Print the records as JSON lines, oldest first. Repeat with --after to continue."""

    async def act(log: AuditLog) -> None:
        until_ms = SystemClock().now_ms() - settle_s * 1000
        async for record in log.export(_id(tenant), since=since, after=after, until_ms=until_ms):
            echo_json(record)

    _run(act)


def _id(tenant: str | None) -> TenantId | None:
    return None if tenant is None else TenantId(tenant)


def _run[T](act: Callable[[AuditLog], Awaitable[T]]) -> T:
    async def acted() -> T:
        async with open_audit_log() as log:
            return await act(log)

    return asyncio.run(acted())

"""`tidings segment set | upload | activate | list | profile`."""

from collections.abc import Sequence
from itertools import batched
from typing import Any

import click

from tidings.accounts.rules import check_user_id
from tidings.app.wiring.inboxes import InboxServices
from tidings.cli.inbox import parse_object, run_with_inboxes
from tidings.cli.output import SafeConsole, SafeTable, echo
from tidings.inboxes.broadcasts.model import Segment
from tidings.inboxes.broadcasts.segments import MAX_LISTED
from tidings.inboxes.config_service import read_all_pages
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import TenantId


@click.group(name="segment")
def group() -> None:
    """Segments for broadcasts: predicates over profiles, and versioned lists."""


@group.command(name="set")
@click.argument("tenant")
@click.argument("segment")
@click.option("--predicate", required=True, help="The predicate, as JSON.")
def set_(tenant: str, segment: str, predicate: str) -> None:
    """Create SEGMENT of TENANT with a predicate, or change it. Applies everywhere within five seconds."""
    said = parse_object(predicate)
    _show(
        [
            run_with_inboxes(
                lambda cases: cases.broadcasts.segments.set_predicate(TenantId(tenant), segment, said)
            )
        ]
    )


@group.command()
@click.argument("tenant")
@click.argument("segment")
@click.argument("users", type=click.File())
@click.option(
    "--activate/--no-activate",
    default=True,
    show_default=True,
    help="Activate the version when all users are uploaded.",
)
def upload(tenant: str, segment: str, users: Any, *, activate: bool) -> None:  # noqa: ANN401 - click's own file
    """Upload the users of a list from a file, one in each line, as its next version."""
    names = [check_user_id(line.strip()) for line in users if line.strip()]

    async def uploaded(cases: InboxServices) -> Segment:
        segments, version = cases.broadcasts.segments, None
        for some in batched(names, MAX_LISTED):
            found = await segments.upload(TenantId(tenant), segment, some, version)
            version = found.newest
        if activate and version is not None:
            return await segments.activate(TenantId(tenant), segment, version)
        return await segments.read(TenantId(tenant), segment)

    _show([run_with_inboxes(uploaded)])


@group.command()
@click.argument("tenant")
@click.argument("segment")
@click.argument("version", type=int)
def activate(tenant: str, segment: str, version: int) -> None:
    """Activate VERSION of a list: the newest, or the one before."""
    _show(
        [
            run_with_inboxes(
                lambda cases: cases.broadcasts.segments.activate(TenantId(tenant), segment, version)
            )
        ]
    )


@group.command(name="list")
@click.argument("tenant")
def list_(tenant: str) -> None:
    """List the segments of TENANT."""
    _show(run_with_inboxes(lambda cases: read_all_pages(cases.broadcasts.segments.listed, TenantId(tenant))))


@group.command()
@click.argument("tenant")
@click.argument("user")
@click.option("--attributes", required=True, help="All attributes, as JSON.")
def profile(tenant: str, user: str, attributes: str) -> None:
    """Set the attributes of USER, which predicates use."""
    told = parse_object(attributes)
    found = run_with_inboxes(
        lambda cases: cases.broadcasts.profile_service.set(TenantId(tenant), check_user_id(user), told)
    )
    echo(f"user {found.user}, {len(found.attributes)} attributes, created {format_ms(found.created_ms)}")


def _show(segments: Sequence[Segment]) -> None:
    table = SafeTable("segment", "by", "holds")
    for each in segments:
        holds = f"version {each.active} of {each.newest}" if each.is_list else "its predicate"
        table.add_row(each.name, "list" if each.is_list else "predicate", holds)
    SafeConsole().print(table)

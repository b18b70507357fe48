"""`tidings user export`: write all data that a user can read to a file."""

import asyncio
from pathlib import Path

import click

from tidings.accounts.rules import check_user_id
from tidings.app.settings.loader import load
from tidings.app.wiring.engine_clients import open_tables
from tidings.cli.output import echo
from tidings.cli.tenant import explain_missing_tenant
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId


@click.command()
@click.argument("tenant")
@click.argument("user")
@click.option(
    "--to",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The ZIP file to write. FILE.partial has the data until the file is complete.",
)
def export(tenant: str, user: str, to: Path) -> None:
    """Write all data that USER can read to a ZIP file: web pages, JSON files and attachments.

    If the command is interrupted, run it again: it continues. Only your own account can read the file.
    """
    directory = to.with_name(f"{to.name}.partial")
    if to.exists() and not directory.exists():
        raise click.UsageError(f"{to} exists. Choose another file, or delete it.")
    if not to.parent.is_dir():
        raise click.UsageError(f"{to.parent} is not a directory.")
    size = asyncio.run(_write(TenantId(tenant), user, to, directory))
    echo(f"ok: {to} has all data that {user} can read, {size} bytes")


async def _write(tenant: TenantId, user: str, to: Path, directory: Path) -> int:
    settings, clock = load().settings, SystemClock()
    from tidings.app.wiring.exports import open_local_export  # noqa: PLC0415 - takes half a second to import

    async with (
        open_tables(settings.dynamo) as client,
        explain_missing_tenant(settings, client),
        open_local_export(settings, client, clock, directory) as (exporter, parts),
    ):
        archive = await exporter.collect(tenant, check_user_id(user))
        size = await parts.write_archive(archive.chunks(), to)
        parts.delete_all()
        return size

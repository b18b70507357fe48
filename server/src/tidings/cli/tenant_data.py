"""`tidings tenant export | delete | deletion | approve-deletion | reject-deletion`."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import click

from tidings.app.settings.loader import load
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.cli.output import echo, show_fields
from tidings.cli.security import operating_system_user
from tidings.erasure.approval import Decision
from tidings.erasure.model import Erasure
from tidings.erasure.service import ErasureService
from tidings.imports.ports import ExportState
from tidings.imports.tenant_export import TenantExporter
from tidings.jobs.model import WHOLE_TENANT
from tidings.kernel.clock import SystemClock, format_ms
from tidings.kernel.ids import TenantId
from tidings.tenants.rules import check_tenant_id

_EVERY_S = 1.0


@click.command()
@click.argument("tenant")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def export(tenant: str, directory: Path) -> None:
    """Write users, chats, messages and files of TENANT to DIRECTORY, in the format of `tidings import`.

    If the command is interrupted, run it again: it continues. Only your own account can read the directory.
    """
    state = asyncio.run(_export(TenantId(tenant), directory))
    echo(f"{state.chats} chats, {state.messages} messages, {state.files} files")
    for reason, count in sorted(state.left_out.items()):
        echo(f"left out: {count} {reason}")
    echo(
        f"ok: import it with `tidings import run {directory}/users.jsonl {directory}/chats.jsonl --tenant OTHER`"
    )


async def _export(tenant: TenantId, directory: Path) -> ExportState:
    from tidings.app.wiring.exports import open_tenant_export  # noqa: PLC0415 - takes half a second to import

    shown_at = time.monotonic()

    def show(exporter: TenantExporter) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at < _EVERY_S:
            return
        shown_at = time.monotonic()
        echo(f"{exporter.state.chats} chats, {exporter.state.messages} messages", err=True, dim=True)

    async with open_tenant_export(load().settings, directory, tenant, show) as exporter:
        return await exporter.run()


_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")


@click.command()
@click.argument("tenant")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_JSON
def delete(tenant: str, *, yes: bool, as_json: bool) -> None:
    """Delete TENANT permanently: credentials, keys, users, chats, files, search documents and notifications.

    The id cannot be used again. Processes of `notifications` run the deletion, which takes at least 8 minutes. Repeating
    the command shows the same deletion. `tidings tenant export` writes a copy before. If the tenant requires a second
    approver, nothing is deleted before the approval.
    """
    if not yes:
        _confirm(tenant)
    by = f"operator:{operating_system_user()}"
    found = _run_deletions(lambda erasures: erasures.request(check_tenant_id(tenant), WHOLE_TENANT, by))
    show_fields(_deletion_fields(found), as_json=as_json)


@click.command()
@click.argument("tenant")
@_JSON
def deletion(tenant: str, *, as_json: bool) -> None:
    """Show how far the deletion of TENANT is, and its certificate."""
    found = _run_deletions(lambda erasures: erasures.read(check_tenant_id(tenant), WHOLE_TENANT))
    show_fields(_deletion_fields(found), as_json=as_json)


@click.command(name="approve-deletion")
@click.argument("tenant")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_JSON
def approve(tenant: str, *, yes: bool, as_json: bool) -> None:
    """Approve the request to delete TENANT. The requester cannot approve it."""
    if not yes:
        _confirm(tenant)
    _decide(tenant, Decision.APPROVE, as_json=as_json)


@click.command(name="reject-deletion")
@click.argument("tenant")
@_JSON
def reject(tenant: str, *, as_json: bool) -> None:
    """Reject the request to delete TENANT. Nothing is deleted."""
    _decide(tenant, Decision.REJECT, as_json=as_json)


COMMANDS: Final[tuple[click.Command, ...]] = (export, delete, deletion, approve, reject)


def _confirm(tenant: str) -> None:
    typed = click.prompt(f"This deletes all data of {tenant} and cannot be undone. Type the id of the tenant")
    if typed != tenant:
        raise click.UsageError(f"{typed!r} is not {tenant!r}. Nothing was deleted.")


def _decide(tenant: str, decision: Decision, *, as_json: bool) -> None:
    by = f"operator:{operating_system_user()}"
    found = _run_deletions(
        lambda erasures: erasures.decide(check_tenant_id(tenant), WHOLE_TENANT, decision, by)
    )
    show_fields(_deletion_fields(found), as_json=as_json)


def _run_deletions(act: Callable[[ErasureService], Awaitable[Erasure]]) -> Erasure:
    from tidings.app.wiring.erasure import build_command_erasures  # noqa: PLC0415 - takes half a second to import

    async def run() -> Erasure:
        settings, clock = load().settings, SystemClock()
        async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as ring:
            return await act(build_command_erasures(settings, client, clock, ring))

    return asyncio.run(run())


def _deletion_fields(found: Erasure) -> dict[str, object]:
    return {
        "deletion": found.id,
        "tenant": found.tenant,
        **progress_fields(found),
        **{f"deleted_{name}": count for name, count in sorted(found.counts.items())},
    }


def progress_fields(erasure: Erasure) -> dict[str, object]:
    """Return the fields that erasures of users and deletions of tenants share."""
    approval = erasure.approval
    return {
        "step": erasure.step.value,
        "requested_at": format_ms(erasure.requested_ms),
        "requested_by": erasure.requested_by,
        **({} if approval is None else {"approval": approval.state.value}),
        **({} if approval is None or approval.by is None else {"decided_by": approval.by}),
        "certificate": erasure.certificate or "",
    }

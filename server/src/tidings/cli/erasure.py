"""`tidings user erase | erasure | approve-erasure | reject-erasure`."""

import asyncio
from collections.abc import Awaitable, Callable

import click

from tidings.accounts.rules import check_user_id
from tidings.app.settings.loader import load
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.cli.output import show_fields
from tidings.cli.security import operating_system_user
from tidings.cli.tenant import explain_missing_tenant
from tidings.cli.tenant_data import progress_fields
from tidings.erasure.approval import Decision
from tidings.erasure.model import Erasure
from tidings.erasure.service import ErasureService
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")


@click.command()
@click.argument("tenant")
@click.argument("user")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_JSON
def erase(tenant: str, user: str, *, yes: bool, as_json: bool) -> None:
    """Erase USER permanently: keys, messages, files, search documents, notifications and profile.

    The id cannot be used again. Processes of `notifications` run the erasure, which takes at least 8 minutes. Repeating
    the command shows the same erasure. If the tenant requires a second approver, nothing is erased before the approval.
    """
    if not yes:
        click.confirm(f"Erase {user} of {tenant} permanently? This cannot be undone.", abort=True)
    by = f"operator:{operating_system_user()}"
    found = _run_erasures(lambda erasures: erasures.request(TenantId(tenant), check_user_id(user), by))
    show_fields(_erasure_fields(found), as_json=as_json)


@click.command(name="erasure")
@click.argument("tenant")
@click.argument("user")
@_JSON
def show_erasure(tenant: str, user: str, *, as_json: bool) -> None:
    """Show how far the erasure of USER is."""
    found = _run_erasures(lambda erasures: erasures.read(TenantId(tenant), check_user_id(user)))
    show_fields(_erasure_fields(found), as_json=as_json)


@click.command(name="approve-erasure")
@click.argument("tenant")
@click.argument("user")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_JSON
def approve(tenant: str, user: str, *, yes: bool, as_json: bool) -> None:
    """Approve the request to erase USER. The requester cannot approve it."""
    if not yes:
        click.confirm(f"Erase {user} of {tenant} permanently? This cannot be undone.", abort=True)
    _decide(tenant, user, Decision.APPROVE, as_json=as_json)


@click.command(name="reject-erasure")
@click.argument("tenant")
@click.argument("user")
@_JSON
def reject(tenant: str, user: str, *, as_json: bool) -> None:
    """Reject the request to erase USER. Nothing is erased."""
    _decide(tenant, user, Decision.REJECT, as_json=as_json)


def _decide(tenant: str, user: str, decision: Decision, *, as_json: bool) -> None:
    by = f"operator:{operating_system_user()}"
    found = _run_erasures(
        lambda erasures: erasures.decide(TenantId(tenant), check_user_id(user), decision, by)
    )
    show_fields(_erasure_fields(found), as_json=as_json)


def _run_erasures(act: Callable[[ErasureService], Awaitable[Erasure]]) -> Erasure:
    from tidings.app.wiring.erasure import build_command_erasures  # noqa: PLC0415 - takes half a second to import

    async def run() -> Erasure:
        settings, clock = load().settings, SystemClock()
        async with (
            open_tables(settings.dynamo) as client,
            explain_missing_tenant(settings, client),
            open_key_ring(settings, client, clock) as ring,
        ):
            return await act(build_command_erasures(settings, client, clock, ring))

    return asyncio.run(run())


def _erasure_fields(erasure: Erasure) -> dict[str, object]:
    return {
        "erasure": erasure.id,
        "user": erasure.user,
        **progress_fields(erasure),
        **{f"erased_{name}": count for name, count in sorted(erasure.counts.items())},
    }

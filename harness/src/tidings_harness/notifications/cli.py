"""The commands `tidings-harness notifications run`, `check` and `mutants`."""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import click
import uvloop

from tidings_harness.notifications.checker import check_inboxes
from tidings_harness.notifications.history import load_journal as load_history
from tidings_harness.notifications.mutants import MUTANTS
from tidings_harness.notifications.report import as_json, as_page
from tidings_harness.notifications.synthetic_history import synthesize_inboxes
from tidings_harness.notifications.workload import NotificationLoad, NotificationRun
from tidings_harness.options import friendly_errors, installation_options, target_installation


@click.group(name="notifications")
def group() -> None:
    """Test inboxes: send, read, mark and redact notifications and broadcasts."""


@group.command()
@installation_options
@click.option(
    "--api", "apis", multiple=True, required=True, help="URL of the REST API, http://…. Can be repeated."
)
@click.option(
    "--api-key",
    envvar="TIDINGS_API_KEY",
    show_envvar=True,
    required=True,
    help="API key of the tenant with the scope `notifications`. Prefer the environment variable to the option.",
)
@click.option("--users", type=click.IntRange(2), default=8, show_default=True)
def run(
    *,
    for_s: float,
    report: Path,
    apis: tuple[str, ...],
    sockets: tuple[str, ...],
    tenant: str,
    key: Path,
    api_key: str,
    users: int,
) -> None:
    """Test an installation. The exit code is 1 if it violated a guarantee, 2 if it could not be tested."""
    addresses = [api.rstrip("/") for api in apis]
    site = target_installation(addresses[0], sockets, tenant, key)
    uvloop.run(_run(NotificationLoad(site=site, apis=addresses, key=api_key, users=users), report, for_s))
    _print_verdict(report)


@group.command(name="check")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def check_(directory: Path) -> None:
    """Check a history again."""
    _print_verdict(directory)


@group.command()
def mutants() -> None:
    """Print a table of mutated histories and the rules that detect each. The exit code is 1 if one is not detected."""
    missed = 0
    click.echo("| mutant | broken rule | detected by |\n|---|---|---|")
    for name, mutant in MUTANTS.items():
        broken = check_inboxes(mutant.of(synthesize_inboxes())).broken
        missed += mutant.rule not in broken
        click.echo(f"| `{name}` | {mutant.rule.value} | {', '.join(sorted(rule.value for rule in broken))} |")
    sys.exit(1 if missed else 0)


async def _run(wanted: NotificationLoad, report: Path, for_s: float) -> None:
    async with AsyncExitStack() as stack:
        with friendly_errors(report):
            going = await stack.enter_async_context(NotificationRun(wanted, report))
        click.echo(f"{wanted.users} users read and mark notifications for {for_s:g} s.")
        await asyncio.sleep(for_s)
        await going.wait_until_idle()


def _print_verdict(directory: Path) -> None:
    verdict = check_inboxes(load_history(directory))
    (directory / "verdict.json").write_text(as_json(verdict))
    (directory / "verdict.md").write_text(as_page(verdict))
    click.echo(as_page(verdict))
    sys.exit(0 if verdict.is_good else 1)

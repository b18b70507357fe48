"""`tidings-harness notices run | check | mutants`."""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import click
import uvloop

from tidings_harness.notices.checking import check
from tidings_harness.notices.history import load as load_history
from tidings_harness.notices.imagined import imagine
from tidings_harness.notices.mutants import MUTANTS
from tidings_harness.notices.report import as_json, as_page
from tidings_harness.notices.workload import NoticeLoad, NoticeRun
from tidings_harness.options import of_an_installation, tokens_of, told_plainly
from tidings_harness.workload.site import Site


@click.group(name="notices")
def group() -> None:
    """The same for inboxes: notices and broadcasts are sent, read, marked and taken back."""


@group.command()
@of_an_installation
@click.option(
    "--api", "apis", multiple=True, required=True, help="Of a REST edge, http://…; several if you like."
)
@click.option(
    "--api-key",
    envvar="TIDINGS_API_KEY",
    show_envvar=True,
    required=True,
    help="Of the tenant's server, with the scope `notices`; better in the environment than in a command.",
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
    """Try an installation; exit code 1 if it broke a promise, 2 if it could not be tried."""
    addresses = [api.rstrip("/") for api in apis]
    site = Site(
        api=addresses[0],
        sockets=list(sockets),
        steady_socket=sockets[0],
        token=tokens_of(tenant, key),
    )
    uvloop.run(_run(NoticeLoad(site=site, apis=addresses, key=api_key, users=users), report, for_s))
    _tell(report)


@group.command(name="check")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def check_(directory: Path) -> None:
    """Check a history again."""
    _tell(directory)


@group.command()
def mutants() -> None:
    """A table of broken histories and the rules that caught each; exit code 1 if one was missed."""
    missed = 0
    click.echo("| mutant | broken rule | detected by |\n|---|---|---|")
    for name, mutant in MUTANTS.items():
        broken = check(mutant.of(imagine())).broken
        missed += mutant.rule not in broken
        click.echo(f"| `{name}` | {mutant.rule.value} | {', '.join(sorted(rule.value for rule in broken))} |")
    sys.exit(1 if missed else 0)


async def _run(wanted: NoticeLoad, report: Path, for_s: float) -> None:
    async with AsyncExitStack() as stack:
        with told_plainly(report):
            going = await stack.enter_async_context(NoticeRun(wanted, report))
        click.echo(f"{wanted.users} users look for {for_s:g} s.")
        await asyncio.sleep(for_s)
        await going.settle()


def _tell(directory: Path) -> None:
    verdict = check(load_history(directory))
    (directory / "verdict.json").write_text(as_json(verdict))
    (directory / "verdict.md").write_text(as_page(verdict))
    click.echo(as_page(verdict))
    sys.exit(0 if verdict.is_good else 1)

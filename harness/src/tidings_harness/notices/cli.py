"""`tidings-harness notices run | check | mutants`."""

import asyncio
import json
import os
import sys
from pathlib import Path

import click
import uvloop

from tidings_harness.notices.checking import check
from tidings_harness.notices.history import load as load_history
from tidings_harness.notices.imagined import imagine
from tidings_harness.notices.mutants import MUTANTS
from tidings_harness.notices.report import as_json, as_page
from tidings_harness.notices.workload import NoticeLoad, NoticeRun
from tidings_harness.workload.site import Site, signer


@click.group(name="notices")
def group() -> None:
    """The same for inboxes: notices and broadcasts are sent, read, marked and taken back."""


@group.command()
@click.option("--for", "for_s", type=float, default=60.0, show_default=True, help="Seconds.")
@click.option("--report", type=click.Path(path_type=Path), required=True, help="A new folder.")
@click.option(
    "--api", "apis", multiple=True, required=True, help="Of a REST edge, http://…; several if you like."
)
@click.option("--socket", "sockets", multiple=True, required=True, help="Of a gateway, ws://…/v1/socket.")
@click.option("--tenant", required=True, help="One that is there for this.")
@click.option(
    "--key", type=click.Path(exists=True, path_type=Path), required=True, help="Its private key, a JWK."
)
@click.option("--users", type=int, default=8, show_default=True)
def run(
    *,
    for_s: float,
    report: Path,
    apis: tuple[str, ...],
    sockets: tuple[str, ...],
    tenant: str,
    key: Path,
    users: int,
) -> None:
    """Try an installation; exit code 1 if it broke a promise. The API key of its server is in TIDINGS_API_KEY."""
    report.mkdir(parents=True)
    site = Site(
        api=apis[0],
        sockets=list(sockets),
        steady_socket=sockets[0],
        token=signer(tenant, json.loads(key.read_text())),
    )
    wanted = NoticeLoad(site=site, apis=list(apis), key=os.environ["TIDINGS_API_KEY"], users=users)
    uvloop.run(_run(wanted, report, for_s))
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
    click.echo("| history with | is to break | caught by |\n|---|---|---|")
    for name, mutant in MUTANTS.items():
        broken = check(mutant.of(imagine())).broken
        missed += mutant.rule not in broken
        click.echo(f"| `{name}` | {mutant.rule.value} | {', '.join(sorted(rule.value for rule in broken))} |")
    sys.exit(1 if missed else 0)


async def _run(wanted: NoticeLoad, report: Path, for_s: float) -> None:
    async with NoticeRun(wanted, report) as going:
        click.echo(f"{wanted.users} users look.")
        await asyncio.sleep(for_s)
        await going.settle()


def _tell(directory: Path) -> None:
    verdict = check(load_history(directory))
    (directory / "verdict.json").write_text(as_json(verdict))
    (directory / "verdict.md").write_text(as_page(verdict))
    click.echo(as_page(verdict))
    sys.exit(0 if verdict.is_good else 1)

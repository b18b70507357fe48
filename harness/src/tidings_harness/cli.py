"""`tidings-harness`: try an installation, check a history, see that the checker catches what it must."""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Final

import click
import uvloop

from tidings_harness.checking.check import check, check_all
from tidings_harness.imagined import Town, imagine
from tidings_harness.mutants import MUTANTS
from tidings_harness.notices.cli import group as notices
from tidings_harness.report import as_json, as_page
from tidings_harness.workload.load import Load
from tidings_harness.workload.scenario import SCENARIOS, Scenario
from tidings_harness.workload.site import Site, signer

_UNITS_S: Final = {"s": 1, "m": 60, "h": 3_600}


class _Span(click.ParamType[float]):
    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", str(value))
        if found is None:
            self.fail(f"{value!r} is not a time: 30s, 10m, 2h", param, ctx)
        return float(found[1]) * _UNITS_S[found[2]]


@click.group()
def main() -> None:
    """Puts an installation of Tidings under load, records what every device saw, and checks it against the promises."""


main.add_command(notices)


@main.command()
@click.argument("scenario", type=click.Choice(list(SCENARIOS)))
@click.option("--for", "for_s", type=_Span(), default="1m", show_default=True, help="How long people talk.")
@click.option(
    "--report", type=click.Path(path_type=Path), required=True, help="A new folder: history, verdict."
)
@click.option("--api", required=True, help="Of the REST edge, http://…")
@click.option(
    "--socket",
    "sockets",
    multiple=True,
    required=True,
    help="Of a gateway, ws://…/v1/socket; several if you like.",
)
@click.option("--tenant", required=True, help="One that is there for this: users and chats are made in it.")
@click.option(
    "--key",
    type=click.Path(exists=True, path_type=Path),
    required=True,
    help="The tenant's private key, a JWK.",
)
@click.option(
    "--quiet-within", type=_Span(), default="1m", show_default=True, help="What has not come by then is lost."
)
def run(
    *,
    scenario: str,
    for_s: float,
    report: Path,
    api: str,
    sockets: tuple[str, ...],
    tenant: str,
    key: Path,
    quiet_within: float,
) -> None:
    """Try an installation; exit code 1 if it broke a promise."""
    report.mkdir(parents=True)
    site = Site(
        api=api.rstrip("/"),
        sockets=list(sockets),
        steady_socket=sockets[0],
        token=signer(tenant, json.loads(key.read_text())),
    )
    uvloop.run(_run(site, SCENARIOS[scenario], report, for_s, quiet_within))
    _tell(report)


@main.command(name="check")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def check_(directory: Path) -> None:
    """Check a history again, also one whose run was cut short."""
    _tell(directory)


@main.command()
def mutants() -> None:
    """A table of broken histories and the rules that caught each; exit code 1 if one was missed."""
    missed = 0
    click.echo("| history with | is to break | caught by |\n|---|---|---|")
    for name, mutant in MUTANTS.items():
        broken = check(mutant.of(imagine(Town()), Town())).broken
        missed += mutant.rule not in broken
        click.echo(f"| `{name}` | {mutant.rule.value} | {', '.join(sorted(rule.value for rule in broken))} |")
    sys.exit(1 if missed else 0)


async def _run(site: Site, scenario: Scenario, report: Path, for_s: float, quiet_within_s: float) -> None:
    async with Load(site, scenario, report) as load:
        click.echo(
            f"{scenario.light_devices} light devices and {len(list(load.speakers()))} of the SDK are live."
        )
        await asyncio.sleep(for_s)
        await load.settle(quiet_within_s)


def _tell(directory: Path) -> None:
    verdict = check_all(directory)
    (directory / "verdict.json").write_text(as_json(verdict))
    (directory / "verdict.md").write_text(as_page(verdict))
    click.echo(as_page(verdict))
    sys.exit(0 if verdict.is_good else 1)

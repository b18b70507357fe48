"""The `tidings-harness` command: test an installation, check a history, and test the checker."""

import asyncio
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

import click
import uvloop

from tidings_harness.checking.check import check, check_all
from tidings_harness.load.cli import load
from tidings_harness.mutants import MUTANTS
from tidings_harness.notifications.cli import group as notifications
from tidings_harness.options import DurationParam, friendly_errors, installation_options, target_installation
from tidings_harness.report import verdict_json, verdict_page
from tidings_harness.synthetic_history import SyntheticSetup, synthesize
from tidings_harness.workload.run import HarnessRun
from tidings_harness.workload.scenario import SCENARIOS, Scenario
from tidings_harness.workload.target import TargetInstallation

_ERASED_WITHIN_S: Final = 1_800.0


@click.group()
def main() -> None:
    """Put a Tidings installation under load, record what every device receives, and check the guarantees."""


main.add_command(notifications)
main.add_command(load)


@main.command()
@click.argument("scenario", type=click.Choice(list(SCENARIOS)))
@installation_options
@click.option("--api", required=True, help="URL of the REST API, http://…")
@click.option(
    "--quiet-within",
    type=DurationParam(),
    default="1m",
    show_default=True,
    help="Time to wait for deliveries at the end of the run. An entry that is not delivered by then is lost.",
)
@click.option(
    "--api-key",
    envvar="TIDINGS_API_KEY",
    default="",
    help="API key with the scope users, for the scenario erasures.  [env: TIDINGS_API_KEY]",
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
    api_key: str,
) -> None:
    """Test an installation. The exit code is 1 if it violated a guarantee, 2 if it could not be tested."""
    if SCENARIOS[scenario].erases and not api_key:
        raise click.UsageError("The scenario erasures needs an API key with the scope users: set --api-key.")
    site = replace(target_installation(api, sockets, tenant, key), api_key=api_key)
    uvloop.run(_run(site, SCENARIOS[scenario], report, for_s, quiet_within))
    _print_verdict(report)


@main.command(name="check")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def check_(directory: Path) -> None:
    """Check a history again, including one of an interrupted run."""
    _print_verdict(directory)


@main.command()
def mutants() -> None:
    """Print a table of mutated histories and the rules that detect each. The exit code is 1 if one is not detected."""
    missed = 0
    click.echo("| mutant | broken rule | detected by |\n|---|---|---|")
    for name, mutant in MUTANTS.items():
        broken = check(mutant.of(synthesize(SyntheticSetup()), SyntheticSetup())).broken
        missed += mutant.rule not in broken
        click.echo(f"| `{name}` | {mutant.rule.value} | {', '.join(sorted(rule.value for rule in broken))} |")
    sys.exit(1 if missed else 0)


async def _run(
    site: TargetInstallation, scenario: Scenario, report: Path, for_s: float, quiet_within_s: float
) -> None:
    async with AsyncExitStack() as stack:
        with friendly_errors(report):
            load = await stack.enter_async_context(HarnessRun(site, scenario, report))
        click.echo(
            f"{scenario.light_devices} light devices and {len(list(load.speakers()))} of the SDK are live;"
            f" they talk for {for_s:g} s."
        )
        await asyncio.sleep(for_s)
        if scenario.erases:
            await load.erased(_ERASED_WITHIN_S)
        await load.wait_until_idle(quiet_within_s)


def _print_verdict(directory: Path) -> None:
    verdict = check_all(directory)
    (directory / "verdict.json").write_text(verdict_json(verdict))
    (directory / "verdict.md").write_text(verdict_page(verdict))
    click.echo(verdict_page(verdict))
    sys.exit(0 if verdict.is_good else 1)

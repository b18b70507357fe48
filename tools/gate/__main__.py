"""Run a gate: `just check`, `just check --full`, `just nightly`."""

import os
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import click

from tools.gate import page
from tools.gate.cost import read_tests, summarise
from tools.gate.mutants import read_mutants, try_mutant
from tools.gate.nightly import NightlyRecord, describe_commit
from tools.gate.parts import FULL_PYTEST_OPTIONS, GATES, NIGHTLY
from tools.gate.processes import ProcessSampler
from tools.gate.pytest_times import FOLDER_VARIABLE
from tools.gate.runner import FOLDER, GateRunner, PartResult, describe, run_part
from tools.gate.speed import measure_work_s, read_cpu_times, slowness
from tools.node import ROOT

_BOUNDS = Path(__file__).with_name("bounds.toml")
_STARTED_VARIABLE = "GATE_STARTED"
"""Environment variable with the Unix time at which `.ci/run` began to install."""


@click.group()
def main() -> None:
    """Run the gates, and measure what they cost."""


@main.command()
@click.argument("gate", type=click.Choice(["fast", "full"]))
@click.option("--only", multiple=True, help="Run the parts with this text in their names.  [default: all]")
@click.option(
    "--record", help="Measure the CPU time of all processes, and write it to the page under this name."
)
def run(gate: str, *, only: tuple[str, ...], record: str | None) -> None:
    """Run all parts of a gate, print their minutes, and fail if one failed or the gate took too long."""
    installed_s = time.time() - float(os.environ.get(_STARTED_VARIABLE, time.time()))
    work_s, cpu_times = measure_work_s(), read_cpu_times()
    times, sampler = FOLDER / f"tests-{os.getpid()}", ProcessSampler()
    if record:
        os.environ[FOLDER_VARIABLE] = str(times)
        sampler.start()
    began = time.monotonic()
    results = GateRunner().run([part for part in GATES[gate] if _is_selected(part.name, only)])
    total_s = installed_s + time.monotonic() - began
    if record:
        page.record_cost(record, gate, results, total_s, summarise(sampler.stop(), read_tests(times)))
    slow = slowness(work_s, cpu_times, read_cpu_times())
    bound = tomllib.loads(_BOUNDS.read_text())[gate]
    allowed_s = bound["minutes"] * bound["slack"] * slow * 60
    print_minutes(results, installed_s)
    click.echo(
        f"{'together':16} {total_s / 60:8.1f}  bound {bound['minutes']} minutes; with a slack of {bound['slack']}, and "
        f"a machine that is {slow:.2f} times slower than that of the bound, allowed: {allowed_s / 60:.0f}"
    )
    failed = [result.name for result in results if not result.is_good]
    for name in failed:
        click.echo(f"FAILED: {name}. Its output is in build/gate.")
    if is_late := total_s > allowed_s and not only:
        click.echo(
            f"FAILED: the gate took {total_s / 60:.1f} minutes. Shorten or move tests: docs/contributing/tests.md."
        )
    sys.exit(bool(failed) or is_late)


def print_minutes(results: Sequence[PartResult], installed_s: float) -> None:
    click.echo(f"\n{'part':16} {'minutes':>8} {'of CPU':>8}")
    if installed_s > 1:
        click.echo(f"{'install':16} {installed_s / 60:8.1f}")
    for result in results:
        click.echo(f"{result.name:16} {result.seconds / 60:8.1f} {result.cpu_s / 60:8.1f}  {result.note}")


def _is_selected(name: str, only: tuple[str, ...]) -> bool:
    return not only or any(text in name for text in only)


@main.command()
@click.option("--only", multiple=True, help="Run the parts with this text in their names.  [default: all]")
@click.option("--since", help="Keep results of this commit and its successors too.  [default: of HEAD only]")
@click.option("--again", is_flag=True, help="Run also the parts that passed.")
@click.option("--minutes", type=float, help="Begin no further part after this time.")
def nightly(*, only: tuple[str, ...], since: str | None, again: bool, minutes: float | None) -> None:
    """Run everything in full. Continue after an interruption: parts that passed on this commit are not repeated."""
    commit, began = describe_commit(ROOT), time.monotonic()
    record = NightlyRecord.read(ROOT)
    for part in NIGHTLY:
        if not _is_selected(part.name, only):
            continue
        if not again and record.is_passed(part.name, commit, since):
            click.echo(f"{part.name}: passed before")
            continue
        if minutes is not None and time.monotonic() - began > minutes * 60:
            click.echo(f"{part.name}: not begun, the time has passed")
            continue
        result = run_part(part)
        click.echo(f"== {describe(result)}")
        record.add(result, commit)
        page.write_nightly(record)
    sys.exit(not record.is_good(commit, since))


@main.command()
@click.argument("names", nargs=-1)
def mutants(names: tuple[str, ...]) -> None:
    """Make mistakes in the product, one after the other, and check that tests of the full gate fail."""
    results = []
    for mutant in read_mutants():
        if names and mutant.name not in names:
            continue
        result = try_mutant(mutant, ROOT, FULL_PYTEST_OPTIONS)
        results.append(result)
        click.echo(f"{mutant.name:34} {'caught' if result.is_caught else 'MISSED':7} {result.found_by}")
    missed = sum(not result.is_caught for result in results)
    if not names:
        page.write_mutants(results, describe_commit(ROOT))
    click.echo(f'{{"mutants": {len(results)}, "missed": {missed}}}')
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()

"""Inject every fault into a whole installation, and run the checker against every mutant server.

Prints one line for each; the last line is JSON. Exits with 1 if an entry was lost or duplicated, or a mutant was
missed.
"""

import argparse
import asyncio
import json
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import uvloop
from fixtures import fork_server
from fixtures.installation_processes import SHORT_SESSION, InstallationProcesses, installation_on

from faults.whole.catalogue import FAULTS
from faults.whole.fault import Fault, FaultRun, Outcome
from faults.whole.installation import FaultInstallation, installation_under_fault
from faults.whole.mutants import BREAKING, Caught, catch
from faults.whole.report import Run, describe_commit, record_drills, write
from tidings.engines import dynoxide
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import DynamoKind, StartRequest

FULL_DELIVERIES = 5_200_000
_MAX_NOTES = 10
_REPOSITORY = Path(__file__).parents[4]


@dataclass
class Trial:
    """The selected faults and mutants, and their results.

    `deliveries` is the number of deliveries for each fault; 0 selects the short form.
    """

    faults: list[Fault]
    mutants: list[str]
    deliveries: int
    keep: Path | None
    outcomes: list[Outcome] = field(default_factory=list)
    caught: list[Caught] = field(default_factory=list)
    again: set[str] = field(default_factory=set)
    """Faults that could not be injected and were tried once more. A fault that found a violation is never retried."""

    def run_all(self) -> None:
        """Run each fault on engines with its number of brokers. Mutants run after the faults that need one broker."""
        for brokers in sorted({1} | {fault.brokers for fault in self.faults}):
            faults = [fault for fault in self.faults if fault.brokers == brokers]
            mutants = self.mutants if brokers == 1 else []
            if faults or mutants:
                with engines(brokers) as processes:
                    uvloop.run(self._on(processes, faults, mutants))

    async def _on(
        self, processes: InstallationProcesses, faults: Sequence[Fault], mutants: Sequence[str]
    ) -> None:
        """Run faults and then mutants on one installation; start a new one after a fault that could not be injected."""
        left = list(faults)
        while left or mutants:
            async with installation_under_fault(processes) as installation:
                while left:
                    fault = left.pop(0)
                    outcome = await self._tried(fault, installation)
                    if outcome.error and fault.name not in self.again:
                        self.again.add(fault.name)
                        self.outcomes.remove(outcome)
                        left.insert(0, fault)
                    if outcome.error:
                        break
                else:
                    async for caught in catch(installation, mutants):
                        self.caught.append(caught)
                        print_caught(caught)
                    return

    async def _tried(self, fault: Fault, installation: FaultInstallation) -> Outcome:
        began = time.monotonic()
        try:
            outcome = await inject(fault, installation, self.deliveries)
        except Exception:  # noqa: BLE001 - report it as an error of this fault and continue with the next one
            outcome = Outcome(name=fault.name, error=traceback.format_exc(), took_s=time.monotonic() - began)
        self.outcomes.append(outcome)
        print_outcome(outcome)
        if self.keep and not outcome.is_good:
            _keep(installation, self.keep / fault.name.replace(" ", "-"))
        return outcome


async def inject(fault: Fault, installation: FaultInstallation, deliveries: int) -> Outcome:
    began = time.monotonic()
    async with installation.load(fault.full_scenario if deliveries else fault.scenario) as load:
        await load.sent_more(20)
        run = FaultRun(installation=installation, load=load, deliveries=deliveries)
        await fault.inflict(run)
        load.step("the fault has ended")
        notes = await installation.replace_exited()
        healed_s = await load.caught_up(fault.heals_within_s)
        if healed_s == inf:
            notes += load.behind()[:_MAX_NOTES]
        verdict = await load.finish(fault.heals_within_s)
    return Outcome(
        name=fault.name,
        verdict=verdict,
        healed_s=healed_s,
        took_s=time.monotonic() - began,
        notes=tuple(notes),
        recoveries=tuple(run.recoveries),
        figures=run.figures,
    )


def print_outcome(outcome: Outcome) -> None:
    found = outcome.verdict
    print_line(
        f"{outcome.name:34} {'good' if outcome.is_good else 'BROKEN':7} {found.deliveries:9,} deliveries  "
        f"lost {found.lost}  doubled {found.doubled}  healed in {outcome.healed_s:.1f} s  "
        f"took {outcome.took_s:.0f} s"
    )
    for each in outcome.recoveries:
        print_line(
            f"    recovered in {each.rto_s:.1f} s, first delivery after {each.delivered_s:.1f} s; "
            f"{each.rpo_entries} acknowledged entries of {each.rpo_s:.1f} s lost"
        )
    if outcome.figures:
        print_line("    " + ", ".join(f"{name}: {value}" for name, value in outcome.figures.items()))
    for note in (*outcome.notes, outcome.error):
        if note:
            print_line(f"    {note}")
    for breach in found.breaches:
        print_line(f"    {breach.rule.value}: {breach.count}")
        for example in breach.examples:
            print_line(f"        {example}")


def print_caught(caught: Caught) -> None:
    found = ", ".join(sorted(rule.value for rule in caught.broken)) or "nothing"
    print_line(f"mutant {caught.name:27} {'caught' if caught.is_caught else 'MISSED':7} by: {found}")


def print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _keep(installation: FaultInstallation, where: Path) -> None:
    """Copy the histories and the logs of all processes."""
    where.mkdir(parents=True, exist_ok=True)
    for history in installation.histories:
        shutil.copytree(history, where / history.name, dirs_exist_ok=True)
    for number, process in enumerate(installation.processes.started):
        lines = [json.dumps(line) for line in process.lines]
        (where / f"process-{number}.log").write_text("\n".join([*lines, process.stderr]))


@contextmanager
def engines(brokers: int) -> Iterator[InstallationProcesses]:
    """Start the engines. DynamoDB is dynoxide if it is installed, because it is much faster."""
    cache = default_cache()
    dynamo: DynamoKind = "dynoxide" if dynoxide.is_installed(cache) else "local"
    wish = StartRequest(
        dynamo=dynamo,
        kafka_brokers=brokers,
        kafka_behind_proxy=True,
        kafka_extra=SHORT_SESSION,
    )
    with tempfile.TemporaryDirectory(prefix="tidings-") as place:
        fleet = LocalCluster(Path(place) / "engines", cache, dies_with_us=True)
        try:
            fleet.start(wish)
            with installation_on(fleet, dynamo, Path(place)) as processes:
                asyncio.run(processes.create_tenant())
                yield processes
        finally:
            fleet.stop()


def select(options: argparse.Namespace) -> Trial:
    """Select faults and mutants whose names contain one of the given parts; without any, all."""
    names = options.names or [""]
    faults = [fault for fault in FAULTS if any(name in fault.name for name in names)]
    mutants = [mutant for mutant in BREAKING if any(name in mutant for name in names)]
    if options.mutants == "only":
        faults = []
    elif options.mutants == "without":
        mutants = []
    share = 0 if options.short else -(-options.deliveries // max(len(faults), 1))
    return Trial(faults, mutants, share, options.keep)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just faults", description=__doc__)
    parser.add_argument("names", nargs="*", help="Parts of names of faults or mutants. Default: all.")
    parser.add_argument("--short", action="store_true", help="Run each fault for some seconds, as CI does.")
    parser.add_argument(
        "--deliveries",
        type=int,
        default=FULL_DELIVERIES,
        help="Deliveries of the full form, over all faults.",
    )
    parser.add_argument(
        "--mutants", choices=("with", "without", "only"), default="with", help="Whether to run the mutants."
    )
    parser.add_argument(
        "--write", type=Path, help="Page of the repository in which to write the tables of this run."
    )
    parser.add_argument("--record", type=Path, help="File of the repository for the figures of drills.")
    parser.add_argument("--keep", type=Path, help="Folder for the histories and logs of failed faults.")
    return parser.parse_args()


def figures_of(trial: Trial) -> dict[str, int]:
    return {
        "faults": len(trial.outcomes),
        "deliveries": sum(each.verdict.deliveries for each in trial.outcomes),
        "lost": sum(each.verdict.lost for each in trial.outcomes),
        "doubled": sum(each.verdict.doubled for each in trial.outcomes),
        "broken": sum(not each.is_good for each in trial.outcomes),
        "tried_again": len(trial.again),
        "mutants": len(trial.caught),
        "mutants_missed": sum(not each.is_caught for each in trial.caught),
    }


def main() -> int:
    options, commit, began = parse_arguments(), describe_commit(), time.monotonic()
    trial = select(options)
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (most_files, most_files)
    )  # inherited by all processes that it starts
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(1)
    )  # exit normally, so that all started processes are stopped
    fork_server.enable()
    trial.run_all()
    took_s = time.monotonic() - began
    if options.write:
        run = Run(is_short=options.short, took_s=took_s)
        write(_REPOSITORY / options.write, run, trial.outcomes, trial.caught)
    if options.record:
        command = f"just faults {shlex.join(sys.argv[1:])}"
        record_drills(
            _REPOSITORY / options.record, command, commit, is_short=options.short, outcomes=trial.outcomes
        )
    figures = figures_of(trial)
    print_line(json.dumps(figures | {"seconds": round(took_s)}))
    return 1 if figures["broken"] or figures["mutants_missed"] else 0


if __name__ == "__main__":
    sys.exit(main())

"""`just faults`: every fault against a whole installation, and every mutant server against the checker.

Tells a line for each; the last line is JSON for programs. Exit code 1 if anything was lost, doubled or missed.
"""

import argparse
import asyncio
import json
import resource
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
from fixtures.installation_processes import SHORT_SESSION, InstallationProcesses, installation_on

from faults.whole.catalogue import FAULTS
from faults.whole.fault import Fault, FaultRun, Outcome
from faults.whole.installation import FaultInstallation, installation_under_fault
from faults.whole.mutants import BREAKING, Caught, catch
from faults.whole.report import Run, write
from tidings.engines import dynoxide
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import DynamoKind, Engine, StartRequest

FULL_DELIVERIES = 5_200_000
_TOLD = 10
_REPOSITORY = Path(__file__).parents[4]


@dataclass
class Trial:
    """What is to be done, and what came of it. `deliveries`: of each fault; 0: the short form."""

    faults: list[Fault]
    mutants: list[str]
    deliveries: int
    keep: Path | None
    outcomes: list[Outcome] = field(default_factory=list)
    caught: list[Caught] = field(default_factory=list)
    again: set[str] = field(default_factory=set)
    """Could not be carried through at first, and were tried once more. What a fault has found is never tried again."""

    def on_all_grounds(self) -> None:
        """Mutants come where the single broker is, after the faults that need no more."""
        for brokers in sorted({1} | {fault.brokers for fault in self.faults}):
            faults = [fault for fault in self.faults if fault.brokers == brokers]
            mutants = self.mutants if brokers == 1 else []
            if faults or mutants:
                with ground(brokers) as city:
                    uvloop.run(self._on(city, faults, mutants))

    async def _on(self, city: InstallationProcesses, faults: Sequence[Fault], mutants: Sequence[str]) -> None:
        """On one installation, as long as it can be broken no further than its faults are meant to."""
        left = list(faults)
        while left or mutants:
            async with installation_under_fault(city) as stand:
                while left:
                    fault = left.pop(0)
                    outcome = await self._tried(fault, stand)
                    if outcome.error and fault.name not in self.again:
                        self.again.add(fault.name)
                        self.outcomes.remove(outcome)
                        left.insert(0, fault)
                    if outcome.error:
                        break
                else:
                    async for caught in catch(stand, mutants):
                        self.caught.append(caught)
                        tell_caught(caught)
                    return

    async def _tried(self, fault: Fault, stand: FaultInstallation) -> Outcome:
        began = time.monotonic()
        try:
            outcome = await inflicted(fault, stand, self.deliveries)
        except Exception:  # noqa: BLE001 - the others are to be tried all the same; it is told, and counts as broken
            outcome = Outcome(name=fault.name, error=traceback.format_exc(), took_s=time.monotonic() - began)
        self.outcomes.append(outcome)
        tell(outcome)
        if self.keep and not outcome.is_good:
            _keep(stand, self.keep / fault.name.replace(" ", "-"))
        return outcome


async def inflicted(fault: Fault, stand: FaultInstallation, deliveries: int) -> Outcome:
    began = time.monotonic()
    async with stand.load(fault.full_scenario if deliveries else fault.scenario) as load:
        await load.sent_more(20)
        await fault.inflict(FaultRun(stand=stand, load=load, deliveries=deliveries))
        load.step("the fault is over")
        notes = await stand.mend()
        healed_s = await load.caught_up(fault.heals_within_s)
        if healed_s == inf:
            notes += load.behind()[:_TOLD]
        verdict = await load.finish(fault.heals_within_s)
    return Outcome(
        name=fault.name,
        verdict=verdict,
        healed_s=healed_s,
        took_s=time.monotonic() - began,
        notes=tuple(notes),
    )


def tell(outcome: Outcome) -> None:
    found = outcome.verdict
    say(
        f"{outcome.name:34} {'good' if outcome.is_good else 'BROKEN':7} {found.deliveries:9,} deliveries  "
        f"lost {found.lost}  doubled {found.doubled}  healed in {outcome.healed_s:.1f} s  "
        f"took {outcome.took_s:.0f} s"
    )
    for note in (*outcome.notes, outcome.error):
        if note:
            say(f"    {note}")
    for breach in found.breaches:
        say(f"    {breach.rule.value}: {breach.count}")
        for example in breach.examples:
            say(f"        {example}")


def tell_caught(caught: Caught) -> None:
    found = ", ".join(sorted(rule.value for rule in caught.broken)) or "nothing"
    say(f"mutant {caught.name:27} {'caught' if caught.is_caught else 'MISSED':7} by: {found}")


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _keep(stand: FaultInstallation, where: Path) -> None:
    """The histories, and what each process said."""
    where.mkdir(parents=True, exist_ok=True)
    for history in stand.city.directory.glob("history-*"):
        shutil.copytree(history, where / history.name, dirs_exist_ok=True)
    for number, process in enumerate(stand.city.started):
        lines = [json.dumps(line) for line in process.lines]
        (where / f"process-{number}.log").write_text("\n".join([*lines, process.stderr]))


@contextmanager
def ground(brokers: int) -> Iterator[InstallationProcesses]:
    """dynoxide if it is built: it is much the quicker one."""
    cache = default_cache()
    dynamo: DynamoKind = "dynoxide" if dynoxide.is_installed(cache) else "local"
    wish = StartRequest(
        engines=frozenset(Engine),
        dynamo=dynamo,
        kafka_brokers=brokers,
        kafka_behind_proxy=True,
        kafka_extra=SHORT_SESSION,
    )
    with tempfile.TemporaryDirectory(prefix="tidings-") as place:
        fleet = LocalCluster(Path(place) / "engines", cache, dies_with_us=True)
        try:
            fleet.start(wish)
            with installation_on(fleet, dynamo, Path(place)) as city:
                asyncio.run(city.found())
                yield city
        finally:
            fleet.stop()


def wanted(options: argparse.Namespace) -> Trial:
    """A part of a name chooses what has it, faults and mutants; without any it is all of them."""
    names = options.names or [""]
    faults = [fault for fault in FAULTS if any(name in fault.name for name in names)]
    mutants = [mutant for mutant in BREAKING if any(name in mutant for name in names)]
    if options.mutants == "only":
        faults = []
    elif options.mutants == "without":
        mutants = []
    share = 0 if options.short else -(-options.deliveries // max(len(faults), 1))
    return Trial(faults, mutants, share, options.keep)


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of faults or mutants; none: all")
    parser.add_argument("--short", action="store_true", help="seconds of each, as in CI")
    parser.add_argument(
        "--deliveries", type=int, default=FULL_DELIVERIES, help="of the full form, over all faults"
    )
    parser.add_argument("--mutants", choices=("with", "without", "only"), default="with")
    parser.add_argument(
        "--write", type=Path, help="a page of the repository whose tables are to tell of this run"
    )
    parser.add_argument("--keep", type=Path, help="a folder for histories and logs of what broke")
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
    options, began = asked(), time.monotonic()
    trial = wanted(options)
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))  # of all that it starts, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that all it has started ends with it
    trial.on_all_grounds()
    took_s = time.monotonic() - began
    if options.write:
        run = Run(is_short=options.short, took_s=took_s)
        write(_REPOSITORY / options.write, run, trial.outcomes, trial.caught)
    figures = figures_of(trial)
    say(json.dumps(figures | {"seconds": round(took_s)}))
    return 1 if figures["broken"] or figures["mutants_missed"] else 0


if __name__ == "__main__":
    sys.exit(main())

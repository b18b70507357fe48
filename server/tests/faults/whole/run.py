"""`just faults`: every fault against a whole installation, and every mutant server against the checker.

Tells a line for each; the last line is JSON for programs. Exit code 1 if anything was lost, doubled or missed.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvloop
from fixtures.city import SHORT_SESSION, City, city_on

from faults.whole.catalogue import FAULTS
from faults.whole.fault import Doing, Fault, Outcome
from faults.whole.mutants import BREAKING, Caught, catch_all
from faults.whole.report import write
from faults.whole.stand import Stand, stand_on
from tidings.engines.cache import user_cache
from tidings.engines.fleet import Fleet
from tidings.engines.model import Engine, Wish


async def inflicted(fault: Fault, stand: Stand, *, is_short: bool) -> Outcome:
    began = time.monotonic()
    scenario = fault.scenario if is_short else fault.full_scenario or fault.scenario
    async with stand.load(scenario) as load:
        await load.sent_more(20, 60)
        await fault.inflict(Doing(stand=stand, load=load, is_short=is_short))
        load.step("the fault is over")
        notes = await stand.mend()
        healed_s = await load.caught_up(fault.heals_within_s)
        verdict = await load.finish(fault.heals_within_s)
    return Outcome(
        name=fault.name,
        verdict=verdict,
        healed_s=healed_s,
        took_s=time.monotonic() - began,
        notes=tuple(notes),
    )


async def all_of(faults: Sequence[Fault], city: City, options: argparse.Namespace) -> list[Outcome]:
    """On one installation, as long as it can be broken no further than its faults are meant to."""
    outcomes: list[Outcome] = []
    while len(outcomes) < len(faults):
        async with stand_on(city) as stand:
            for fault in faults[len(outcomes) :]:
                outcomes.append(await _tried(fault, stand, options))
                tell(outcomes[-1])
                if outcomes[-1].error:
                    break
    return outcomes


async def _tried(fault: Fault, stand: Stand, options: argparse.Namespace) -> Outcome:
    try:
        return await inflicted(fault, stand, is_short=options.short)
    except Exception:  # noqa: BLE001 - the others are to be tried all the same; it is told, and counts as broken
        return Outcome(name=fault.name, error=traceback.format_exc())


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


@contextmanager
def ground(brokers: int = 1) -> Iterator[City]:
    with tempfile.TemporaryDirectory(prefix="tidings-") as place:
        fleet = Fleet(Path(place) / "engines", user_cache(), dies_with_us=True)
        try:
            fleet.start(
                Wish(
                    engines=frozenset(Engine),
                    dynamo="dynoxide",
                    kafka_brokers=brokers,
                    kafka_extra=SHORT_SESSION,
                )
            )
            with city_on(fleet, "dynoxide", Path(place)) as city:
                asyncio.run(city.found())
                yield city
        finally:
            fleet.stop()


def wanted(names: Sequence[str]) -> list[Fault]:
    return [fault for fault in FAULTS if not names or any(name in fault.name for name in names)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of faults' names, or mutants; none: all")
    parser.add_argument("--short", action="store_true", help="seconds of each, as in CI")
    parser.add_argument("--mutants", choices=("with", "without", "only"), default="with")
    parser.add_argument("--write", type=Path, help="a page whose tables are to tell of this run")
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    caught: list[Caught] = []
    chosen = wanted(options.names) if options.mutants != "only" else []
    for brokers in sorted({fault.brokers for fault in chosen}):
        with ground(brokers) as city:
            outcomes += uvloop.run(all_of([f for f in chosen if f.brokers == brokers], city, options))
    if options.mutants != "without":
        with ground() as city:
            named = [name for name in BREAKING if name in options.names]
            caught = uvloop.run(catch_all(city, named or list(BREAKING), tell_caught))
    if options.write:
        write(options.write, outcomes, caught)
    figures = {
        "faults": len(outcomes),
        "deliveries": sum(each.verdict.deliveries for each in outcomes),
        "lost": sum(each.verdict.lost for each in outcomes),
        "doubled": sum(each.verdict.doubled for each in outcomes),
        "broken": sum(not each.is_good for each in outcomes),
        "mutants": len(caught),
        "mutants_missed": sum(not each.is_caught for each in caught),
    }
    say(json.dumps(figures))
    return 1 if figures["broken"] or figures["mutants_missed"] else 0


if __name__ == "__main__":
    sys.exit(main())

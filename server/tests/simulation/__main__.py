"""Run many seeds, one seed step by step, or the mutants. The last line of the output is JSON."""

import argparse
import json
import sys
import time
from pathlib import Path

from simulation.mutants import EQUIVALENT, MUTANTS
from simulation.page import PAGE, Caught, Run, with_run, with_table
from simulation.run import Tally, first_caught, run_seed, run_seeds

_PRINT_EVERY_S = 10.0


def main() -> int:
    options = _arguments()
    if options.mutants is not None:
        return _mutants(options.mutants or list(MUTANTS), options.seeds, PAGE if options.write else None)
    if options.trace:
        return _one(options.seed)
    return _many(options.seed, options.seeds, options.minutes, PAGE if options.write else None)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just simulate", description=__doc__)
    parser.add_argument(
        "--seeds", type=int, default=500, help="Number of seeds, or of seeds for each mutant."
    )
    parser.add_argument("--from", "--seed", dest="seed", type=int, default=0, help="The first seed.")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="Stop after this time.")
    parser.add_argument("--trace", action="store_true", help="Print the steps of one seed.")
    parser.add_argument(
        "--mutants", nargs="*", choices=sorted(MUTANTS), help="Run these mutants, or all of them."
    )
    parser.add_argument("--write", action="store_true", help="Write the page's table of mutants or of seeds.")
    return parser.parse_args()


def _one(seed: int) -> int:
    verdict = run_seed(seed, tells=True)
    print("\n".join(verdict.steps))
    print(f"{seed}: {verdict.digest}", *verdict.breaches, sep="\n  ")
    return min(len(verdict.breaches), 1)


def _many(first: int, count: int, minutes: float, page: Path | None) -> int:
    began = printed = time.monotonic()
    tally = Tally()
    for seed in range(first, first + count):
        part = run_seeds([seed])
        _join(tally, part)
        for verdict in part.failed:
            print(f"{verdict.seed}: {verdict.digest}", *verdict.breaches[:5], sep="\n  ", flush=True)
        now = time.monotonic()
        if now - printed > _PRINT_EVERY_S:
            printed = now
            done = len(tally.took_ms)
            print(f"{done} seeds, {done / (now - began):.1f}/s, median {tally.median_ms} ms", flush=True)
        if now - began > minutes * 60:
            break
    if page is not None:
        page.write_text(with_run(page.read_text(), Run(first, tally, time.monotonic() - began)))
    print(json.dumps(_report(tally, time.monotonic() - began)))
    return min(len(tally.failed), 1)


def _join(tally: Tally, part: Tally) -> None:
    tally.failed += part.failed
    tally.took_ms += part.took_ms
    tally.turns += part.turns
    tally.entries += part.entries
    tally.held += part.held


def _report(tally: Tally, took_s: float) -> dict[str, object]:
    done = len(tally.took_ms)
    return {
        "seeds": done,
        "failed": [verdict.seed for verdict in tally.failed],
        "median_cpu_ms": tally.median_ms,
        "seeds_per_s": round(done / took_s, 1),
        "steps": tally.turns,
        "entries": tally.entries,
        "deliveries": tally.held,
    }


def _mutants(names: list[str], seeds: int, page: Path | None) -> int:
    found = []
    for name in names:
        with MUTANTS[name].in_place():
            verdict = first_caught(range(seeds))
        caught = Caught(MUTANTS[name], verdict, seeds)
        found.append(caught)
        print(name, caught.said, sep=": ", flush=True)
    if page is not None:
        page.write_text(with_table(page.read_text(), found))
    missed = [c.mutant.name for c in found if c.verdict is None and c.mutant.name not in EQUIVALENT]
    print(json.dumps({"mutants": len(found), "missed": missed}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

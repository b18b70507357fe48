"""Explore the models and their mutants, and print the results."""

import argparse
import sys
import time
from collections.abc import Iterable

from model.cases import Bounds, explored
from model.mutants import Break
from model.page import held, with_tables
from model.suites import SUITES, Suite


def main() -> int:
    options = _arguments()
    suites = [suite for name, suite in SUITES.items() if options.of in {None, name}]
    if options.trace:
        return _trace(options.trace)
    broken = sum(_explore(suite, is_wide=options.wide) for suite in suites)
    if options.write:
        for suite in suites:
            _write(suite, is_wide=options.wide)
    return min(broken, 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just models", description=__doc__)
    parser.add_argument("--of", choices=sorted(SUITES), help="Explore only these models.")
    parser.add_argument(
        "--wide", action="store_true", help="Use wider bounds; takes some minutes and gigabytes."
    )
    parser.add_argument(
        "--write", action="store_true", help="Write the tables of the pages in docs/explanation."
    )
    parser.add_argument("--trace", metavar="MODEL.MUTANT", help="Print the shortest trace of a mutant.")
    return parser.parse_args()


def _trace(name: str) -> int:
    breaks = [one for suite in SUITES.values() for one in suite.breaks]
    chosen = [one for one in breaks if one.name == name]
    for one in chosen:
        print(f"{one.name}: {one.mutant}\n{explored(one.bounds, one.mutant).breach}")
    if not chosen:
        print(f"No mutant {name}. Choose one of:", *sorted({one.name for one in breaks}), sep="\n  ")
    return 0 if chosen else 2


def _explore(suite: Suite, *, is_wide: bool) -> int:
    return (
        _check_models(suite.held_wide)
        if is_wide
        else _check_models(suite.held) + _check_mutants(suite.breaks)
    )


def _write(suite: Suite, *, is_wide: bool) -> None:
    new = {"wide": held(suite.held_wide)} if is_wide else suite.tables()
    suite.page.write_text(with_tables(suite.page.read_text(), new))


def _check_models(all_bounds: Iterable[Bounds]) -> int:
    broken = 0
    for bounds in all_bounds:
        began_s = time.process_time()
        found = explored(bounds)
        took_s = time.process_time() - began_s
        print(
            f"{bounds.model:16} {bounds.scenario:15} {bounds.what:64} {found.states:>9,} states {took_s:6.1f} s",
            flush=True,
        )
        if found.breach:
            print(found.breach)
            broken += 1
    return broken


def _check_mutants(breaks: Iterable[Break]) -> int:
    broken = 0
    for one in breaks:
        breach = explored(one.bounds, one.mutant).breach
        is_caught = breach is not None and breach.invariant == one.falls
        broken += not is_caught
        print(f"{one.name:30} {'caught' if is_caught else 'MISSED'}: {breach.invariant if breach else '-'}")
    return broken


if __name__ == "__main__":
    sys.exit(main())
